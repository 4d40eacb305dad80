import BackingStore
import LinuxSystem

/// What an offline change may change of a backing object: the bytes of its record and of its POSIX ACLs, and nine bits of its mode.
struct OfflineState: Hashable {
    /// Without the set-id bits and the sticky bit, which stay as they are.
    var mode: UInt16
    /// As docs/record-format.md has it.
    var record: [UInt8]?
    /// The value of `system.posix_acl_access`.
    var access: [UInt8]?
    /// The value of `system.posix_acl_default`.
    var standard: [UInt8]?

    static let accessName = "system.posix_acl_access"
    static let standardName = "system.posix_acl_default"
    static let modeBits: UInt16 = 0o777
}

/// The identity of an object across restarts: device numbers change, and inode numbers are reused.
struct OfflineIdentity: Hashable {
    var inode: UInt64
    /// nil where the file system keeps no time of birth.
    var born: Timespec?

    init(inode: UInt64, born: Timespec?) { (self.inode, self.born) = (inode, born) }

    init(_ status: FileStatus) { self.init(inode: status.inode, born: status.hasBirthTime ? status.btime : nil) }
}

/// Reads and changes the objects of a backing directory that no daemon serves.
struct OfflineFiles {
    /// The attribute of records.
    let recordName: String
    private let ownersAccess = OwnersAccess()

    init(recordName: String) { self.recordName = recordName }

    /// - Parameters:
    ///   - node: any descriptor of the object, which is no symlink.
    ///   - status: its status.
    func state(of node: SharedDescriptor, _ status: FileStatus) throws(Errno) -> OfflineState {
        var state = OfflineState(mode: UInt16(truncatingIfNeeded: status.mode) & OfflineState.modeBits)
        state.record = try value(recordName, of: node)
        state.access = try value(OfflineState.accessName, of: node)
        if status.isDirectory { state.standard = try value(OfflineState.standardName, of: node) }
        return state
    }

    /// - Returns: the value of an attribute; nil if there is none.
    func value(_ name: String, of node: SharedDescriptor) throws(Errno) -> [UInt8]? {
        do throws(Errno) { return try Syscall.getxattr(.any(node.rawValue), name) } catch {
            if error == .nodata || error == .opnotsupp { return nil }
            guard error == .acces else { throw error }
            // Names are listed without read permission, and then the mode stays as it is.
            guard try Syscall.listxattr(.any(node.rawValue)).contains(Array(name.utf8)) else { return nil }
        }
        return try ownersAccess.with(OwnersAccess.reading, on: node.rawValue) { () throws(Errno) in
            try Syscall.getxattr(.any(node.rawValue), name)
        }
    }

    /// Changes an object from one state to another. On the way, and if a call fails, its mode grants no more than before and after.
    /// - Parameters:
    ///   - node: any descriptor of it.
    ///   - old: the present state.
    ///   - new: the state that it gets.
    ///   - status: its present status.
    /// - Throws: the error of a call; the old state is restored then, as far as the system allows.
    func change(_ node: SharedDescriptor, from old: OfflineState, to new: OfflineState, _ status: FileStatus) throws(Errno) {
        let otherBits = status.mode & 0o7777 & ~UInt32(OfflineState.modeBits)
        var least = old.mode & new.mode
        // The group's bits are the mask with one list, and the owning group's with the other.
        if old.access != new.access { least &= ~0o070 }
        do throws(Errno) {
            if least != old.mode { try Syscall.fchmod(node.rawValue, mode: otherBits | UInt32(least)) }
            if old.access != nil, new.access == nil { try set(OfflineState.accessName, of: node, to: nil) }
            if old.record != new.record { try set(recordName, of: node, to: new.record) }
            // It sets bits of the mode as well.
            if new.access != nil, new.access != old.access { try set(OfflineState.accessName, of: node, to: new.access) }
            if old.standard != new.standard { try set(OfflineState.standardName, of: node, to: new.standard) }
            if least != old.mode || new.mode != least || old.access != new.access {
                try Syscall.fchmod(node.rawValue, mode: otherBits | UInt32(new.mode))
            }
        } catch {
            restore(node, old, otherBits)
            throw error
        }
        let after = try Syscall.statx(node.rawValue)
        // A file system may store less than it was told. An owner outside the group cannot keep the set-gid bit.
        guard try state(of: node, after) == new, after.mode == status.mode & ~UInt32(OfflineState.modeBits) | UInt32(new.mode) else {
            restore(node, old, otherBits)
            throw .io
        }
    }

    private func restore(_ node: SharedDescriptor, _ state: OfflineState, _ otherBits: UInt32) {
        try? set(recordName, of: node, to: state.record)
        try? set(OfflineState.accessName, of: node, to: state.access)
        try? set(OfflineState.standardName, of: node, to: state.standard)
        try? Syscall.fchmod(node.rawValue, mode: otherBits | UInt32(state.mode))
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
