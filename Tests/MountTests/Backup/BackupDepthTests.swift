import TestSupport
import Testing

/// Any user may make a tree of any depth; the list of all the rest must not fail by it.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct BackupDepthTests {
    private let fixture: MountFixture
    /// The longest path has 4095 bytes.
    private static let depth = MountTesting.isLong ? 4000 : 2100

    /// Excluded files stand at the bottom, half-way, and at the top, where there are so many that the way down begins among them. A
    /// program makes them that goes down step by step, because the path is longer than any path may be.
    init() throws {
        fixture = try MountFixture()
        let made = try shell(
            """
            mkdir $M/t; cd $M/t; touch a z n{100..999}
            $ACLFS backup exclude *
            perl -e '
                for my $level (1..\(Self.depth)) {
                    mkdir "m" or die; chdir "m" or die;
                    next if $level != \(Self.depth) && $level != \(Self.depth) / 2;
                    for my $name ("a", "z") { open my $file, ">", $name or die; close $file; system("chattr", "+d", $name) == 0 or die }
                }'
            """)
        try #require(made.status == 0, "\(made)")
    }

    private func shell(_ script: String) throws -> CommandResult {
        try Spawn.run(["env", "M=\(fixture.mountpoint)", "ACLFS=\(MountTesting.program("aclfs"))", "bash", "-c", "set -e\n" + script])
    }

    @Test func isListed() throws {
        // "t", then "/m" for each level, then the name.
        let (middle, bottom) = (3 + Self.depth, 3 + 2 * Self.depth)
        for limit in MountTesting.isLong ? ["", "ulimit -n 64", "ulimit -n 24", "ulimit -s 512"] : ["ulimit -n 64"] {
            let result = try shell(
                """
                cd $M; \(limit)
                $ACLFS backup list t >../list || echo $?
                grep ^t/n ../list | sort -u | wc -l
                grep -v ^t/n ../list | awk '{ print length, substr($0, length) }' | sort -n -k 1,1 -k 2
                """)
            #expect(
                result.output == "900\n3 a\n3 z\n\(middle) a\n\(middle) z\n\(bottom) a\n\(bottom) z", "\(limit): \(result)")
        }
    }

    /// Descriptors do not grow with the depth.
    @Test func fewAreOpen() throws {
        let result = try shell(
            """
            cd $M; $ACLFS backup list t >../list & pid=$!
            most=0
            while [ -d /proc/$pid/fd ] && kill -0 $pid 2>/dev/null; do
                n=$(ls /proc/$pid/fd 2>/dev/null | wc -l); [ $n -gt $most ] && most=$n || :
                sleep 0.02
            done
            wait $pid; echo $?; [ $most -gt 20 ] && [ $most -lt 300 ] || echo $most
            """)
        #expect(result.output == "0", "\(result)")
    }
}
