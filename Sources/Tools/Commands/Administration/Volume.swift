import ACLFormats
import Authorization
import LinuxSystem
import Mounting
import ToolSupport

/// `aclfs volume`: settings of a backing directory that count for each mount of it, unless its options say otherwise.
package enum Volume {
    /// - Parameters:
    ///   - source: the backing directory.
    ///   - words: `acl`, `noacl`, `owners`, `noowners`; none: the settings are printed.
    ///   - isReset: whether all settings are removed first.
    ///   - options: `metadata` and `json` count.
    /// - Returns: the exit status: 0, or 2 if nothing is done.
    package static func perform(
        _ source: [UInt8], _ words: [String], isReset: Bool, _ options: TreeOptions, sink: OutputSink = .standard
    ) -> Int32 {
        do throws(TreeRefusal) {
            try check(words)
            let tree = try OfflineTree(source, recordName: try options.recordNameOffline(of: source))
            let isChange = isReset || !words.isEmpty
            if isChange { try tree.requireChangeable { sink.complain("warning: \($0)") } }
            var settings: VolumeSettings = []
            var tries = ChangeTries()
            while true {
                do throws(AttributeFailure) {
                    let before = try tree.state(of: tree.top, tree.status, owners: false, TreeTools())
                    settings = try record(of: before).volume ?? []
                    if isReset { settings = [] }
                    for word in words { _ = settings.set(word) }
                    if isChange { try store(settings, on: tree, before) }
                    break
                } catch {
                    if case .changedMeanwhile = error, tries.again() { continue }
                    throw TreeRefusal("\(escapedName(source)): \(error.message)")
                }
            }
            show(settings, tree.path, options.json, sink)
            for word in IgnoredRulesWarning.words where !words.isEmpty && settings.words.contains(word) {
                sink.complain("volume: warning: \(escapedName(source)): on each mount of it \(IgnoredRulesWarning.meaning(of: word))")
            }
            return 0
        } catch {
            sink.complain("volume: \(error.message)")
            return 2
        }
    }

    private static func check(_ words: [String]) throws(TreeRefusal) {
        var none: VolumeSettings = []
        for word in words {
            guard none.set(word) else {
                throw TreeRefusal("'\(escapedName(word.utf8))' is not a setting; the settings are acl, noacl, owners and noowners")
            }
            let opposite = VolumeSettings.opposite(of: word)
            if words.contains(opposite) { throw TreeRefusal("'\(word)' and '\(opposite)' contradict each other; give one of them") }
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

    private static func show(_ settings: VolumeSettings, _ path: [UInt8], _ isJSON: Bool, _ sink: OutputSink) {
        func word(_ name: String) -> String? { settings.words.first { $0.hasSuffix(name) } }
        let rows = [("acl", word("acl")), ("owners", word("owners"))]
        if isJSON {
            let members = rows.map { JSON.Member($0.0, $0.1.map { .string($0) } ?? .null) }
            return sink.output(JSONText.write(.object([JSON.path(path)] + members)) + [0x0A])
        }
        for (name, value) in rows { sink.line("\(name): \(value ?? "as the mount says (default: \(name))")") }
    }
}
