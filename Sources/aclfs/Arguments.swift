import ArgumentParser

// The arguments of the commands. chmod, ls, chflags and the mount helpers have the grammar of another program, which the argument parser
// cannot read (docs/decisions/0010-command-lines.md).

struct ExplainArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs explain", abstract: "Whether an operation is allowed, and why.",
        usage: """
            aclfs explain [--json] [--as USER[:GROUP,...]] OPERATION PATH [PATH2]
            aclfs explain [--json] --who-can OPERATION PATH
            aclfs explain [--json] --last [N] [MOUNTPOINT]
            """)

    @Flag(help: "JSON instead of text.") var json = false
    @Option(name: .customLong("as"), help: ArgumentHelp("The user of the question; by default the caller.", valueName: "USER[:GROUP,...]"))
    var subject: String?
    @Flag(help: "Which users may.") var whoCan = false
    @Flag(help: "The last 20 denials, or N.") var last = false
    @Argument(help: "OPERATION is a right's word or open-read, unlink, chmod and so on.") var words: [ByteWord] = []
}

struct EffectiveArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs effective", abstract: "All rights on an object, granted or not, and by what.",
        usage: "aclfs effective [--json] [--as USER[:GROUP,...]] PATH")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(name: .customLong("as"), help: ArgumentHelp("The user of the question; by default the caller.", valueName: "USER[:GROUP,...]"))
    var subject: String?
    @Argument(help: ArgumentHelp(valueName: "PATH")) var path: ByteWord
}

struct StatusArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs status",
        abstract: "Options in force, features of the kernel in use, numbers of decisions: of one mount or all.",
        usage: "aclfs status [--json] [MOUNTPOINT]")

    @Flag(help: "JSON instead of text.") var json = false
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: ByteWord?
}

struct UnmountArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs unmount", abstract: "Ends a mount, also a dead one; returns when its daemon has closed the source.",
        usage: "aclfs unmount [-f] MOUNTPOINT")

    @Flag(
        name: .customShort("f"),
        help: "Even if the daemon hangs or files are open: all requests fail, and the mount is gone from here at once.")
    var isForced = false
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: String
}

struct SandboxCheckArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox check",
        abstract: "Whether a sandbox profile is good, and what it allows at which path.",
        usage: "aclfs sandbox check [--json] [--bundle ID] [--home PATH] [--layout macos|ios] PROFILE [PATH ...]")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(help: ArgumentHelp("The application with the container.", valueName: "ID")) var bundle: String?
    @Option(help: ArgumentHelp("The home folder, from the mount's top; by default the top.", valueName: "PATH"))
    var home: String?
    @Option(help: ArgumentHelp("How the container is divided; by default macos.", valueName: "macos|ios"))
    var layout: String?
    @Argument(help: ArgumentHelp("An installed name, or with a slash the path of a file.", valueName: "PROFILE"))
    var profile: ByteWord
    @Argument(help: ArgumentHelp("From the mount's top: what is allowed there.", valueName: "PATH")) var paths: [ByteWord] = []
}

struct SandboxListArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox list", abstract: "The installed profiles, and the mounts that one confines.",
        usage: "aclfs sandbox list [--json]")

    @Flag(help: "JSON instead of text.") var json = false
}

struct GrantAddArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox grant add", abstract: "Lets an application reach a file or a folder that the user chose.",
        usage: "aclfs sandbox grant add --bundle ID --read-only|--read-write [--expires TIME] PATH ...")

    @Option(help: ArgumentHelp("The application.", valueName: "ID")) var bundle: String
    @Flag(help: "It may read and execute.") var readOnly = false
    @Flag(help: "It may read, write and execute.") var readWrite = false
    /// Unconditional: a value that begins with a dash gets the message for a wrong time.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("When it ends: 30m, 12h, 7d, '2026-12-31 18:00', 2026-12-31T18:00:00Z or @SECONDS.", valueName: "TIME"))
    var expires: String?
    @Argument(help: ArgumentHelp("On a mount; a folder with all below it.", valueName: "PATH")) var paths: [ByteWord]
}

struct GrantListArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox grant list", abstract: "The grants on one mount, or on all that the caller may ask.",
        usage: "aclfs sandbox grant list [--json] [--bundle ID] [MOUNTPOINT]")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(help: ArgumentHelp("Only of this application.", valueName: "ID")) var bundle: String?
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: ByteWord?
}

struct GrantRemoveArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox grant remove", abstract: "Revokes grants, at once.",
        usage: "aclfs sandbox grant remove --bundle ID [--below] PATH ...")

    @Option(help: ArgumentHelp("The application.", valueName: "ID")) var bundle: String
    @Flag(help: "With all grants for what lies below PATH.") var below = false
    @Argument(help: ArgumentHelp("As it was granted; it need not exist any more.", valueName: "PATH")) var paths: [ByteWord]
}

struct SandboxRunArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox run",
        abstract: "Runs a command that sees a share only as a profile allows.",
        usage: "aclfs sandbox run PROFILE [--bundle ID] [--home PATH] [--layout macos|ios] [--mount MOUNTPOINT] -- COMMAND …")

    @Argument(help: ArgumentHelp("An installed name, or the path of an .entitlements file.", valueName: "PROFILE"))
    var profile: ByteWord
    @Option(help: ArgumentHelp("The application's bundle identifier; its container comes with it.", valueName: "ID"))
    var bundle: ByteWord?
    @Option(help: ArgumentHelp("Where its user's home is, from the mount's top, which it is by default.", valueName: "PATH"))
    var home: ByteWord?
    @Option(help: ArgumentHelp("How the container is divided: macos or ios.", valueName: "LAYOUT"))
    var layout: ByteWord?
    @Option(
        help: ArgumentHelp(
            "The share; by default the one of the working directory, or the only one of root or your own.", valueName: "MOUNTPOINT"))
    var mount: ByteWord?
}
