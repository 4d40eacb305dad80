import ACLFormats
import Authorization
import BackingStore
import LinuxSystem

/// What an import makes of the object that it found last.
final class ImportChange: TreeChange {
    let changesOwners = true
    let changesFlags = true
    let needsListAbove = false
    private let ignored: Set<ExportProperty>
    /// Whether files get set-id bits that they do not have.
    let setsID: Bool
    /// The identities of this host for those of the export.
    private let identities: [GUID: GUID]
    private let stated = Lock<ExportedObject?>(nil)

    init(ignoring ignored: Set<ExportProperty>, identities: [GUID: GUID], setsID: Bool = false) {
        (self.ignored, self.identities, self.setsID) = (ignored, identities, setsID)
    }

    /// Sets what the next object becomes.
    func state(_ object: ExportedObject) { stated.withLock { $0 = object } }

    func plan(
        _ object: MetObject, under list: ACL?, _ read: () throws(AttributeFailure) -> TreeState
    ) throws(LeftObject) -> PlannedChange {
        guard let stated = stated.withLock({ $0 }) else { return PlannedChange() }
        guard stated.kind == object.kind else {
            throw .reason("is a \(object.kind.exportWord), and the export states a \(stated.kind.exportWord)")
        }
        do throws(AttributeFailure) {
            let before = try read()
            if case .backing(let attributes) = before.store, attributes.access != nil || attributes.standard != nil {
                throw LeftReason.posix
            }
            let marked = before.isOnMount ? false : try Self.hasMark(object)
            let after = try state(before, stated, object.kind, hasMark: marked)
            let own = try before.list()
            let isProtected = own?.isProtected == true && !ignored.contains(.acl) && stated.list.map { !$0.isProtected } ?? false
            let isWithout = ignored.contains(.mode) || (stated.mode?.rawValue ?? 0) & TreeState.setIDBits & ~after.mode == 0
            return PlannedChange(
                states: (before, after), list: try after.list(),
                lacks: isWithout || object.kind == .symlink ? isProtected ? Self.lackedEntries : nil : Self.lackedBits)
        } catch {
            if case .noEffect(let text) = error { throw .reason(text) }
            throw .failure(error)
        }
    }

    private static let lackedEntries =
        "its list carries no_inherit: it keeps the mark and gets no inherited entries; aclfs chmod -N removes list and mark"
    private static let lackedBits = "its set-id bits are left out: another file may have its name by now; --set-id sets them"

    /// Reasons that are no failures of the system.
    private enum LeftReason {
        static let posix = AttributeFailure.noEffect("it has a POSIX ACL; aclfs acl import --posix turns it into entries")
        static let mark = AttributeFailure.noEffect(
            "an attribute excludes it from backups; aclfs backup include removes it, on a mount")
    }

    // MARK: The new state

    /// - Parameter hasMark: whether an attribute beside the record excludes the object from backups.
    func state(_ before: TreeState, _ stated: ExportedObject, _ kind: ObjectKind, hasMark: Bool) throws(AttributeFailure) -> TreeState {
        var after = before
        var keepsOwners = true
        if case .backing(var attributes) = before.store {
            var record = try attributes.metadata()
            try setFlags(&record.flags, stated, hasMark: hasMark)
            let owners = (record.ownerGUID, record.groupGUID)
            setOwners(&after, stated, &record.ownerGUID, &record.groupGUID)
            keepsOwners = owners == (record.ownerGUID, record.groupGUID)
            try attributes.set(record)
            after.store = .backing(attributes)
        } else {
            var (owner, group) = (before.owners?.owner, before.owners?.group)
            setOwners(&after, stated, &owner, &group)
            after.owners?.owner = owner
            after.owners?.group = group
            if var flags = before.flags {
                try setFlags(&flags, stated, hasMark: false)
                after.flags = flags
            }
        }
        keepsOwners = keepsOwners && after.owners == before.owners
        if let mode = stated.mode, !ignored.contains(.mode), kind != .symlink {
            after.mode = mode.rawValue
            // The user who wrote the file would have a program that runs as its new owner.
            if !setsID, kind != .directory { after.mode &= ~TreeState.setIDBits | (keepsOwners ? before.mode : 0) }
        } else if !keepsOwners, kind != .symlink {
            // As every change of an owner does (docs/reference/authorization.md 6.3).
            after.mode &= ~TreeState.setIDBits
        }
        guard let list = stated.list, !ignored.contains(.acl) else { return after }
        // Inherited entries of an export are those of another place (docs/reference/authorization.md Q25).
        let isProtected = try before.list()?.isProtected == true && !list.isProtected
        switch list {
        case .none: return try after.with(isProtected ? ACL([], listFlags: ACL.noInherit) : nil)
        case .entries(var acl):
            for index in acl.entries.indices { acl.entries[index].guid = here(acl.entries[index].guid) }
            if isProtected {
                acl = acl.withoutInheritedEntries
                acl.listFlags |= ACL.noInherit
            }
            return try after.with(acl)
        }
    }

    private func here(_ identity: GUID) -> GUID { identities[identity] ?? identity }

    /// An identity without a number is stored, and the number means "none".
    private func setOwners(_ state: inout TreeState, _ stated: ExportedObject, _ ownerGUID: inout GUID?, _ groupGUID: inout GUID?) {
        guard var owners = state.owners else { return }
        if let owner = stated.owner.map(here), !ignored.contains(.owner), owner != ownerGUID ?? GUID(user: owners.uid) {
            if case .user(let uid) = Principal(owner), uid != .max {
                owners.uid = uid
                ownerGUID = nil
            } else {
                owners.uid = ObjectFacts.notAnID
                ownerGUID = owner
            }
        }
        if let group = stated.group.map(here), !ignored.contains(.group), group != groupGUID ?? GUID(group: owners.gid) {
            if case .group(let gid) = Principal(group), gid != .max, GUID(group: gid) == group {
                owners.gid = gid
                groupGUID = nil
            } else {
                owners.gid = ObjectFacts.notAnID
                groupGUID = group
            }
        }
        state.owners = owners
    }

    private func setFlags(_ flags: inout FileFlags, _ stated: ExportedObject, hasMark: Bool) throws(AttributeFailure) {
        var new = flags
        if let stated = stated.flags, !ignored.contains(.flags) {
            // No call sets the synthetic bits.
            new = stated.subtracting(.synthetic).union(flags.intersection(.synthetic.union(.noDump)))
        }
        if let isExcluded = stated.isExcluded, !ignored.contains(.backup), isExcluded != (flags.contains(.noDump) || hasMark) {
            if !isExcluded, hasMark { throw LeftReason.mark }
            if isExcluded { new.insert(.noDump) } else { new.remove(.noDump) }
        }
        flags = new
    }

    private static func hasMark(_ object: MetObject) throws(AttributeFailure) -> Bool {
        do throws(Errno) {
            let files = LinuxFiles()
            let present: [[UInt8]]
            do throws(Errno) { present = try files.attributeNames(of: object.node) } catch {
                if error == .opnotsupp { return false }
                throw error
            }
            for mark in BackupMark.allCases where present.contains(mark.storedName) {
                if let value = try files.stored(String(decoding: mark.storedName, as: UTF8.self), of: object.node), mark.excludes(value) {
                    return true
                }
            }
            return false
        } catch { throw .system(error) }
    }
}

extension ExportedList {
    fileprivate var isProtected: Bool { if case .entries(let acl) = self { acl.isProtected } else { false } }
}

extension TreeState {
    fileprivate var isOnMount: Bool { if case .list = store { true } else { false } }
}
