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
        switch word {
        case "mount": return MountCommand.run(rest)
        case "unmount", "umount": return UnmountCommand.run(byteArguments(after: 2))
        // As bytes: names of files need not be text.
        case "chmod": return runChmod(arguments: byteArguments(after: 2))
        case "chflags": return runChflags(arguments: byteArguments(after: 2))
        case "owner": return runOwner(arguments: byteArguments(after: 2))
        case "backup": return BackupCommand.run(byteArguments(after: 2))
        case "purge": return PurgeCommand.run(byteArguments(after: 2))
        case "ls": return runLs(arguments: byteArguments(after: 2))
        case "explain": return ExplainCommand.run(byteArguments(after: 2))
        case "effective": return EffectiveCommand.run(byteArguments(after: 2))
        case "report": return ReportCommand.run(byteArguments(after: 2))
        case "acl": return AclCommand.run(byteArguments(after: 2))
        case "propagate": return AdministrationCommand.propagate(byteArguments(after: 2))
        case "inherit": return AdministrationCommand.inherit(byteArguments(after: 2))
        case "explicit": return AdministrationCommand.makeExplicit(byteArguments(after: 2))
        case "strip": return AdministrationCommand.strip(byteArguments(after: 2))
        case "copy-mode": return AdministrationCommand.copyMode(byteArguments(after: 2))
        case "volume": return AdministrationCommand.volume(byteArguments(after: 2))
        case "preset": return PresetCommand.run(byteArguments(after: 2))
        case "restore": return RestoreCommand.run(byteArguments(after: 2))
        case "sandbox": return SandboxCommand.run(byteArguments(after: 2))
        case "fstab-line": return FstabLineCommand.run(byteArguments(after: 2))
        case "doctor": return DoctorCommand.run(byteArguments(after: 2))
        case "conformance": return ConformanceCheckCommand.run(byteArguments(after: 2))
        // Started by the command above, never by a user.
        case SubjectProgram.word: return SubjectProgram.run(rest)
        // Started by aclfsd.
        case EntitlementsAnswer.word: return EntitlementsCommand.run()
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
    let count = ["sandbox": words.dropFirst().first == "grant" ? 3 : 2, "backup": 2, "acl": 2, "preset": 2][words[0]] ?? 1
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
