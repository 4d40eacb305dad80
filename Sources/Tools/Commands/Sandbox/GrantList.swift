import ACLFormats
import ArgumentParser
import ControlProtocol
import SandboxPolicy
import ToolSupport

/// `aclfs sandbox grant list`: the grants of one mount or of all. A failure of one daemon does not stop the list.
struct GrantList: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox grant list", abstract: "The grants on one mount, or on all that the caller may ask.",
        usage: "aclfs sandbox grant list [--json] [--bundle ID] [MOUNTPOINT]")

    @Flag(help: "JSON instead of text.") var json = false
    @Option(help: ArgumentHelp("List only the grants of this application.", valueName: "ID")) var bundle: String?
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: ByteWord?

    /// - Returns: the exit status: 0; 1 if some grants could not be read; 2 if nothing could be listed.
    func perform() -> Int32 {
        if let bundle, !Grants.isBundle(bundle) { return Grants.wrongBundle(bundle) }
        var list = GrantListing(self)
        do throws(ControlError) { return try list.perform() } catch { return Grants.wrong(error.message) }
    }
}

private struct GrantListing {
    /// A limit above the grants of all directories that a mount may lie in. A daemon that sends more is refused.
    private static let most = 64 * GrantFile.most

    private let arguments: GrantList
    private var round: MountRound
    private var rows: [[String]] = []
    private var values: [JSON] = []
    /// The directories whose grants have been listed.
    private var seen: Set<String> = []
    /// Messages that have been printed. A daemon reports damaged files on each of its mounts.
    private var problems: Set<String> = []

    init(_ arguments: GrantList) {
        self.arguments = arguments
        // A mount that the command line names gets more time.
        round = MountRound(timeout: arguments.mountpoint == nil ? 2000 : 30_000)
    }

    mutating func perform() throws(ControlError) -> Int32 {
        var isWhole = true
        if let path = arguments.mountpoint?.bytes {
            try take(try MountLocation(path, isFollowed: true))
        } else {
            for mount in MountRound.mounts() {
                do throws(ControlError) { try take(MountLocation(top: mount)) } catch {
                    printError("aclfs: \(escapedName(mount.path.utf8)): \(error.message)")
                    isWhole = false
                }
            }
        }
        if arguments.json {
            printJSON(.array(values))
        } else {
            for line in ExplainTable.lines(rows) { printLine(line) }
        }
        return isWhole && problems.isEmpty ? 0 : 1
    }

    /// Adds the grants of one mount, unless another mount of the directory was listed.
    private mutating func take(_ location: MountLocation) throws(ControlError) {
        let bundle = arguments.bundle
        var tree: String?
        var told: [String] = []
        let found = try round.ask(location.entry) { (daemon) throws(ControlError) in
            var found: [ListedGrant] = []
            while true {
                let answer = try daemon.ask(GrantListMessage(bundle: bundle, from: found.count))
                guard let part = answer.grants, let total = answer.total, total <= Self.most,
                    found.count + part.count <= Self.most
                else { throw Self.notUnderstood }
                if found.isEmpty { (tree, told) = (answer.tree, answer.problems) }
                found += part
                if part.isEmpty || found.count >= total { return found }
            }
        }
        guard seen.insert("\(location.entry.userID ?? 0) \(tree ?? "")").inserted else { return }
        for problem in told where problems.insert(problem).inserted { printError("aclfs: \(escapedText(problem))") }
        for grant in found {
            rows.append(Self.row(grant, location))
            values.append(grant.json(called: Self.shown(grant.kept, location)))
        }
    }

    private static let notUnderstood = ControlError(ControlError.notUnderstood)

    // MARK: One line

    private static func shown(_ kept: KeptGrant, _ location: MountLocation) -> [UInt8] {
        let top = location.entry.path == "/" ? [] : Array(location.entry.path.utf8)
        // A bind mount may show only a part of the share.
        let hidden = location.entry.root.utf8.pathNames
        guard kept.grant.path.starts(with: hidden) else { return Array("(above the bind mount)".utf8) }
        let path = kept.grant.path.dropFirst(hidden.count).reduce(top) { $0 + [0x2F] + $1 }
        return path.isEmpty ? [0x2F] : path
    }

    private static func row(_ listed: ListedGrant, _ location: MountLocation) -> [String] {
        let kept = listed.kept
        var end = kept.grant.expires.map { "until \(GrantTime.text($0))" } ?? ""
        if listed.counts == false, listed.isFound { end = end.replacing("until", with: "ended") }
        if listed.follows { end = (end.isEmpty ? "" : end + ", ") + (listed.isFound ? "follows it" : "not found where it was last") }
        let path = escapedName(shown(kept, location)) + (kept.grant.isDirectory ? "/" : "")
        return [escapedName(kept.grant.bundle.utf8), kept.grant.access.word, path, end]
    }
}
