import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// `aclfs status [--json] [MOUNTPOINT]`: the state of one mount, or of all.
package enum StatusReport {
    /// - Returns: the exit status: 0; 1 if some mount did not answer; 2 if the named one did not.
    package static func perform(_ arguments: StatusRequest) -> Int32 {
        do throws(ControlError) { return try report(arguments) } catch {
            printError("aclfs: \(error.message)")
            return 2
        }
    }

    private static func report(_ arguments: StatusRequest) throws(ControlError) -> Int32 {
        let mounts: [MountEntry]
        // A mount that the command line names gets more time.
        var round = MountRound(timeout: arguments.mountpoint == nil ? 2000 : 30_000)
        if let path = arguments.mountpoint {
            mounts = [try MountLocation(path, isFollowed: true).entry]
        } else {
            mounts = MountRound.mounts()
        }
        var answers: [JSON] = []
        var exit: Int32 = 0
        var said: Set<String> = []
        for mount in mounts {
            do throws(ControlError) {
                let answer = try round.ask(mount) { (daemon) throws(ControlError) in try daemon.ask("status") }
                answers.append(answer)
                if !arguments.json { show(answer, mount) }
            } catch {
                let remedy = MountServer.isDead(mount) ? "; it died: aclfs unmount takes its mount away" : ""
                let message = "aclfs: \(escapedName(mount.path.utf8)): \(error.message)\(remedy)"
                // A sandbox has several mounts at this path, none of which answers: print the message once.
                if said.insert(message).inserted { printError(message) }
                exit = arguments.mountpoint == nil ? 1 : 2
            }
        }
        if arguments.json { printJSON(.array(answers)) }
        return exit
    }

    static func sandbox(_ value: JSON) -> String {
        guard case .object = value else { return "none" }
        let name = value["profile"]?.string
        let words = [
            // A relative path of the options means nothing here.
            name.map { $0.contains("/") ? value["file"]?.string ?? $0 : $0 }, value["bundle"]?.string.map { "bundle \($0)" },
            value.path("home").map { "home \(String(decoding: $0, as: UTF8.self))" },
            value["layout"]?.string.map { "layout \($0)" },
            value["closed"]?.string.map { "nothing passes (\($0))" },
        ]
        return words.compactMap { $0 }.map { escapedName($0.utf8) }.joined(separator: ", ")
    }

    private static func show(_ status: JSON, _ mount: MountEntry) {
        func shown(_ value: JSON) -> String {
            switch value {
            case .bool(let value): value ? "on" : "off"
            case .integer(let value): String(value)
            case .string(let value): value
            case .object:
                (value["used"]?.bool == true ? "on" : "off") + (value["why"]?.string.map { " (\($0))" } ?? "")
            case .array(let values):
                values.isEmpty ? "no" : values.compactMap(\.string).joined(separator: " and ")
            default: "-"
            }
        }
        func members(_ value: JSON?) -> String {
            guard case .object(let members)? = value, !members.isEmpty else { return "none" }
            return members.map { "\($0.name) \(shown($0.value))" }.joined(separator: ", ")
        }
        let source = status.path("source") ?? []
        var ways: [JSON.Member] = []
        var numbers: [JSON.Member] = []
        if case .object(let members)? = status["paths"] {
            ways = members.filter { $0.value["used"] != nil }
            numbers = members.filter { $0.value["used"] == nil }
        }
        let others: String = status["shared"]?.string.map { "perhaps (\($0))" } ?? "no"
        var rows: [[String]] = [
            [
                "\(escapedName(mount.path.utf8)):",
                "\(escapedName(source)) (metadata in \(status["metadata"]?.string ?? "?"))",
            ],
            ["  options:", (status["options"]?.array ?? []).compactMap(\.string).joined(separator: ",")],
            ["  changed by other hosts:", others],
            ["  sandbox:", status["sandbox"].map { sandbox($0) } ?? "?"],
            ["  running sandboxes:", status["running_sandboxes"].map { shown($0) } ?? "?"],
            ["  source reachable by:", escapedName((status["source_reachable_by"]?.string ?? "?").utf8)],
            ["  paths:", members(.object(numbers))],
            ["  cache:", members(status["cache"])],
            ["  data:", members(status["data"])],
            ["  zerofill:", members(status["zerofill"])],
            ["  decisions allowed:", status["counters"]?["allowed"].map { shown($0) } ?? "?"],
            ["  decisions denied:", members(status["counters"]?["denied"])],
        ]
        rows.insert(contentsOf: ways.map { ["    \($0.name)", shown($0.value)] }, at: 7)
        for row in rows { printLine(row.joined(separator: " ")) }
    }
}
