import Authorization
import BackingStore
import LinuxSystem

/// Reads and changes the objects of a backing directory that no daemon serves.
struct OfflineFiles: Sendable {
    /// The attribute of records.
    let recordName: String
    private let ownersAccess = OwnersAccess()

    init(recordName: String) { self.recordName = recordName }

    /// - Parameters:
    ///   - node: any descriptor of the object.
    ///   - status: its status.
    ///   - owners: whether the state has owner and group.
    func state(of node: SharedDescriptor, _ status: FileStatus, owners: Bool) throws(Errno) -> TreeState {
        var attributes = BackingAttributes()
        attributes.record = try value(recordName, of: node)
        // Symlinks have no POSIX ACLs.
        if !status.isSymlink { attributes.access = try value(BackingAttributes.accessName, of: node) }
        if status.isDirectory { attributes.standard = try value(BackingAttributes.standardName, of: node) }
        var state = TreeState(
            mode: 0, owners: owners ? Owners(uid: status.uid, gid: status.gid) : nil, store: .backing(attributes))
        state.mode = UInt16(truncatingIfNeeded: status.mode) & state.modeBits
        return state
    }

    /// - Returns: the value of an attribute; nil if there is none.
    func value(_ name: String, of node: SharedDescriptor) throws(Errno) -> [UInt8]? {
        do throws(Errno) { return try ownersAccess.value(name, of: node.rawValue) } catch {
            if error == .nodata || error == .opnotsupp { return nil }
            throw error
        }
    }

    /// Changes an object from one state to another. On the way, and if a call fails, its mode grants no more than before and after.
    /// - Parameters:
    ///   - node: any descriptor of it.
    ///   - old: the present state.
    ///   - new: the state that it gets.
    ///   - status: its present status.
    ///   - setsID: whether a file gets set-id bits that it does not have.
    /// - Returns: the set-id bits that were left out.
    /// - Throws: `canceled` if it has another state by now, `busy` if another program holds it for long; the error of a call: the old state is
    ///   restored then, as far as the system allows, but for set-id bits.
    func change(
        _ node: SharedDescriptor, from old: TreeState, to new: TreeState, _ status: FileStatus, setsID: Bool
    ) throws(Errno) -> UInt16 {
        guard case .backing(let before) = old.store, case .backing(let after) = new.store else { throw .inval }
        let lock = try ObjectLock(node, status)
        defer { lock.release() }
        guard try state(of: node, Syscall.statx(node.rawValue), owners: old.owners != nil) == old else { throw .canceled }
        var left: UInt16
        do throws(Errno) { left = try makeCalls(node, old, before, new, after, status, setsID) } catch {
            restore(node, old, before, status)
            throw error
        }
        let present = try Syscall.statx(node.rawValue)
        // A write has cleared them since.
        if status.isRegular {
            left |= UInt16(truncatingIfNeeded: ~present.mode) & ModeWriting.setIDBits & (new.mode | UInt16(otherBits(status, new) & 0o7777))
        }
        var expected = new
        expected.mode &= ~left
        // A file system may store less than it was told. An owner outside the group cannot keep the set-gid bit of a directory.
        guard try state(of: node, present, owners: new.owners != nil) == expected,
            present.mode & ~UInt32(new.modeBits) == otherBits(status, new) & ~UInt32(left)
        else {
            restore(node, old, before, status)
            throw .io
        }
        return left
    }

    /// The type, and the bits that stay as they are.
    private func otherBits(_ status: FileStatus, _ state: TreeState) -> UInt32 { status.mode & ~UInt32(state.modeBits) }

    private func makeCalls(
        _ node: SharedDescriptor, _ old: TreeState, _ before: BackingAttributes, _ new: TreeState, _ after: BackingAttributes,
        _ status: FileStatus, _ setsID: Bool
    ) throws(Errno) -> UInt16 {
        let otherBits = UInt16(otherBits(status, new) & 0o7777)
        let ownersChange = new.owners != nil && new.owners != old.owners
        var least = old.mode & new.mode
        // The group's bits are the mask with one list, and the owning group's with the other.
        if before.access != after.access { least &= ~0o070 }
        // The new owner has no set-id bits of the old one.
        if new.owners != nil, !new.hasOwners(of: old) { least &= ~TreeState.setIDBits }
        if status.isSymlink { least = old.mode }
        var left: UInt16 = 0
        if least != old.mode { left = try ModeWriting.set(otherBits | least, of: node, SetIDClaim(uid: status.uid, gid: status.gid)) }
        if let owners = new.owners, ownersChange { try Syscall.fchown(node.rawValue, uid: owners.uid, gid: owners.gid) }
        if before.access != nil, after.access == nil { try set(BackingAttributes.accessName, of: node, to: nil) }
        if before.record != after.record { try set(recordName, of: node, to: after.record) }
        // It sets bits of the mode as well.
        if after.access != nil, after.access != before.access { try set(BackingAttributes.accessName, of: node, to: after.access) }
        if before.standard != after.standard { try set(BackingAttributes.standardName, of: node, to: after.standard) }
        // A chown may clear bits, of files with set-id bits by the kernel.
        if !status.isSymlink, least != old.mode || new.mode != least || before.access != after.access || ownersChange {
            var claim = SetIDClaim(uid: new.owners?.uid ?? status.uid, gid: new.owners?.gid ?? status.gid)
            if setsID { claim.asked = new.mode & ModeWriting.setIDBits }
            left = try ModeWriting.set(otherBits | new.mode, of: node, claim)
        }
        return left
    }

    private func restore(_ node: SharedDescriptor, _ state: TreeState, _ attributes: BackingAttributes, _ status: FileStatus) {
        try? set(recordName, of: node, to: attributes.record)
        if let owners = state.owners, let now = try? Syscall.statx(node.rawValue), (now.uid, now.gid) != (owners.uid, owners.gid) {
            try? Syscall.fchown(node.rawValue, uid: owners.uid, gid: owners.gid)
        }
        if status.isSymlink { return }
        try? set(BackingAttributes.accessName, of: node, to: attributes.access)
        if status.isDirectory { try? set(BackingAttributes.standardName, of: node, to: attributes.standard) }
        guard let now = try? Syscall.statx(node.rawValue), (now.uid, now.gid) == (status.uid, status.gid), now.mode != status.mode else {
            return
        }
        _ = try? ModeWriting.set(
            UInt16(truncatingIfNeeded: status.mode) & 0o7777, of: node, SetIDClaim(uid: status.uid, gid: status.gid))
    }

    private func set(_ name: String, of node: SharedDescriptor, to value: [UInt8]?) throws(Errno) {
        do throws(Errno) {
            try ownersAccess.with(OwnersAccess.writing, on: node.rawValue) { () throws(Errno) in
                if let value {
                    try Syscall.setxattr(.any(node.rawValue), name, value)
                } else {
                    try Syscall.removexattr(.any(node.rawValue), name)
                }
            }
        } catch {
            if value == nil, error == .nodata || error == .opnotsupp { return }
            throw error
        }
    }
}
