import Commands
import ToolSupport

/// `aclfs sandbox grant add|list|remove`.
enum SandboxGrantCommand {
    private static let words = ["add", "list", "remove"]

    static func run(_ arguments: [[UInt8]]) -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "add": return GrantAddArguments.run(rest, wrongUse: 2, add)
        case "list": return GrantListArguments.run(rest, wrongUse: 2, list)
        case "remove": return GrantRemoveArguments.run(rest, wrongUse: 2, remove)
        case "--help", "-h", "help":
            printLines(usage)
            return 0
        case let word: return SandboxCommand.unknown(word, in: words, "aclfs sandbox grant", usage)
        }
    }

    private static let usage = """
        usage: aclfs sandbox grant add --bundle ID --read-only|--read-write [--follow] [--expires TIME] PATH ...
               aclfs sandbox grant list [--json] [--bundle ID] [MOUNTPOINT]
               aclfs sandbox grant remove --bundle ID [--below] PATH ...
        """

    private static func add(_ arguments: GrantAddArguments) -> Int32 {
        SandboxGrants.add(
            GrantAddRequest(
                bundle: arguments.bundle, readOnly: arguments.readOnly, readWrite: arguments.readWrite, follow: arguments.follow,
                expires: arguments.expires, paths: arguments.paths.map(\.bytes)))
    }

    private static func list(_ arguments: GrantListArguments) -> Int32 {
        SandboxGrantList.perform(
            GrantListRequest(json: arguments.json, bundle: arguments.bundle, mountpoint: arguments.mountpoint?.bytes))
    }

    private static func remove(_ arguments: GrantRemoveArguments) -> Int32 {
        SandboxGrants.remove(
            GrantRemoveRequest(bundle: arguments.bundle, below: arguments.below, paths: arguments.paths.map(\.bytes)))
    }
}
