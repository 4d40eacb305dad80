import ACLFormats
import Authorization
import LinuxSystem

/// What a command may change of an object, in the form in which its tree stores it.
struct TreeState: Hashable, Sendable {
    enum Store: Hashable, Sendable {
        /// On a mount: the list; nil = none.
        case list(ACL?)
        case backing(BackingAttributes)
    }

    /// Twelve bits with `owners`; else nine: set-id bits and the sticky bit stay as they are.
    var mode: UInt16
    /// nil for a command that does not change them.
    var owners: Owners?
    var store: Store
    /// nil for a command that does not change them. Only on a mount: a backing object has them in its record.
    var flags: FileFlags?

    static let permissionBits: UInt16 = 0o777
    static let setIDBits = ModeWriting.setIDBits

    /// The bits that `mode` may have.
    var modeBits: UInt16 { owners == nil ? Self.permissionBits : 0o7777 }

    /// The list.
    /// - Throws: the stored record is none.
    func list() throws(AttributeFailure) -> ACL? {
        switch store {
        case .list(let list): list
        case .backing(let attributes): try attributes.metadata().acl
        }
    }

    /// Whether owner and group are those of another state of the same kind, also where they are no numbers. False where that cannot be known.
    func hasOwners(of other: TreeState) -> Bool {
        guard owners == other.owners else { return false }
        guard case .backing(let own) = store, case .backing(let others) = other.store else { return true }
        guard let record = try? own.metadata(), let another = try? others.metadata() else { return false }
        return (record.ownerGUID, record.groupGUID) == (another.ownerGUID, another.groupGUID)
    }

    /// The same state with another list.
    func with(_ list: ACL?) throws(AttributeFailure) -> TreeState {
        var state = self
        switch store {
        case .list: state.store = .list(list)
        case .backing(var attributes):
            var record = try attributes.metadata()
            record.acl = list
            try attributes.set(record)
            state.store = .backing(attributes)
        }
        return state
    }
}

/// Owner and group of an object.
struct Owners: Hashable, Sendable {
    var uid: UInt32
    var gid: UInt32
    /// Of an owner that the uid does not imply. Only on a mount: a backing object has it in its record.
    var owner: GUID?
    var group: GUID?
}

/// The attributes of a backing object that commands change.
struct BackingAttributes: Hashable, Sendable {
    /// As docs/reference/record-format.md has it.
    var record: [UInt8]?
    /// The value of `system.posix_acl_access`.
    var access: [UInt8]?
    /// The value of `system.posix_acl_default`.
    var standard: [UInt8]?

    static let accessName = "system.posix_acl_access"
    static let standardName = "system.posix_acl_default"

    /// - Throws: the record is none.
    func metadata() throws(AttributeFailure) -> MetadataRecord {
        guard let record else { return MetadataRecord() }
        do { return try MetadataRecord(decoding: record) } catch { throw .record(error) }
    }

    /// - Throws: the list is too long.
    mutating func set(_ metadata: MetadataRecord) throws(AttributeFailure) {
        do { record = metadata.isEmpty ? nil : try metadata.encoded() } catch { throw .record(error) }
    }
}

/// The identity of an object across restarts: device numbers change, and inode numbers are reused.
struct TreeIdentity: Hashable, Sendable {
    var inode: UInt64
    /// nil where the file system keeps no time of birth.
    var born: Timespec?

    init(inode: UInt64, born: Timespec?) { (self.inode, self.born) = (inode, born) }

    init(_ status: FileStatus) { self.init(inode: status.inode, born: status.hasBirthTime ? status.btime : nil) }
}
