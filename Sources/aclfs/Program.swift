import Commands
import Glibc
import LinuxSystem
import ToolSupport

/// The one executable: a subcommand, the mount-helper grammar under the helpers' names, or
/// `SOURCE MOUNTPOINT`, which is how mount.fuse3 calls a file system.
@main
enum Program {
    static func main() {
        Syscall.endWithoutBacktrace()
        let arguments = CommandLine.arguments
        let name = arguments.first?.split(separator: "/").last.map(String.init) ?? "aclfs"
        let rest = Array(arguments.dropFirst())
        if name == "mount.aclfs" || name == "mount.fuse.aclfs" { exit(StandardOutput.close(after: MountHelper.run(rest))) }
        exit(StandardOutput.close(after: run(rest)))
    }

    private static func run(_ arguments: [String]) -> Int32 {
        guard let word = arguments.first else {
            printUsageError(Usage.text)
            return 2
        }
        let rest = Array(arguments.dropFirst())
        switch word {
        case "mount": return MountCommand.run(rest)
        case "unmount", "umount": return UnmountCommand.run(byteArguments(after: 2))
        // Their arguments are bytes: names of files need not be text.
        case "chmod": return runChmod(arguments: byteArguments(after: 2))
        case "chflags": return runChflags(arguments: byteArguments(after: 2))
        case "backup": return BackupCommand.run(byteArguments(after: 2))
        case "ls": return runLs(arguments: byteArguments(after: 2))
        case "explain": return ExplainCommand.run(byteArguments(after: 2))
        case "effective": return EffectiveCommand.run(byteArguments(after: 2))
        case "sandbox": return SandboxCommand.run(byteArguments(after: 2))
        case "status": return StatusCommand.run(byteArguments(after: 2))
        case "help" where Usage.isCommand(rest.first): return help(rest)
        case "help", "--help", "-h":
            printLines(Usage.text)
            return 0
        case "version", "--version", "-V":
            printLine("aclfs \(ProgramVersion.text)")
            return 0
        default:
            // mount.fuse3 calls `aclfs SOURCE MOUNTPOINT -o …`.
            if word.contains("/") || word.hasPrefix("-") || isDirectory(word) {
                return MountCommand.runPlain(arguments)
            }
            printError("aclfs: unknown command '\(word)'\(Usage.suggestion(for: word)), and no directory has that name; see aclfs --help")
            return 2
        }
    }
}

/// `aclfs help X [Y]` is `aclfs X [Y] --help`, and that anew, because the commands read the words of the process.
private func help(_ words: [String]) -> Int32 {
    // Behind a command's own words stand names of files, which it is not to touch.
    let count = ["sandbox": words.dropFirst().first == "grant" ? 3 : 2, "backup": 2][words[0]] ?? 1
    let line = ["aclfs"] + words.prefix(count).filter { !$0.hasPrefix("-") } + ["--help"]
    var argv: [UnsafeMutablePointer<CChar>?] = line.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &argv)
    printLines(Usage.text)
    return 0
}

private func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}

/// The arguments as the kernel handed them over.
private func byteArguments(after count: Int) -> [[UInt8]] {
    (count..<max(count, Int(CommandLine.argc))).compactMap { index in
        CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }
}
