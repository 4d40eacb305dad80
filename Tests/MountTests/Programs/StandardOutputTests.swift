import TestSupport
import Testing

/// What cannot be written is an error of the command: a list that was cut off looks like a shorter list.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct StandardOutputTests {
    private let fixture: MountFixture

    init() throws {
        fixture = try MountFixture()
        let made = try shell("mkdir $M/w; touch $M/w/a; $ACLFS backup exclude $M/w/a")
        try #require(made.status == 0, "\(made)")
    }

    private func shell(_ script: String) throws -> CommandResult {
        try Spawn.run(["env", "M=\(fixture.mountpoint)", "ACLFS=\(MountTesting.program("aclfs"))", "bash", "-c", script])
    }

    /// None that asks all mounts: those of other tests may stand still.
    private static let all = [
        "backup list $M/w", "backup list -0 $M/w", "backup list --format=rsync $M/w", "backup list --format=tar $M/w",
        "backup list --format=restic $M/w", "backup list --format=borg $M/w", "backup status $M/w/a",
        "backup status --json $M/w/a", "backup --help", "ls -l $M/w", "ls -R $M", "explain read $M/w/a", "explain --json read $M/w/a",
        "effective $M/w/a", "effective --json $M/w/a", "status $M", "status --json $M",
        "sandbox grant list --json $M", "sandbox --help", "sandbox grant --help", "--help",
        "help ls", "version", "mount --help", "status --help",
    ]

    private static let commands =
        MountTesting.isLong
        ? all : ["backup list --format=rsync $M/w", "backup status $M/w/a", "ls -l $M/w", "explain read $M/w/a", "--help"]

    @Test(arguments: commands)
    func isReported(command: String) throws {
        // Whoever prints nothing has nothing to report, and shows nothing here.
        let printed = try shell("$ACLFS \(command) | wc -c")
        #expect(printed.output != "0", "\(printed)")
        let full = try shell("$ACLFS \(command) >/dev/full")
        #expect(full.status == 1 && full.output == "aclfs: standard output: No space left on device", "\(full)")
        let closed = try shell("$ACLFS \(command) >&-")
        #expect(closed.status == 1 && closed.output == "aclfs: standard output: Bad file descriptor", "\(closed)")
        // As of other programs: SIGPIPE, or a quiet 1 where that is ignored.
        let broken = try shell("exec {pipe}> >(:); wait $!; $ACLFS \(command) >&$pipe; echo $?")
        #expect(broken.output == "141", "\(broken)")
        let ignored = try shell("trap '' PIPE; exec {pipe}> >(:); wait $!; $ACLFS \(command) >&$pipe; echo $?")
        #expect(ignored.output == "1", "\(ignored)")
    }

    /// Whoever asks for a change gets it.
    @Test func workIsDone() throws {
        let result = try shell("trap '' PIPE; chmod 644 $M/w/a; $ACLFS chmod -Rv 600 $M/w >/dev/full; stat -c %a $M/w $M/w/a")
        #expect(result.output == "aclfs: standard output: No space left on device\n600\n600", "\(result)")
    }

    /// No name is cut in the middle and taken for another, by anybody who looks at the exit status.
    @Test func aFullDisk() throws {
        let result = try shell(
            """
            cd $M/w; for i in $(seq 400); do echo $i-$(printf %0200d 0); done | xargs touch
            $ACLFS backup exclude *
            mkdir $M.small; mount -t tmpfs -o size=64k tmpfs $M.small || exit 9
            $ACLFS backup list $M/w >$M.small/list; echo $?
            umount $M.small; rmdir $M.small
            """)
        #expect(result.output == "aclfs: standard output: No space left on device\n1", "\(result)")
    }
}
