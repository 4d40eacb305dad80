import ArgumentParser

// What the commands take. Those that stand for another program's (chmod, ls, chflags) and the mount helpers speak
// that program's grammar, which no argument parser knows (docs/decisions/0010-command-lines.md).

struct ExplainArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs explain", abstract: "Whether an operation is allowed, and why.",
        usage: """
            aclfs explain [--json] [--as USER[:GROUP,...]] OPERATION PATH [PATH2]
            aclfs explain [--json] --who-can OPERATION PATH
            aclfs explain [--json] --last [N] [MOUNTPOINT]
            """)

    @Flag(help: "JSON instead of text.") var json = false
    @Option(name: .customLong("as"), help: ArgumentHelp("Who asks; by default the caller.", valueName: "USER[:GROUP,...]"))
    var subject: String?
    @Flag(help: "Which users may.") var whoCan = false
    @Flag(help: "What was refused last, 20 denials or N.") var last = false
    @Argument(help: "OPERATION is a right's word or open-read, unlink, chmod and so on.") var words: [ByteWord] = []
}

struct EffectiveArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs effective", abstract: "All rights on an object, granted or not, and by what.",
        usage: "aclfs effective [--json] [--as USER[:GROUP,...]] PATH")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(name: .customLong("as"), help: ArgumentHelp("Who asks; by default the caller.", valueName: "USER[:GROUP,...]"))
    var subject: String?
    @Argument(help: ArgumentHelp(valueName: "PATH")) var path: ByteWord
}

struct StatusArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs status",
        abstract: "Options in force, ways that requests take, decisions counted: of one mount or all.",
        usage: "aclfs status [--json] [MOUNTPOINT]")

    @Flag(help: "JSON instead of text.") var json = false
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: ByteWord?
}

struct UnmountArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs unmount", abstract: "Ends a mount, also a dead one.",
        usage: "aclfs unmount MOUNTPOINT")

    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: String
}
