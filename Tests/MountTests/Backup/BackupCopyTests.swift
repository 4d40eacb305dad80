import Glibc
import TestSupport
import Testing

/// Copies carry the state in both directions: out of the mount to a file system that knows nothing of it, and back.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct BackupCopyTests {
    private let fixture: MountFixture
    init() throws { fixture = try MountFixture() }

    private static let copies: [String] = [
        "cp -a $FROM/. $TO/", "rsync -aX $FROM/ $TO/",
        "tar -C $FROM --xattrs --xattrs-include='*' -c . | tar -C $TO --xattrs --xattrs-include='*' -x",
    ]

    private func shell(_ script: String) throws -> CommandResult {
        try Spawn.run(
            [
                "env", "M=\(fixture.mountpoint)", "N=\(fixture.top)/native", "ACLFS=\(MountTesting.program("aclfs"))",
                "LC_ALL=C.UTF-8", "bash", "-c", "set -eu -o pipefail\n" + script,
            ])
    }

    /// What is excluded below a directory of the mount.
    private func excluded(_ name: String) throws -> [String] {
        let result = try shell("cd $M/\(name); $ACLFS backup list .")
        #expect(result.status == 0, "\(result)")
        return result.output.split(separator: "\n").map(String.init).sorted()
    }

    @Test(arguments: copies)
    func throughANativeFileSystem(copy: String) throws {
        if copy.hasPrefix("rsync"), try shell("command -v rsync").status != 0 {
            return print("not run: no rsync (apt install rsync)")
        }
        // Each spelling alone, the command, and the flag.
        let made = try shell(
            """
            mkdir $M/a $M/b $M/c $N; cd $M/a; mkdir d; touch key text old robots flag command plain d/below; ln -s plain link
            $ACLFS backup exclude command d
            setfattr -n com.apple.MobileBackup -v 0x01 old
            setfattr -n user.xdg.robots.backup -v false robots
            setfattr -n user.com.apple.metadata:com_apple_backup_excludeItem \\
                -v "$(getfattr -e hex -n com.apple.metadata:com_apple_backup_excludeItem old | sed -n s/.*excludeItem=//p)" key
            setfattr -n user.com.apple.metadata:com_apple_backup_excludeItem -v com.apple.backupd text
            chattr +d flag
            """)
        try #require(made.status == 0, "\(made)")
        let all = ["./command", "./d", "./flag", "./key", "./old", "./robots", "./text"]
        #expect(try excluded("a") == all)
        let steps = [("$M/a", "$N"), ("$N", "$M/b"), ("$M/a", "$M/c")]
        for (from, to) in steps {
            // A second run finds nothing to change and undoes nothing.
            for _ in 0..<2 {
                let result = try shell("FROM=\(from) TO=\(to); \(copy)")
                #expect(result.status == 0 && result.output.isEmpty, "\(from) to \(to): \(result)")
            }
        }
        #expect(try excluded("b") == all)
        #expect(try excluded("c") == all)
        // The native copy has what programs look for there.
        let native = try shell("cd $N; getfattr -dm user.com.apple key; getfattr -dm user.xdg robots command")
        #expect(native.output.contains("com_apple_backup_excludeItem") && native.output.contains("backup=\"false\""))
    }

    /// A tree that says `true` of some, as programs that know the freedesktop proposal leave it: new, over what is excluded
    /// here already, and where another key of the same object says the opposite.
    @Test(arguments: copies)
    func whatSaysThatItMayBeSaved(copy: String) throws {
        if copy.hasPrefix("rsync"), try shell("command -v rsync").status != 0 {
            return print("not run: no rsync (apt install rsync)")
        }
        let made = try shell(
            """
            mkdir -p $M/to $N; cd $N; mkdir d; touch yes no both plain key old d/yes
            setfattr -n user.xdg.robots.backup -v true yes both d d/yes
            setfattr -n user.xdg.robots.backup -v false no
            setfattr -n user.com.apple.MobileBackup -v 0x01 both old
            cd $M/to; cp -p $N/yes $N/plain $N/key .; touch -d 2001-01-01 old; $ACLFS backup exclude yes key old
            """)
        try #require(made.status == 0, "\(made)")
        for _ in 0..<2 {
            let result = try shell("FROM=$N TO=$M/to; \(copy)")
            #expect(result.status == 0 && result.output.isEmpty, "\(result)")
            let marks = try excluded("to")
            #expect(marks.contains("./no") && marks.contains("./old"), "\(marks)")
            for name in ["./yes", "./d", "./d/yes", "./plain"] { #expect(!marks.contains(name), "\(name): \(marks)") }
            // All that read the mark agree on what came last.
            let both = try shell(
                """
                cd $M/to; getfattr -n user.xdg.robots.backup --only-values both 2>/dev/null || :; lsattr both | cut -c1-20
                """
            ).output
            let isOut = marks.contains("./both")
            #expect(both.contains("false") == isOut && both.contains("d---") == isOut, "\(both)")
            // Only rsync takes away what its source does not have; in the order of names, `true` comes last there.
            if copy.hasPrefix("rsync") { #expect(!marks.contains("./key") && !marks.contains("./both"), "\(marks)") }
        }
    }

    /// What stands below is not written to, and stops being excluded with the directory, or when it leaves.
    @Test func aDirectoryStandsForWhatIsBelow() throws {
        let made = try shell("cd $M; mkdir -p d/e; touch d/e/f d/g; $ACLFS backup exclude d; $ACLFS backup exclude d/g")
        try #require(made.status == 0, "\(made)")
        #expect(try excluded("") == ["./d"])
        #expect(try excluded("d") == ["."])
        #expect(try shell("lsattr -d $M/d/e; getfattr -dm- $M/d/e/f").output.contains("d---") == false)
        let below: [String] = try shell("cd $M/d; $ACLFS backup status e/f g").output.split(separator: "\n").map { String($0) }
        let top = fixture.mountpoint
        #expect(below.filter { $0.hasPrefix("[") } == ["[Excluded]    \(top)/d/e/f", "[Excluded]    \(top)/d/g"])
        #expect(below.contains("    excluded itself") && below[1] == "    excluded by its parent \(top)/d")
        #expect(try shell("$ACLFS backup include $M/d/e/f").status == 1)
        #expect(try shell("mv $M/d/e $M/e; $ACLFS backup status $M/e").output == "[Included]    \(top)/e")
        #expect(try shell("$ACLFS backup include $M/d").status == 0)
        #expect(try excluded("") == ["./d/g"])
    }

    @Test func elsewhereItSaysWhy() throws {
        let result = try shell(
            "touch /var/tmp/aclfs-none.$$; $ACLFS backup status /var/tmp/aclfs-none.$$ || e=$?; rm /var/tmp/aclfs-none.$$; exit $e")
        #expect(result.status == 1 && result.output.contains("not on an aclfs mount"))
    }
}
