import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem

// `system.aclfs.owner` and `system.aclfs.group`: who owns an object, as an identity (docs/identity.md).

/// What may be set as an owner: a user by number, or an identity that is no user, such as a group (Q5).
enum Owner {
    case user(UInt32)
    case identity(GUID)

    /// - Throws: `inval` for what is no UUID and for identities that only mean whoever owns the object already.
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

/// What may be set as an object's group: a group by number, or an identity without a number; no user.
enum OwningGroup {
    case group(UInt32)
    case identity(GUID)

    /// - Throws: as for `Owner`, and for users.
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
            try changeIdentity(of: object, uid: nil, gid: ObjectFacts.notAnID) { $0.groupGUID = guid }
        }
    }

    /// Back to the owner that the uid implies: "not a user" after a group was set, whom only root can follow.
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

    /// After a change, which may be half done; nil if it cannot be told. On a mount that one user alone reaches, it
    /// matters to whom an object belongs.
    private func currentFacts(of object: ObjectState) -> ObjectFacts? {
        guard let node = object.node, let current = try? loader.load(node) else { return nil }
        return current.facts
    }

    /// Like every chown it clears the set-id bits first. While the number says "not a user" and the record does
    /// not name the new owner yet, the object is nobody's. `noowners` discards the change (Q1).
    private func changeIdentity(
        of object: ObjectState, uid: UInt32? = nil, gid: UInt32? = nil, _ change: (inout MetadataRecord) -> Void
    ) throws(Errno) {
        try changeThenInvalidate(object) { () throws(Errno) in
            try held.makeCall(on: object) { () throws(Errno) in try makeIdentityCalls(for: object, uid: uid, gid: gid, change) }
        }
    }

    /// Tells the kernel of a change, which may be half done.
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
        if changesNumber { try Syscall.fchown(descriptor, uid: uid ?? .max, gid: gid ?? .max) }
        do { try loader.tree.write(record, to: descriptor) } catch {
            // No room for the record, say: it stays whose it was.
            if changesNumber { try? Syscall.fchown(descriptor, uid: facts.owner, gid: facts.group) }
            throw error
        }
        if changesNumber, facts.kind != .symlink {
            try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue))
        }
    }
}
