import ACLFormats
import ArgumentParser
import ControlProtocol
import MountOptions
import Mounting
import ProfileFiles
import SandboxPolicy
import SandboxProfiles
import ToolSupport

/// `aclfs sandbox check`: whether a profile is valid, and what it allows at each path.
struct SandboxCheck: ParsedCommand {
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

    /// - Returns: the exit status: 0 the profile is good, 1 it is not, 2 no answer.
    func perform() -> Int32 {
        var options = MountOptions()
        let name = String(decoding: profile.bytes, as: UTF8.self)
        do {
            let said = [
                ("sandbox", name), ("bundle", bundle), ("home", home), ("layout", layout),
            ]
            try options.apply(MountOptionText.join(said.compactMap { word, value in value.map { "\(word)=\($0)" } }))
            try options.checkTogether()
        } catch {
            printError("aclfs: \(error.description)")
            return 2
        }
        let read: SandboxProfile
        let table: ZoneTable
        do {
            read = try SandboxProfile.read(
                name, bundle: options.sandbox.bundle, home: Self.home(options.sandbox.home ?? "/"),
                layout: options.sandbox.layout ?? .macos)
            table = try Self.compiled(read)
        } catch { return Self.refuse(error, name, json) }
        let words = paths.map(\.bytes)
        let places = words.map { $0.pathNames }
        for (path, word) in zip(places, words) where path.contains([0x2E]) || path.contains([0x2E, 0x2E]) {
            printError("aclfs: \(escapedName(word)): a path from the mount's top may not contain . or ..")
            return 2
        }
        for (path, word) in zip(places, words) where table[table.zone(of: path)].kind == .outside {
            if let hint = Self.hint(word, path) { printError("aclfs: \(hint)") }
        }
        if json {
            printJSON(Self.json(read, table, places))
        } else {
            Self.show(read, table, places, isVerbose: verbose)
        }
        return 0
    }

    /// As `mount` and `sandbox run` read it: a path through a mount point is relative to that mount's top.
    private static func home(_ said: String) -> [[UInt8]] {
        let tops = MountTable.entries().filter { $0.type == "fuse.aclfs" && $0.path != "/" }.map(\.path)
        return MountProfile.home(said, tops.sorted { $0.utf8.count > $1.utf8.count })
    }

    /// - Returns: a hint if a path, which is relative to a mount's top, looks like one through a mount point.
    private static func hint(_ word: [UInt8], _ path: [[UInt8]]) -> String? {
        guard word.first == 0x2F else { return nil }
        let tops = MountTable.entries().filter { $0.type == "fuse.aclfs" }.map { Array($0.path.utf8).pathNames }
        guard let top = tops.filter({ !$0.isEmpty && path.starts(with: $0) }).max(by: { $0.count < $1.count }) else { return nil }
        func text(_ names: some Sequence<[UInt8]>) -> String { escapedName([0x2F] + Array(names).joined(separator: [0x2F])) }
        return "\(text(path)): paths begin at the top of the mount; below the mount point \(text(top)) this is "
            + text(path.dropFirst(top.count))
    }

    private static func compiled(_ profile: SandboxProfile) throws(ProfileProblem) -> ZoneTable {
        do { return try profile.table() } catch { throw ProfileProblem(.malformed, "\(error)") }
    }

    private static func refuse(_ problem: ProfileProblem, _ name: String, _ asJSON: Bool) -> Int32 {
        guard problem.kind == .malformed else {
            printError("aclfs: \(problem)")
            return 2
        }
        if asJSON {
            printJSON(
                .object([
                    .init("profile", .string(name)), .init("good", .bool(false)),
                    .init("error", .string(problem.description)),
                ]))
        } else {
            printError("aclfs: \(problem)")
        }
        return 1
    }

    private static func show(_ profile: SandboxProfile, _ table: ZoneTable, _ paths: [[[UInt8]]], isVerbose: Bool) {
        line("profile \(escapedName(profile.name.utf8)) is valid")
        for warning in profile.entitlements.warnings { line("warning: \(escapedName(warning.description.utf8))") }
        if isVerbose {
            for key in profile.entitlements.notAboutFiles { line("\(escapedName(key.utf8)): not about files, not enforced") }
        }
        if !paths.isEmpty {
            let rows = paths.map { path in
                let zone = table[table.zone(of: path)]
                return [escapedName([0x2F] + path.joined(separator: [0x2F])), zone.kind.text, zone.source ?? ""]
            }
            for row in ExplainTable.lines(rows) { line(row) }
            return
        }
        let rows = table.places.map { [escapedName($0.text), $0.kind.text, $0.source ?? ""] }
        for row in ExplainTable.lines(rows + [["everything else", ZoneKind.outside.text, ""]]) { line(row) }
        if profile.bundle == nil { line("no container: name its application with --bundle ID") }
        if let most = profile.entitlements.userSelected {
            let kind = most == .readOnly ? ZoneKind.readOnly : .readWrite
            line("granted with 'aclfs sandbox grant add': \(kind.text) at most")
        }
    }

    private static func line(_ text: String) { printLine(text) }

    private static func json(_ profile: SandboxProfile, _ table: ZoneTable, _ paths: [[[UInt8]]]) -> JSON {
        func passes(_ kind: ZoneKind, _ source: String?) -> [JSON.Member] {
            [
                .init("passes", .string(kind.text)),
                .init(
                    "rights",
                    .array(
                        RightName.all.filter { !$0.right.isDisjoint(with: kind.rights) }.map { .string($0.fileWord ?? $0.directoryWord) })),
                .init("key", source.map { .string($0) } ?? .null),
            ]
        }
        var members = ProfileSummary(profile).members
        members.append(.init("good", .bool(true)))
        members.append(.init("warnings", .array(profile.entitlements.warnings.map { .string($0.description) })))
        members.append(.init("not_about_files", .array(profile.entitlements.notAboutFiles.map { .string($0) })))
        members.append(
            .init("grants", profile.entitlements.userSelected.map { .string($0.word) } ?? .null))
        members.append(
            .init(
                "places",
                .array(
                    table.places.map { place in
                        .object(
                            [JSON.path(place.path.flatMap { [0x2F] + $0 }), .init("reach", .string(place.reach.rawValue))]
                                + passes(place.kind, place.source))
                    })))
        if !paths.isEmpty {
            members.append(
                .init(
                    "paths",
                    .array(
                        paths.map { path in
                            let zone = table[table.zone(of: path)]
                            return .object(
                                [JSON.path([0x2F] + path.joined(separator: [0x2F]))] + passes(zone.kind, zone.source))
                        })))
        }
        return .object(members)
    }
}
