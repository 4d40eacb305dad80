import ACLFormats
import Authorization
import BackingStore
import LinuxSystem
import WireFormats

/// Why a POSIX ACL is left as it is.
enum PosixImportRefusal: Error {
    /// No entries mean the same.
    case translation(PosixRefusal, isDefault: Bool)
    case unreadable(isDefault: Bool)
    /// The record.
    case stored(String)
    case otherRecord(String)
    case noRecord(String)
    case hasEntries
    case hasInheritableEntries
    case emptyMask

    var message: String {
        switch self {
        case .translation(let refusal, let isDefault): "\(Self.which(isDefault)): \(refusal.message)"
        case .unreadable(let isDefault): "\(Self.which(isDefault)) is malformed"
        case .stored(let problem): problem
        case .otherRecord(let name): "it has a record in \(name); say with --metadata which of the two the mount uses"
        case .noRecord(let name): "only files and directories can have \(name)"
        case .hasEntries: "the access ACL: the object also has entries, which decide before it, and no one list means the same as both"
        case .hasInheritableEntries: "the default ACL: new objects also inherit entries of the directory; remove one or the other"
        case .emptyMask:
            "the access ACL: its mask is empty, and Linux gives those it names what others have; set a mask (setfacl -m m::r) or remove it (setfacl -b)"
        }
    }

    private static func which(_ isDefault: Bool) -> String { isDefault ? "the default ACL" : "the access ACL" }
}

/// What an import makes of one object.
struct PosixImportPlan {
    let after: TreeState
    /// The entries in the new record.
    let acl: ACL?

    /// - Parameters:
    ///   - present: the state of the object.
    ///   - status: its status.
    /// - Returns: nil if the object has no POSIX ACL that says more than its mode.
    /// - Throws: why it stays as it is.
    init?(_ present: TreeState, _ status: FileStatus, recordName: String) throws(PosixImportRefusal) {
        guard case .backing(var state) = present.store else { return nil }
        let mode = FileMode(rawValue: UInt16(truncatingIfNeeded: status.mode & 0o7777))
        let own = state.access.flatMap { PosixACL.decoding($0.span.bytes, groupBits: mode.rawValue >> 3 & 7) }
        if own == nil, state.standard == nil { return nil }
        let kind = ObjectKind(typeBits: status.mode)
        if recordName == "user.aclfs", kind != .file, kind != .directory { throw .noRecord(recordName) }
        var record = try Self.record(state)
        var facts = ObjectFacts(
            kind: kind, owner: status.uid, group: status.gid, mode: mode, flags: record.flags, acl: record.acl,
            ownerGUID: record.ownerGUID, groupGUID: record.groupGUID, posixACL: own)
        let forms = PosixForms(isOn: true)
        if let own {
            guard let list = PosixList(own, mode: mode) else { throw .unreadable(isDefault: false) }
            if facts.acl?.entries.contains(where: { !$0.flags.contains(.onlyInherit) }) == true { throw .hasEntries }
            if list.mask == 0, list.other != 0, !list.users.isEmpty || !list.groups.isEmpty { throw .emptyMask }
            do throws(PosixRefusal) {
                let change = try forms.setting(access: list, on: facts)
                (facts.acl, facts.mode, facts.posixACL) = (change.acl, change.mode, nil)
            } catch { throw .translation(error, isDefault: false) }
        }
        if let value = state.standard {
            let list = try Self.list(value)
            if facts.acl?.entries.contains(where: { !$0.flags.isDisjoint(with: [.fileInherit, .directoryInherit]) }) == true {
                throw .hasInheritableEntries
            }
            do throws(PosixRefusal) { facts.acl = try forms.setting(new: list, on: facts).acl } catch {
                throw .translation(error, isDefault: true)
            }
        }
        record.acl = facts.acl
        acl = facts.acl
        do { try state.set(record) } catch { throw .stored(error.message) }
        // A value that says no more than the mode stays.
        if own != nil { state.access = nil }
        state.standard = nil
        after = TreeState(mode: facts.mode.rawValue & TreeState.permissionBits, owners: nil, store: .backing(state))
    }

    private static func record(_ state: BackingAttributes) throws(PosixImportRefusal) -> MetadataRecord {
        do { return try state.metadata() } catch { throw .stored(error.message) }
    }

    private static func list(_ value: [UInt8]) throws(PosixImportRefusal) -> PosixList {
        do { return try PosixList(PosixWire.entries(value.span.bytes)) } catch { throw .unreadable(isDefault: true) }
    }
}
