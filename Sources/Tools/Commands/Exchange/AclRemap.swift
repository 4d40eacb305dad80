import ACLFormats
import ArgumentParser
import Authorization
import LinuxSystem
import ToolSupport

/// `aclfs acl remap`: another user or group in place of one, in lists and as owner and group (docs/guide/export.md "Renaming users and groups").
struct AclRemap: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs acl remap",
        abstract: "Puts another user or group in the place of one: in lists, and as owner and group.",
        usage: "aclfs acl remap \(treeUsage) OLD NEW PATH",
        discussion: """
            OLD and NEW are names, user:NAME, group:NAME, user:#NUMBER, group:#NUMBER or UUIDs. An object whose owner or group changes \
            loses its set-id bits.

            Exit status: 0, 1 if an object stays as it was, 2 if nothing is done.

            Example: aclfs acl remap --undo-file bob.undo user:#1002 bob /srv/share
            """)

    @OptionGroup var tree: TreeArguments
    @Argument(help: ArgumentHelp("A user or a group.", valueName: "OLD")) var old: ByteWord
    @Argument(help: ArgumentHelp("A user or a group, as OLD.", valueName: "NEW")) var new: ByteWord
    @Argument(help: ArgumentHelp("On a mount, or in a backing directory that is not mounted.", valueName: "PATH")) var path: ByteWord

    func perform() -> Int32 {
        changeTree(path, tree.options) { (command, tree) throws(CommandFailure) in
            let host = SystemNames()
            let (one, other) = (try Self.identity(old.bytes, host), try Self.identity(new.bytes, host))
            if one == other { throw CommandFailure("OLD and NEW are the same: \(one.uuidText)") }
            switch (Principal(one), Principal(other)) {
            case (.user, .group), (.group, .user): throw CommandFailure("OLD and NEW must both be users or both be groups")
            default: break
            }
            return try command.run(tree, RemapChange(old: one, new: other), .all)
        }
    }

    private static func identity(_ word: [UInt8], _ host: SystemNames) throws(CommandFailure) -> GUID {
        let text = String(decoding: word, as: UTF8.self)
        let kinds: [IdentityKind] = [.user, .group]
        let prefixed = kinds.first { text.hasPrefix("\($0.rawValue):") }
        let name = prefixed.map { String(text.dropFirst($0.rawValue.count + 1)) } ?? text
        // A number alone may be a user's or a group's.
        let isNumber = name.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "#") }
        if prefixed == nil, isNumber { throw CommandFailure("'\(escapedName(word))' is ambiguous: write user:\(name) or group:\(name)") }
        for kind in prefixed.map({ [$0] }) ?? kinds {
            guard let identity = IdentityMapping.identity(name, kind, host) else { continue }
            switch Principal(identity) {
            case .user(.max), .group(.max): continue
            case .everyone, .owner, .owningGroup, .nobody: throw CommandFailure("'\(escapedName(word))' is neither a user nor a group")
            case .user, .group, .other: return identity
            }
        }
        throw CommandFailure("no \(prefixed?.rawValue ?? "user or group") '\(escapedName(Array(name.utf8)))'")
    }
}

/// What a remap makes of each object.
private struct RemapChange: TreeChange {
    let old: GUID
    let new: GUID
    let changesOwners = true
    let needsListAbove = false

    func plan(
        _ object: MetObject, under list: ACL?, _ read: () throws(AttributeFailure) -> TreeState
    ) throws(LeftObject) -> PlannedChange {
        do throws(AttributeFailure) {
            let before = try read()
            let replaced = ImportChange(ignoring: [], identities: [old: new])
            let list = try before.list()
            var stated = ExportedObject(path: object.path, kind: object.kind)
            if owner(of: before) == old { stated.owner = old }
            if group(of: before) == old { stated.group = old }
            if let list, list.entries.contains(where: { $0.guid == old }) { stated.list = .entries(list) }
            if stated == ExportedObject(path: object.path, kind: object.kind) { return PlannedChange() }
            let after = try replaced.state(before, stated, object.kind, hasMark: false)
            return PlannedChange(states: (before, after), list: try after.list())
        } catch { throw .failure(error) }
    }

    private func owner(of state: TreeState) -> GUID? {
        if case .backing(let attributes) = state.store, let owner = (try? attributes.metadata())?.ownerGUID { return owner }
        return state.owners.map { $0.owner ?? GUID(user: $0.uid) }
    }

    private func group(of state: TreeState) -> GUID? {
        if case .backing(let attributes) = state.store, let group = (try? attributes.metadata())?.groupGUID { return group }
        return state.owners.map { $0.group ?? GUID(group: $0.gid) }
    }
}
