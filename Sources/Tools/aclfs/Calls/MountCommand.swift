import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// Mounts are served by `aclfsd` (docs/decisions/0039-two-programs.md). The process becomes that program, so it has the caller's
/// descriptors, user and exit status.
enum MountCommand {
    /// `aclfs mount`.
    static func run(_ arguments: [String]) -> Int32 {
        if arguments.contains("--help") || arguments.contains("-h") {
            printLines(Usage.mount)
            return 0
        }
        return becomeDaemonProgram()
    }

    /// `aclfs SOURCE MOUNTPOINT`, without the word `mount`, and the helpers of mount(8).
    /// - Parameter name: of a helper, which decides the grammar; nil: none.
    /// - Returns: the exit status, if the program cannot be started.
    static func becomeDaemonProgram(as name: String? = nil) -> Int32 {
        do throws(MountFailure) {
            // A set-uid program would start whatever lies beside a link to it.
            try Privileges.refuseSetID()
            let path = try OtherProgram.path(of: OtherProgram.daemon)
            setenv(ProgramVersion.ofCaller, ProgramVersion.text, 1)
            // As bytes: words need not be text.
            var words = [strdup(name ?? path)] + (1..<max(1, Int(CommandLine.argc))).map { CommandLine.unsafeArgv[$0] } + [nil]
            execv(path, &words)
            throw MountFailure(status: MountExit.systemError, message: "cannot start \(path): \(Errno(rawValue: errno))")
        } catch { return error.report() }
    }
}
