import ACLFormats
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// `aclfs sandbox grant`: 0 done, 1 some paths failed, 2 nothing was done.
enum SandboxGrantCommand {
    private static let words = ["add", "list", "remove"]

    static func run(_ arguments: [[UInt8]]) -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "add": return GrantAddArguments.run(rest, wrongUse: 2, add)
        case "list": return GrantListArguments.run(rest, wrongUse: 2, list)
        case "remove": return GrantRemoveArguments.run(rest, wrongUse: 2, remove)
        case "--help", "-h", "help":
            print(usage)
            return 0
        case let word: return SandboxCommand.unknown(word, in: words, "aclfs sandbox grant", usage)
        }
    }

    private static let usage = """
        usage: aclfs sandbox grant add --bundle ID --read-only|--read-write [--expires TIME] PATH ...
               aclfs sandbox grant list [--json] [--bundle ID] [MOUNTPOINT]
               aclfs sandbox grant remove --bundle ID [--below] PATH ...
        """

    private static func wrong(_ message: String) -> Int32 {
        printError("aclfs: \(message)")
        return 2
    }

    private static func isBundle(_ text: String) -> Bool { ContainerLayout.isIdentifier(text) }

    private static func add(_ arguments: GrantAddArguments) -> Int32 {
        guard arguments.readOnly != arguments.readWrite else { return wrong("say either --read-only or --read-write") }
        guard isBundle(arguments.bundle) else { return wrongBundle(arguments.bundle) }
        var members: [JSON.Member] = [
            .init("bundle", .string(arguments.bundle)),
            .init("access", .string((arguments.readOnly ? EntitledAccess.readOnly : .readWrite).word)),
        ]
        if let text = arguments.expires {
            guard let time = GrantTime.seconds(text, now: SystemTime.now().sec) else {
                return wrong("--expires \(escapedName(text.utf8)): expected \(GrantTime.forms)")
            }
            members.append(.init("expires", .integer(time)))
        }
        return each(arguments.paths) { (path) throws(ControlError) in
            // The object that a link leads to; where the view does not let it be seen, the name as it is written.
            let location: MountLocation
            do throws(ControlError) { location = try MountLocation(path, isFollowed: true) } catch {
                location = try MountLocation(path, isAsWritten: true)
            }
            let answer = try location.client().ask("grant-add", members + [JSON.path(location.path)])
            for note in answer["notes"]?.array ?? [] { printError("aclfs: warning: \(escapedName((note.string ?? "").utf8))") }
        }
    }

    private static func remove(_ arguments: GrantRemoveArguments) -> Int32 {
        guard isBundle(arguments.bundle) else { return wrongBundle(arguments.bundle) }
        return each(arguments.paths) { (path) throws(ControlError) in
            let location = try MountLocation(path, isAsWritten: true)
            _ = try location.client().ask(
                "grant-remove",
                [
                    .init("bundle", .string(arguments.bundle)), JSON.path(location.path),
                    .init("below", .bool(arguments.below)),
                ])
        }
    }

    private static func wrongBundle(_ bundle: String) -> Int32 {
        wrong("--bundle \(escapedName(bundle.utf8)): expected a bundle identifier such as org.example.App")
    }

    private static func each(_ paths: [ByteWord], _ body: ([UInt8]) throws(ControlError) -> Void) -> Int32 {
        guard !paths.isEmpty else { return wrong("no path; see aclfs sandbox grant --help") }
        var failed = 0
        for path in paths {
            do throws(ControlError) { try body(path.bytes) } catch {
                let shown = escapedName(path.bytes)
                printError("aclfs: \(error.message.hasPrefix(shown) ? "" : shown + ": ")\(error.message)")
                failed += 1
            }
        }
        return failed == 0 ? 0 : failed == paths.count ? 2 : 1
    }

    // MARK: List

    private static func list(_ arguments: GrantListArguments) -> Int32 {
        if let bundle = arguments.bundle, !isBundle(bundle) { return wrongBundle(bundle) }
        var rows: [[String]] = []
        var values: [JSON] = []
        var seen: Set<String> = []
        // A daemon tells of all lists that it cannot read, on each of its mounts.
        var problems: Set<String> = []
        do throws(ControlError) {
            for location in try places(arguments.mountpoint?.bytes) {
                let found: [JSON]
                do throws(ControlError) { found = try grants(location, arguments.bundle, &seen, &problems) } catch {
                    // Mounts of others are not ours to ask about, unless one is named.
                    if arguments.mountpoint != nil { throw error }
                    continue
                }
                for grant in found {
                    guard let kept = KeptGrant(grant) else { throw ControlError("the answer is not understood") }
                    rows.append(row(kept, grant, location))
                    values.append(value(kept, grant, location))
                }
            }
        } catch { return wrong(error.message) }
        if arguments.json {
            printBytes(JSONText.write(.array(values)))
        } else {
            for line in ExplainTable.lines(rows) { printBytes(Array(line.utf8)) }
        }
        return problems.isEmpty ? 0 : 1
    }

    /// One mount, or all: unconfined ones first, because their paths lead there.
    private static func places(_ path: [UInt8]?) throws(ControlError) -> [MountLocation] {
        if let path { return [try MountLocation(path, isFollowed: true)] }
        return MountTable.entries().filter { $0.type == "fuse.aclfs" }.map { MountLocation(top: $0) }
    }

    /// - Parameter seen: the directories whose grants are known already.
    private static func grants(
        _ location: MountLocation, _ bundle: String?, _ seen: inout Set<String>, _ problems: inout Set<String>
    ) throws(ControlError) -> [JSON] {
        let client = try location.client()
        var found: [JSON] = []
        while true {
            var members: [JSON.Member] = [.init("from", .integer(Int64(found.count)))]
            if let bundle { members.append(.init("bundle", .string(bundle))) }
            let answer = try client.ask("grant-list", members)
            guard let part = answer["grants"]?.array, let total = answer["total"]?.integer else {
                throw ControlError("the answer is not understood")
            }
            if found.isEmpty {
                guard seen.insert("\(location.entry.userID ?? 0) \(answer["tree"]?.string ?? "")").inserted else { return [] }
                for problem in answer["problems"]?.array ?? [] where problems.insert(problem.string ?? "").inserted {
                    printError("aclfs: \(problem.string ?? "")")
                }
            }
            found += part
            if part.isEmpty || found.count >= total { return found }
        }
    }

    private static func shown(_ kept: KeptGrant, _ location: MountLocation) -> [UInt8] {
        let top = location.entry.path == "/" ? [] : Array(location.entry.path.utf8)
        // A bind mount may show only a part.
        let hidden = location.entry.root.utf8.pathNames
        guard kept.grant.path.starts(with: hidden) else { return Array("(above the bind mount)".utf8) }
        let path = kept.grant.path.dropFirst(hidden.count).reduce(top) { $0 + [0x2F] + $1 }
        return path.isEmpty ? [0x2F] : path
    }

    private static func row(_ kept: KeptGrant, _ grant: JSON, _ location: MountLocation) -> [String] {
        var end = kept.grant.expires.map { "until \(GrantTime.text($0))" } ?? ""
        if grant["counts"]?.bool == false { end = end.replacing("until", with: "ended") }
        let path = escapedName(shown(kept, location)) + (kept.grant.isDirectory ? "/" : "")
        return [escapedName(kept.grant.bundle.utf8), kept.grant.access.word, path, end]
    }

    private static func value(_ kept: KeptGrant, _ grant: JSON, _ location: MountLocation) -> JSON {
        guard case .object(let members) = grant else { return grant }
        let others = members.filter { !$0.name.hasPrefix("path") }
        return .object([JSON.path(shown(kept, location))] + others)
    }
}
