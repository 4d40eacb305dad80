import Glibc
import LinuxSystem
import MountDaemon
import Mounting
import ToolSupport

/// The executable that serves mounts. `aclfs` and mount(8) start it, each with a grammar of its own.
@main
enum Program {
    static func main() {
        Syscall.endWithoutBacktrace()
        // What is opened later must not take the place of a standard descriptor that is closed.
        for number: Int32 in 0...2 where fcntl(number, F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
        exit(StandardOutput.close(after: run(CommandLine.arguments)))
    }

    private static func run(_ arguments: [String]) -> Int32 {
        let name = arguments.first?.split(separator: "/").last.map(String.init) ?? ""
        let words = Array(arguments.dropFirst())
        do throws(MountFailure) {
            try checkCaller()
            // The names of the helpers that mount(8) looks for.
            if name == "mount.aclfs" || name == "mount.fuse.aclfs" { return try MountStart.perform(MountRequest.helper(words)) }
            switch words.first {
            case Restart.word: return try Restart.perform(Array(words.dropFirst()))
            case Upgrade.word: return Upgrade.answer(Array(words.dropFirst()))
            case "mount": return try MountStart.perform(MountRequest.command(Array(words.dropFirst())))
            case "--help", "-h":
                printLines(usage)
                return 0
            case "--version", "-V":
                printLine("aclfsd \(ProgramVersion.text)")
                return 0
            case nil:
                printUsageError(usage)
                return MountExit.wrongUse
            default: return try MountStart.perform(MountRequest.plain(words))
            }
        } catch { return error.report() }
    }

    /// - Throws: `aclfs` has started it, and is of another version. They would not understand each other's words.
    private static func checkCaller() throws(MountFailure) {
        guard let told = getenv(ProgramVersion.ofCaller) else { return }
        let version = String(cString: told)
        unsetenv(ProgramVersion.ofCaller)
        guard version != ProgramVersion.text else { return }
        throw MountFailure(
            status: MountExit.systemError,
            message:
                "aclfs is version \(version), but the aclfsd that it found is version \(ProgramVersion.text); install both from one package"
        )
    }

    private static let usage = """
        usage: aclfsd mount [-f] [-d] [-o OPTIONS] SOURCE MOUNTPOINT
               aclfsd SOURCE MOUNTPOINT [-o OPTIONS]

        It serves a mount. 'aclfs mount' and mount(8) start it; see aclfsd(8).
        """
}
