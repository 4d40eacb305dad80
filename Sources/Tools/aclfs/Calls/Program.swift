import Commands
import Conformance
import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// The executable that people type. Its first word is a subcommand, or `SOURCE MOUNTPOINT` as mount.fuse3 calls a file system. Under the names of the
/// helpers it has the grammar of mount(8).
@main
enum Program {
    static func main() {
        Syscall.endWithoutBacktrace()
        let arguments = CommandLine.arguments
        let name = arguments.first?.split(separator: "/").last.map(String.init) ?? "aclfs"
        let rest = Array(arguments.dropFirst())
        if name == "mount.aclfs" || name == "mount.fuse.aclfs" { exit(MountCommand.becomeDaemonProgram(as: name)) }
        let status = StandardOutput.close(after: run(rest))
        Ending.bySignal.endProcess()
        exit(status)
    }

    private static func run(_ arguments: [String]) -> Int32 {
        guard let word = arguments.first else {
            printUsageError(Usage.text)
            return 2
        }
        let rest = Array(arguments.dropFirst())
        if let command = Usage.command(word) { return command.run(byteArguments(after: 2)) }
        switch word {
        // Started by aclfs conformance, never by a user.
        case SubjectProgram.word: return SubjectProgram.run(rest)
        // Started by aclfsd.
        case EntitlementsAnswer.word: return EntitlementsCommand.run()
        case "help" where Usage.commands.contains(where: { $0.word == rest.first }): return help(rest)
        case "help", "--help", "-h":
            printLines(Usage.text)
            return 0
        case "version", "--version", "-V":
            printLine("aclfs \(ProgramVersion.text)")
            return 0
        default:
            // mount.fuse3 calls `aclfs SOURCE MOUNTPOINT -o …`.
            if word.contains("/") || word.hasPrefix("-") || isDirectory(word) {
                return MountCommand.becomeDaemonProgram()
            }
            printError("aclfs: unknown command '\(word)'\(Usage.suggestion(for: word)), and no directory has that name; see aclfs --help")
            return 2
        }
    }
}

/// Runs `aclfs X [Y] --help` for `aclfs help X [Y]`. A new program is needed because commands read the arguments of the process.
private func help(_ words: [String]) -> Int32 {
    // Without the operands: names of files that no command may touch now.
    let count = CommandList.path(Usage.commands, words).count
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

/// The arguments of the process as bytes.
private func byteArguments(after count: Int) -> [[UInt8]] {
    (count..<max(count, Int(CommandLine.argc))).compactMap { index in
        CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }
}
