import ACLFormats
import ArgumentParser
import Authorization
import LinuxSystem
import Mounting
import ToolSupport

/// `aclfs volume`: settings of a backing directory that count for each mount of it, unless its options say otherwise.
struct Volume: ParsedCommand, ListedCommand {
    static let summary = "settings of a backing directory for each mount"
    static let example = "volume /srv/back/share noacl"
    static let configuration = CommandConfiguration(
        commandName: "aclfs volume", abstract: "Shows and changes settings of a backing directory that apply to every mount of it.",
        usage: "aclfs volume [--json] [--metadata WHERE] [--reset] SOURCE [acl|noacl] [owners|noowners]",
        discussion: """
            Without words it prints the settings. An option of the mount overrides a setting, and the log says so. The words mean what \
            they mean as options of a mount.
            """)

    @Flag(help: "Remove all settings first.") var reset = false
    @Option(
        help: ArgumentHelp(
            "Where the directory has its entries, as the mount option: auto, trusted or user; by default auto.", valueName: "WHERE"))
    var metadata: String?
    @Flag(help: "JSON instead of text.") var json = false
    @Argument(help: ArgumentHelp("The backing directory. To be changed it must not be mounted.", valueName: "SOURCE")) var source: ByteWord
    @Argument(help: ArgumentHelp("Whether ACLs count: acl or noacl; whether ownership counts: owners or noowners.", valueName: "SETTING"))
    var settings: [String] = []

    /// - Returns: the exit status: 0, or 2 if nothing is done.
    func perform() throws(CommandFailure) -> Int32 {
        try Self.check(settings)
        let tree = try OfflineTree(source.bytes, recordName: try TreeOptions(metadata: metadata).recordNameOffline(of: source.bytes))
        let isChange = reset || !settings.isEmpty
        if isChange { try tree.requireChangeable { sink.complain("warning: \($0)") } }
        var stored: VolumeSettings = []
        var tries = ChangeTries()
        while true {
            do throws(AttributeFailure) {
                let before = try tree.state(of: tree.top, tree.status, owners: false, TreeTools())
                stored = try Self.record(of: before).volume ?? []
                if reset { stored = [] }
                for word in settings { _ = stored.set(word) }
                if isChange { try Self.store(stored, on: tree, before) }
                break
            } catch {
                if case .changedMeanwhile = error, tries.again() { continue }
                throw CommandFailure("\(escapedName(source.bytes)): \(error.message)")
            }
        }
        show(stored, tree.path)
        for word in IgnoredRulesWarning.words where !settings.isEmpty && stored.words.contains(word) {
            sink.complain("volume: warning: \(escapedName(source.bytes)): on each mount of it \(IgnoredRulesWarning.meaning(of: word))")
        }
        return 0
    }

    private static func check(_ words: [String]) throws(CommandFailure) {
        var none: VolumeSettings = []
        for word in words {
            guard none.set(word) else {
                throw CommandFailure("'\(escapedName(word.utf8))' is not a setting; the settings are acl, noacl, owners and noowners")
            }
            let opposite = VolumeSettings.opposite(of: word)
            if words.contains(opposite) { throw CommandFailure("'\(word)' and '\(opposite)' contradict each other; give one of them") }
        }
    }

    private static func record(of state: TreeState) throws(AttributeFailure) -> MetadataRecord {
        guard case .backing(let attributes) = state.store else { return MetadataRecord() }
        return try attributes.metadata()
    }

    private static func store(_ settings: VolumeSettings, on tree: OfflineTree, _ before: TreeState) throws(AttributeFailure) {
        guard case .backing(var attributes) = before.store else { return }
        var record = try attributes.metadata()
        record.volume = settings.isEmpty ? nil : settings
        try attributes.set(record)
        var after = before
        after.store = .backing(attributes)
        if after != before { _ = try tree.change(tree.top, from: before, to: after, tree.status, setsID: false, TreeTools()) }
    }

    private func show(_ settings: VolumeSettings, _ path: [UInt8]) {
        func word(_ name: String) -> String? { settings.words.first { $0.hasSuffix(name) } }
        let rows = [("acl", word("acl")), ("owners", word("owners"))]
        if json {
            let members = rows.map { JSON.Member($0.0, $0.1.map { .string($0) } ?? .null) }
            return sink.output(JSONText.write(.object([JSON.path(path)] + members)) + [0x0A])
        }
        for (name, value) in rows { sink.line("\(name): \(value ?? "as the mount says (default: \(name))")") }
    }
}
