import ArgumentParser
import SandboxRun

/// `aclfs sandbox`: profiles, the mounts that they confine, grants to applications, and confined commands.
enum Sandbox: CommandGroup, ListedCommand {
    static let name = "aclfs sandbox"
    static let summary = "profiles, grants, confined commands"
    static let example = "sandbox list"
    static var commands: [any Command.Type] { [SandboxCheck.self, SandboxList.self, SandboxGrant.self, SandboxRunCommand.self] }
}

/// `aclfs sandbox grant add|list|remove`.
enum SandboxGrant: CommandGroup {
    static let name = "aclfs sandbox grant"
    static var commands: [any Command.Type] { [GrantAdd.self, GrantList.self, GrantRemove.self] }
}

/// `aclfs sandbox run PROFILE … -- COMMAND …`.
struct SandboxRunCommand: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox run",
        abstract: "Runs a command that sees a share only as a profile allows.",
        usage: "aclfs sandbox run PROFILE [--bundle ID] [--home PATH] [--layout macos|ios] [--mount MOUNTPOINT] -- COMMAND ...")

    @Argument(help: ArgumentHelp("The name of an installed profile, or the path of a file (with a slash).", valueName: "PROFILE"))
    var profile: ByteWord
    @Option(help: ArgumentHelp("The application's bundle identifier; its container is made and becomes HOME.", valueName: "ID"))
    var bundle: ByteWord?
    @Option(help: ArgumentHelp("The home folder, as a path from the top of the mount; by default the top.", valueName: "PATH"))
    var home: ByteWord?
    @Option(help: ArgumentHelp("The layout of the container: macos (default) or ios.", valueName: "LAYOUT"))
    var layout: ByteWord?
    @Option(
        help: ArgumentHelp(
            "The mount point of the share; by default the share of the working directory, or the only one of root or yours.",
            valueName: "MOUNTPOINT"))
    var mount: ByteWord?

    /// - Parameter words: after `run`.
    static func run(_ words: [[UInt8]]) -> Int32 {
        let end = words.firstIndex(of: Array("--".utf8))
        let command = end.map { Array(words[($0 + 1)...]) } ?? []
        return run(Array(words[..<(end ?? words.count)])) { $0.perform(command) }
    }

    func perform() -> Int32 { perform([]) }

    private func perform(_ command: [[UInt8]]) -> Int32 {
        SandboxRunSequence.run(
            SandboxRunRequest(
                profile: profile.bytes, bundle: bundle?.bytes, home: home?.bytes, layout: layout?.bytes, mount: mount?.bytes,
                command: command))
    }
}
