import TestSupport
import Testing

/// Anybody may plant a tree of any depth, and `aclfs ls`, `chmod` and `chflags` must reach its bottom as they reach all the rest, with
/// few descriptors and little stack.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct DeepTreeTests {
    private let fixture: MountFixture
    /// The longest path has 4095 bytes.
    private static let depth = MountTesting.isLong ? 4000 : 2100
    private static let limits = MountTesting.isLong ? ["", "ulimit -n 64", "ulimit -n 24", "ulimit -s 512"] : ["ulimit -n 24"]

    /// Files stand at the bottom, half-way, and at the top. A program makes them that goes down step by step, because the path is
    /// longer than any path may be.
    init() throws {
        fixture = try MountFixture()
        let made = try shell(
            """
            mkdir $M/t; cd $M/t; touch a z n{10..69}
            perl -e '
                for my $level (1..\(Self.depth)) {
                    mkdir "m" or die; chdir "m" or die;
                    next if $level != \(Self.depth) && $level != \(Self.depth) / 2;
                    for my $name ("a", "z") { open my $file, ">", $name or die; close $file }
                }'
            """)
        try #require(made.status == 0, "\(made)")
    }

    private func shell(_ script: String) throws -> CommandResult {
        try Spawn.run(["env", "M=\(fixture.mountpoint)", "ACLFS=\(MountTesting.program("aclfs"))", "bash", "-c", "set -e\n" + script])
    }

    /// "t", then "/m" for each level, then the name.
    @Test(arguments: limits)
    func isListed(limit: String) throws {
        for options in MountTesting.isLong ? ["-R", "-Rl"] : ["-Rl"] {
            let result = try shell(
                """
                cd $M; \(limit)
                $ACLFS ls \(options) t >../list || echo $?
                grep -c :$ ../list
                awk '/:$/ { path = length } /(^| )[az]$/ { print path, substr($0, length) }' ../list
                """)
            let headers = [2, 2 + Self.depth, 2 + 2 * Self.depth].flatMap { ["\($0) a", "\($0) z"] }
            #expect(result.output == "\(Self.depth + 1)\n" + headers.joined(separator: "\n"), "\(options): \(result)")
        }
    }

    /// Also what comes behind the next directory in each: the way back is found.
    @Test(arguments: limits)
    func isChanged(limit: String) throws {
        let result = try shell(
            """
            cd $M
            (
                \(limit)
                $ACLFS chmod -R +a 'user:12 allow read' t || echo $?
                $ACLFS chmod -R 700 t || echo $?
                $ACLFS chflags -R hidden t || echo $?
            )
            perl -e '
                chdir "t";
                for my $level (0..\(Self.depth)) {
                    system("$ENV{ACLFS} ls -leOn a z") == 0 or die unless $level % (\(Self.depth) / 2);
                    chdir "m";
                }' | awk '/^-/ { print $1, $5, $NF } !/^-/'
            """)
        let each = ["a", "z"].map { "-rwx------+ hidden \($0)\n 0: FFFFEEEE-DDDD-CCCC-BBBB-AAAA0000000C allow read" }
        #expect(result.output == (each + each + each).joined(separator: "\n"), "\(result)")
    }
}
