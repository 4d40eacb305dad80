import ACLFormats
import Authorization
import Identity
import LinuxSystem

/// A preset for one directory.
struct PresetPlan {
    let preset: Preset
    let change: PresetChange
    /// The directory afterwards.
    let facts: ObjectFacts
    /// For texts, as the system names them.
    let ownerName: String
    let groupName: String
    let outlook: PresetOutlook
    /// Entries that the directory inherits now.
    let inherited: ACL

    /// - Parameter word: a group by name or number; nil: the directory's.
    init(_ preset: Preset, _ tree: any ChangeableTree, _ operand: [UInt8], group word: String?) throws(CommandFailure) {
        self.preset = preset
        let tools = TreeTools()
        let state: TreeState
        var owners: Owners
        let old: ACL?
        do throws(AttributeFailure) {
            state = try tree.state(of: tree.top, tree.status, owners: true, tools)
            owners = state.owners ?? Owners(uid: tree.status.uid, gid: tree.status.gid)
            if case .backing(let attributes) = state.store {
                let record = try attributes.metadata()
                (owners.owner, owners.group) = (record.ownerGUID, record.groupGUID)
            }
            old = try state.list()
        } catch { throw CommandFailure("\(escapedName(operand)): \(tree.message(error, isChange: false, tree.top, tree.status, tools))") }
        let owner = owners.owner ?? GUID(user: owners.uid)
        let gid = try word.map { (word) throws(CommandFailure) in try Self.group(word) }
        let group = gid.map { GUID(group: $0) } ?? owners.group ?? GUID(group: owners.gid)
        let people = Preset.People(owner: owner.uuidText, group: group.uuidText, isGroupNamed: gid != nil)
        do { change = PresetChange(entries: try preset.list(people), mode: preset.mode) } catch {
            throw CommandFailure("the entries of \(preset.rawValue): \(error.message)")
        }
        facts = ObjectFacts(
            kind: .directory, owner: owners.uid, group: owners.gid, mode: FileMode(rawValue: preset.mode), acl: change.list(over: old),
            ownerGUID: owners.owner, groupGUID: owners.group)
        inherited = ACL((old?.entries ?? []).filter { $0.flags.contains(.inherited) })
        outlook = PresetOutlook(facts, group: gid ?? owners.gid)
        ownerName = tools.names.name(of: owner)?.name ?? "\(owners.uid)"
        groupName = tools.names.name(of: group)?.name ?? "\(gid ?? owners.gid)"
    }

    /// Whether the directory has the entries and the mode of the preset.
    func isInForce(on tree: any ChangeableTree) -> Bool {
        let tools = TreeTools()
        guard let status = try? Syscall.statx(tree.top.rawValue),
            let state = try? tree.state(of: tree.top, status, owners: false, flags: false, tools), let list = try? state.list()
        else { return false }
        return state.mode == change.mode && list == facts.acl
    }

    private static func group(_ word: String) throws(CommandFailure) -> UInt32 {
        if let known = try? AccountDatabase.group(named: word) { return known.gid }
        if let number = UInt32(word), number != .max { return number }
        throw CommandFailure("--group: there is no group '\(escapedName(word.utf8))'")
    }
}
