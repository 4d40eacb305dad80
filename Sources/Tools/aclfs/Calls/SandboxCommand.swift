import ACLFormats
import Commands
import ToolSupport

/// `aclfs sandbox`: profiles, the mounts that they confine, grants to applications, and confined commands.
enum SandboxCommand {
    static let words = ["check", "list", "grant", "run"]

    static func run(_ arguments: [[UInt8]]) -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "check": return SandboxCheckArguments.run(rest, wrongUse: 2, check)
        case "list": return SandboxListArguments.run(rest, wrongUse: 2) { SandboxList.perform(json: $0.json) }
        case "grant": return SandboxGrantCommand.run(rest)
        case "run": return SandboxRunCommand.run(rest)
        case "--help", "-h", "help":
            printLines(usage)
            return 0
        case let word: return unknown(word, in: words, "aclfs sandbox", usage)
        }
    }

    private static func check(_ arguments: SandboxCheckArguments) -> Int32 {
        SandboxCheck.perform(
            SandboxCheckRequest(
                json: arguments.json, isVerbose: arguments.verbose, bundle: arguments.bundle, home: arguments.home,
                layout: arguments.layout,
                profile: arguments.profile.bytes, paths: arguments.paths.map(\.bytes)))
    }

    static func unknown(_ word: String?, in words: [String], _ command: String, _ usage: String) -> Int32 {
        guard let word else {
            printUsageError(usage)
            return 2
        }
        let near = nearestWord(to: word.utf8, in: words).map { "; did you mean '\($0)'?" } ?? ""
        printError("aclfs: \(command) knows no '\(escapedName(word.utf8))'\(near)", usage: usage)
        return 2
    }

    private static let usage = """
        usage: aclfs sandbox check [--json] [-v] [--bundle ID] [--home PATH] [--layout macos|ios] PROFILE [PATH ...]
               aclfs sandbox list [--json]
               aclfs sandbox grant add|list|remove ...
               aclfs sandbox run PROFILE [--bundle ID] [--home PATH] [--layout macos|ios] [--mount MOUNTPOINT] -- COMMAND ...
        """
}
