import ArgumentParser
import Commands
import Conformance

// The arguments of the commands. chmod, ls, chflags and the mount helpers have the grammar of another program, which the argument parser
// cannot read (docs/decisions/0010-command-lines.md).

struct ExplainArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs explain", abstract: "Whether an operation is allowed, and why.",
        usage: """
            aclfs explain [--json] [--as USER[:GROUP,...]] OPERATION PATH [PATH2]
            aclfs explain [--json] [-R] --who-can OPERATION PATH
            aclfs explain [--json] --last [N] [MOUNTPOINT]
            """)

    @Flag(help: "JSON instead of text.") var json = false
    @Option(name: .customLong("as"), help: ArgumentHelp("The user to decide for; by default the caller.", valueName: "USER[:GROUP,...]"))
    var subject: String?
    @Flag(help: "List the users to whom the operation is allowed.") var whoCan = false
    @Flag(name: [.customShort("R"), .long], help: "With --who-can: also for all below PATH, as they are found.") var recursive = false
    @Flag(help: "List the last 20 denials, or the last N.") var last = false
    @Argument(
        help: ArgumentHelp(
            "The name of a right, or open-read, unlink, chmod and so on; and what it is done to.", valueName: "OPERATION PATH"))
    var words: [ByteWord] = []
}

struct EffectiveArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs effective", abstract: "Every right on an object, granted or denied, and by which rule.",
        usage: "aclfs effective [--json] [--as USER[:GROUP,...]] PATH")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(name: .customLong("as"), help: ArgumentHelp("The user to decide for; by default the caller.", valueName: "USER[:GROUP,...]"))
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

struct FstabLineArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs fstab-line", abstract: "The line of /etc/fstab for a mount.",
        usage: "aclfs fstab-line [-o OPTIONS] [--automount] SOURCE MOUNTPOINT")

    @Option(name: [.customShort("o", allowingJoined: true), .customLong("options")], help: "As for aclfs mount.") var options: [String] = []
    @Flag(help: "systemd mounts it when a program enters it.") var automount = false
    @Argument(help: ArgumentHelp(valueName: "SOURCE")) var source: String
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: String
}

struct DoctorArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs doctor", abstract: "What this system offers a mount, what stands in its way, and what to do.",
        usage: "aclfs doctor [--json] [SOURCE [MOUNTPOINT]]")

    @Flag(help: "JSON instead of text.") var json = false
    @Argument(help: ArgumentHelp(valueName: "SOURCE")) var source: String?
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: String?
}

struct ConformanceArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs conformance", abstract: "Whether a mount behaves as documented.",
        usage: "aclfs conformance [--json] [--users NUMBER] MOUNTPOINT",
        discussion: """
            Plays the rules of docs/reference/semantics.md and the test vectors on a mount that is in use by no other process, as several users \
            for whom no accounts are needed, and prints TAP: a line for each case with the rule and the document that states it. It \
            needs root, works in a directory of its own, and removes that.

            Exit status: 0 if no case was "not ok", 1 if one was, 2 if the run could not begin or ended early.

            Example: aclfs conformance /srv/share
            """)

    @Flag(help: "JSON instead of TAP.") var json = false
    @Option(
        help: ArgumentHelp(
            "The first of the \(Numbers.count) numbers that stand for users and groups; no account may have one. By default from 60001 on.",
            valueName: "NUMBER"))
    var users: UInt32?
    @Argument(help: ArgumentHelp("The mount, or any directory.", valueName: "MOUNTPOINT")) var mountpoint: ByteWord
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
        abstract: "Whether a sandbox profile is valid, and what it allows at which path.",
        usage: "aclfs sandbox check [--json] [-v] [--bundle ID] [--home PATH] [--layout macos|ios] PROFILE [PATH ...]")

    @Flag(help: "JSON instead of text.") var json = false
    @Flag(name: [.customShort("v"), .long], help: "Also name the keys that are not about files, which nothing here enforces.")
    var verbose = false
    @Option(help: ArgumentHelp("The bundle identifier of the application whose container is included.", valueName: "ID"))
    var bundle: String?
    @Option(help: ArgumentHelp("The home folder, as a path from the top of the mount; by default the top.", valueName: "PATH"))
    var home: String?
    @Option(help: ArgumentHelp("The layout of the container; by default macos.", valueName: "macos|ios"))
    var layout: String?
    @Argument(help: ArgumentHelp("The name of an installed profile, or the path of a file (with a slash).", valueName: "PROFILE"))
    var profile: ByteWord
    @Argument(help: ArgumentHelp("A path from the top of the mount; what is allowed there is shown.", valueName: "PATH"))
    var paths: [ByteWord] = []
}

struct SandboxListArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox list", abstract: "The installed profiles, and the mounts that a profile confines.",
        usage: "aclfs sandbox list [--json]")

    @Flag(help: "JSON instead of text.") var json = false
}

struct GrantAddArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox grant add", abstract: "Lets an application reach a file or a folder that the user chose.",
        usage: "aclfs sandbox grant add --bundle ID --read-only|--read-write [--follow] [--expires TIME] PATH ...")

    @Option(help: ArgumentHelp("The bundle identifier of the application.", valueName: "ID")) var bundle: String
    @Flag(help: "Allow reading and executing.") var readOnly = false
    @Flag(help: "Allow reading, writing and executing.") var readWrite = false
    @Flag(help: "Grant the object instead of the path: wherever it is moved or renamed, until it is removed.") var follow = false
    /// Unconditional: a value that begins with a dash gets the message for a wrong time.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("When the grant ends: 30m, 12h, 7d, '2026-12-31 18:00', 2026-12-31T18:00:00Z or @SECONDS.", valueName: "TIME"))
    var expires: String?
    @Argument(help: ArgumentHelp("On an aclfs mount; a folder is granted with all below it.", valueName: "PATH")) var paths: [ByteWord]
}

struct GrantListArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox grant list", abstract: "The grants on one mount, or on all that the caller may ask.",
        usage: "aclfs sandbox grant list [--json] [--bundle ID] [MOUNTPOINT]")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(help: ArgumentHelp("List only the grants of this application.", valueName: "ID")) var bundle: String?
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: ByteWord?
}

struct GrantRemoveArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox grant remove", abstract: "Revokes grants at once.",
        usage: "aclfs sandbox grant remove --bundle ID [--below] PATH ...")

    @Option(help: ArgumentHelp("The bundle identifier of the application.", valueName: "ID")) var bundle: String
    @Flag(help: "Also revoke all grants for paths below PATH.") var below = false
    @Argument(help: ArgumentHelp("The path as it was granted; it need not exist any more.", valueName: "PATH")) var paths: [ByteWord]
}

struct SandboxRunArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox run",
        abstract: "Runs a command that sees a share only as a profile allows.",
        usage: "aclfs sandbox run PROFILE [--bundle ID] [--home PATH] [--layout macos|ios] [--mount MOUNTPOINT] -- COMMAND …")

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
}

struct RestoreArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs restore", abstract: "Undoes a command on a tree: restores what its undo file holds.",
        usage: "aclfs restore [--dry-run] [--json] [--verbose] [--force] [--hard-links] FILE [SOURCE]")

    @Flag(help: "Print what would be restored, and change nothing.") var dryRun = false
    @Flag(help: "Also objects that were changed after the command, and set-id bits that files have lost.") var force = false
    @Flag(help: "Also objects that have more names than then.") var hardLinks = false
    @Flag(name: [.customShort("v"), .long], help: "Print each object that is restored.") var verbose = false
    @Flag(help: "One line of JSON for each object.") var json = false
    @Argument(help: ArgumentHelp("The undo file.", valueName: "FILE")) var file: ByteWord
    @Argument(help: ArgumentHelp("The directory or object that the command named, if it was moved since.", valueName: "SOURCE")) var source:
        ByteWord?
}

struct ReportArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs report", abstract: "A page that says who may do what in a directory and below it.",
        usage: "aclfs report [--json] [-o FILE] [--force] [--offline] [--metadata WHERE] DIRECTORY")

    @Option(name: .shortAndLong, help: ArgumentHelp("A new file for the page; by default standard output.", valueName: "FILE"))
    var output: ByteWord?
    @Flag(help: "Replace FILE.") var force = false
    @Flag(help: "Lines of JSON instead of a page.") var json = false
    @Flag(help: "Also a backing directory that is not mounted.") var offline = false
    @Option(
        help: ArgumentHelp(
            "Where the entries of a backing directory are stored, as the mount option: auto, trusted or user; by default auto.",
            valueName: "WHERE"))
    var metadata: String?
    @Argument(help: ArgumentHelp("On an aclfs mount, or a backing directory that is not mounted.", valueName: "DIRECTORY"))
    var directory: ByteWord
}

struct PurgeArguments: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs purge", abstract: "Removes old files from tmp and Library/Caches of the containers at and below PATH.",
        usage: "aclfs purge [--older-than AGE] [--dry-run] [--json] [--verbose] PATH ...")

    @Option(
        help: ArgumentHelp(
            "Remove what was neither read nor changed for so long: 30m, 12h, 3d or 2w; by default \(PurgeRequest.usualAge).",
            valueName: "AGE"))
    var olderThan: String?
    @Flag(help: "Print what would be removed, and remove nothing.") var dryRun = false
    @Flag(help: "One line of JSON for each object.") var json = false
    @Flag(name: [.customShort("v"), .long], help: "Print each object that is removed.") var verbose = false
    @Argument(help: ArgumentHelp("Containers, or directories that hold some, on an aclfs mount.", valueName: "PATH"))
    var paths: [ByteWord]
}
