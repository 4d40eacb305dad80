import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem

// `system.aclfs.owner` and `system.aclfs.group`: owner and group of an object, as identities (docs/reference/identity.md).

/// An owner that may be set: a user by number, or an identity that is no user, such as a group (Q5).
enum Owner {
    case user(UInt32)
    case identity(GUID)

    /// - Parameter text: a UUID.
    /// - Throws: `inval` for another text, and for identities that are relative to the object, such as its owner.
    init(text: UnsafeRawBufferPointer) throws(Errno) {
        guard let guid = GUID(uuidText: text) else { throw .inval }
        switch Principal(guid) {
        case .user(let uid) where uid != .max: self = .user(uid)
        case .group(.max): throw .inval
        case .group, .other, .nobody: self = .identity(guid)
        case .user, .everyone, .owner, .owningGroup: throw .inval
        }
    }
}

/// A group that may be set: a group by number, or an identity without a number; no user.
enum OwningGroup {
    case group(UInt32)
    case identity(GUID)

    /// - Parameter text: a UUID.
    /// - Throws: `inval` as `Owner` does, and for users.
    init(text: UnsafeRawBufferPointer) throws(Errno) {
        guard let guid = GUID(uuidText: text) else { throw .inval }
        switch Principal(guid) {
        case .group(let gid) where gid != .max: self = .group(gid)
        case .other, .nobody: self = .identity(guid)
        case .group, .user, .everyone, .owner, .owningGroup: throw .inval
        }
    }
}

extension MetadataChanges {
    func ownerText(_ facts: ObjectFacts) -> [UInt8] {
        Array((facts.ownerGUID ?? GUID(user: facts.owner)).uuidText.utf8)
    }

    func groupText(_ facts: ObjectFacts) -> [UInt8] {
        Array((facts.groupGUID ?? GUID(group: facts.group)).uuidText.utf8)
    }

    func changeOwner(of object: ObjectState, to owner: Owner, _ caller: Caller) throws(Errno) {
        switch owner {
        case .user(let uid):
            try judge.permit(.chown(uid: uid, gid: nil), Operands(object: object), caller, about: object)
            try changeThenInvalidate(object) { () throws(Errno) in try changeIDs(of: object, uid: uid, gid: nil) }
        case .identity(let guid):
            try judge.permit(.setOwner(guid), Operands(object: object), caller, about: object)
            try requireNumber("the owner", object, caller)
            try changeIdentity(of: object, uid: ObjectFacts.notAnID, gid: nil) { $0.ownerGUID = guid }
        }
    }

    func changeGroup(of object: ObjectState, to group: OwningGroup, _ caller: Caller) throws(Errno) {
        switch group {
        case .group(let gid):
            try judge.permit(.chown(uid: nil, gid: gid), Operands(object: object), caller, about: object)
            try changeThenInvalidate(object) { () throws(Errno) in try changeIDs(of: object, uid: nil, gid: gid) }
        case .identity(let guid):
            try judge.permit(.setGroup(guid), Operands(object: object), caller, about: object)
            try requireNumber("the group", object, caller)
            try changeIdentity(of: object, uid: nil, gid: ObjectFacts.notAnID) { $0.groupGUID = guid }
        }
    }

    /// - Throws: `inval` if the file system does not store the number of an identity that has none.
    private func requireNumber(_ what: String, _ object: ObjectState, _ caller: Caller) throws(Errno) {
        if loader.tree.storesNotAnID(on: object.status.device) { return }
        refusals.note(
            "setting \(what)", "the server of SOURCE does not store \(ObjectFacts.notAnID), which stands for an identity without a number",
            by: caller, on: object.descriptor.rawValue)
        throw .inval
    }

    /// Changes the numbers of owner and group.
    /// - Throws: they are as before, as far as a server of the file system allows.
    func changeNumbers(of object: ObjectState, uid: UInt32?, gid: UInt32?) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        do throws(Errno) { try Syscall.fchown(descriptor, uid: uid ?? .max, gid: gid ?? .max) } catch {
            if loader.tree.hasSharedFileSystem { try? Syscall.fchown(descriptor, uid: object.status.uid, gid: object.status.gid) }
            throw error
        }
    }

    /// Removes the stored owner: the uid decides again. After a group was the owner, the uid means "not a user", and only root has access.
    func removeOwnerGUID(of object: ObjectState, _ caller: Caller) throws(Errno) {
        try judge.permit(.setOwner(nil), Operands(object: object), caller, about: object)
        if object.facts.ownerGUID == nil { throw .nodata }
        try changeIdentity(of: object) { $0.ownerGUID = nil }
    }

    func removeGroupGUID(of object: ObjectState, _ caller: Caller) throws(Errno) {
        try judge.permit(.setGroup(nil), Operands(object: object), caller, about: object)
        if object.facts.groupGUID == nil { throw .nodata }
        try changeIdentity(of: object) { $0.groupGUID = nil }
    }

    /// The facts after a change, which may be incomplete; nil if unknown. They are read anew, because on a mount with one user universal
    /// rights depend on the owner.
    private func currentFacts(of object: ObjectState) -> ObjectFacts? {
        guard let node = object.node, let current = try? loader.load(node) else { return nil }
        return current.facts
    }

    /// Changes the stored identity of owner or group, and the number that goes with it. Like every chown, clears the set-id bits first.
    /// Between number and record the object has no owner. `noowners` discards the change (Q1).
    private func changeIdentity(
        of object: ObjectState, uid: UInt32? = nil, gid: UInt32? = nil, _ change: (inout MetadataRecord) -> Void
    ) throws(Errno) {
        try changeThenInvalidate(object) { () throws(Errno) in
            try held.makeCall(on: object) { () throws(Errno) in try makeIdentityCalls(for: object, uid: uid, gid: gid, change) }
        }
    }

    /// Makes a change and invalidates the kernel's caches, even if the change is incomplete.
    private func changeThenInvalidate(_ object: ObjectState, _ change: () throws(Errno) -> Void) throws(Errno) {
        do throws(Errno) { try change() } catch {
            if error != .mayBeHeld { kernel.invalidate(object, after: currentFacts(of: object)) }
            throw error
        }
        kernel.invalidate(object, after: currentFacts(of: object))
    }

    private func makeIdentityCalls(
        for object: ObjectState, uid: UInt32?, gid: UInt32?, _ change: (inout MetadataRecord) -> Void
    ) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        let facts = object.facts
        let mode = facts.mode.subtracting([.setUser, .setGroup])
        if mode != facts.mode { try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue)) }
        if judge.volume.ignoresOwnership { return try removeCapabilitiesOfFile(object) }
        var record = try loader.tree.record(descriptor)
        change(&record)
        let changesNumber = uid != nil || gid != nil
        if changesNumber { try changeNumbers(of: object, uid: uid, gid: gid) }
        do { try loader.tree.write(record, to: descriptor) } catch {
            // For example, there is no space for the record: restore the number.
            if changesNumber { try? Syscall.fchown(descriptor, uid: facts.owner, gid: facts.group) }
            throw error
        }
        if changesNumber, facts.kind != .symlink {
            try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue))
        }
    }
}
