import ACLFormats
import ArgumentParser
import ControlProtocol
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// `aclfs status [--json] [MOUNTPOINT]`: the state of one mount, or of all.
struct Status: ParsedCommand, ListedCommand {
    static let summary = "options in force, kernel features, decisions"
    static let example = "status /srv/share"
    static let configuration = CommandConfiguration(
        commandName: "aclfs status",
        abstract: "Options in force, features of the kernel in use, numbers of decisions: of one mount or all.",
        usage: "aclfs status [--json] [MOUNTPOINT]")

    @Flag(help: "JSON instead of text.") var json = false
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: ByteWord?

    /// - Returns: the exit status: 0; 1 if some mount did not answer; 2 if the named one did not.
    func perform() throws(ControlError) -> Int32 {
        let mounts: [MountEntry]
        // A mount that the command line names gets more time.
        var round = MountRound(timeout: mountpoint == nil ? 2000 : 30_000)
        if let path = mountpoint?.bytes {
            mounts = [try MountLocation(path, isFollowed: true).entry]
        } else {
            mounts = MountRound.mounts()
        }
        var answers: [StatusAnswer] = []
        var exit: Int32 = 0
        var said: Set<String> = []
        for mount in mounts {
            do throws(ControlError) {
                let answer = try round.ask(mount) { (daemon) throws(ControlError) in try daemon.ask(StatusMessage()) }
                answers.append(answer)
                if !json { Self.show(answer, mount) }
            } catch {
                let remedy = MountServer.isDead(mount) ? "; the daemon has died: aclfs unmount removes the mount" : ""
                let message = "aclfs: \(escapedName(mount.path.utf8)): \(error.message)\(remedy)"
                // A sandbox has several mounts at this path, none of which answers: print the message once.
                if said.insert(message).inserted { printError(message) }
                exit = mountpoint == nil ? 1 : 2
            }
        }
        if json { printJSON(.array(answers.map(\.json))) }
        return exit
    }

    /// - Parameter profile: nil where none confines the mount.
    static func sandbox(_ profile: ProfileSummary?) -> String {
        guard let profile else { return "none" }
        let words = [
            // A relative path of the options means nothing here.
            profile.name.map { $0.contains("/") ? profile.file ?? $0 : $0 }, profile.bundle.map { "bundle \($0)" },
            profile.home.map { "home \(String(decoding: $0, as: UTF8.self))" }, profile.layout.map { "layout \($0)" },
            profile.closed.map { "nothing is allowed (\($0))" },
        ]
        return words.compactMap { $0 }.map { escapedName($0.utf8) }.joined(separator: ", ")
    }

    private static func shown(_ value: StatusAnswer.Value) -> String {
        switch value {
        case .flag(let flag): flag ? "on" : "off"
        case .number(let number): String(number)
        case .text(let text): text
        case .way(let isUsed, let why): (isUsed ? "on" : "off") + (why.map { " (\($0))" } ?? "")
        case .texts(let texts): texts.isEmpty ? "no" : texts.joined(separator: " and ")
        case .other: "-"
        }
    }

    private static func show(_ status: StatusAnswer, _ mount: MountEntry) {
        func list(_ items: [StatusAnswer.Item]) -> String {
            items.isEmpty ? "none" : items.map { "\($0.name) \(shown($0.value))" }.joined(separator: ", ")
        }
        let ways = status.paths.filter { if case .way = $0.value { true } else { false } }
        let numbers = status.paths.filter { if case .way = $0.value { false } else { true } }
        let others: String = status.sharedKind.map { "perhaps (\($0))" } ?? "no"
        var rows: [[String]] = [
            [
                "\(escapedName(mount.path.utf8)):",
                "\(escapedName(status.source ?? [])) (metadata in \(status.metadata ?? "?"))",
            ],
            ["  other attributes:", status.attributeRoom.map { AttributeRoom.text(Int($0)) } ?? "?"],
            ["  options:", status.options.joined(separator: ",")],
            ["  changed by other hosts:", others],
            ["  sandbox:", status.tellsSandbox ? sandbox(status.sandbox) : "?"],
            ["  running sandboxes:", status.runningSandboxes.map { shown($0) } ?? "?"],
            ["  source reachable by:", escapedName((status.sourceReach ?? "?").utf8)],
            ["  daemon:", Self.keeping(status)],
            ["  paths:", list(numbers)],
            ["  cache:", list(status.cache)],
            ["  data:", list(status.data)],
            ["  zerofill:", list(status.zeroFill)],
            ["  decisions allowed:", status.allowed.map { shown($0) } ?? "?"],
            ["  decisions denied:", list(status.denied)],
        ]
        rows.insert(contentsOf: ways.map { ["    \($0.name)", shown($0.value)] }, at: 8)
        if let problem = status.identitiesProblem { rows.insert(["  identities:", escapedName(problem.utf8)], at: 2) }
        for row in rows { printLine(row.joined(separator: " ")) }
    }

    private static func keeping(_ status: StatusAnswer) -> String {
        guard let process = status.daemon, let deaths = status.deaths else { return "?" }
        let waited = deaths == .number(0) ? "" : ", longest wait \(status.longestWait.map { shown($0) } ?? "?") ms"
        return "process \(shown(process)), deaths survived \(shown(deaths))\(waited)"
            + (status.upgradeObstacle.map { "; aclfs upgrade would refuse: \(escapedName($0.utf8))" } ?? "")
    }
}
