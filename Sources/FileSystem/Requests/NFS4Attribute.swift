import Authorization
import BackingStore
import FuseSession
import Identity
import LinuxSystem
import WireFormats

// `system.nfs4_acl` and `system.nfs4_acl_xdr`: the list, and at its end the mode (docs/reference/nfs4.md). Every object has them. Names in the value
// are looked up without the metadata lock, because account databases may be slow.
extension XattrOperations {
    func nfs4Value(of id: NodeID, _ form: NFS4Form, _ caller: Caller) throws(Errno) -> [UInt8] {
        let facts = try readList(of: id, caller)
        do throws(NFS4Error) {
            return try NFS4Value.write(
                facts.acl, mode: facts.mode, isDirectory: facts.kind == .directory, as: form,
                names: WireAccountNames(accounts, judge.identities, for: caller.payer))
        } catch { throw refuse("reading", form, error, id, caller) }
    }

    /// XATTR_REPLACE succeeds on an object without a list, because reading shows its mode.
    func setNFS4(_ form: NFS4Form, of id: NodeID, to bytes: [UInt8], flags: Int32, _ caller: Caller) throws(Errno) {
        let list: (acl: ACL, permissions: UInt16?)
        let isDirectory = try loader.node(id).object.kind == .directory
        do throws(NFS4Error) {
            list = try NFS4Value(bytes, as: form, names: WireAccountNames(accounts, judge.identities, for: caller.payer)).divided(
                isDirectory: isDirectory)
        } catch { throw refuse("setting", form, error, id, caller) }
        _ = try change(id, flags, caller) { (NFS4Value.replacing(list.acl, over: $0, as: form), list.permissions) }
    }

    /// Sets list and mode.
    /// - Parameter divide: makes them for an object. A value without entries may stand for an empty list or for none: a list that is there
    ///   stays one.
    /// - Returns: why there is no such list.
    private func change(
        _ id: NodeID, _ flags: Int32, _ caller: Caller,
        _ divide: @escaping (ObjectFacts) throws(NFS4Error) -> (acl: ACL, permissions: UInt16?)
    ) throws(Errno) -> NFS4Error? {
        let plan = try metadata.plan(for: id) { facts in Result { () throws(NFS4Error) in try divide(facts) } }
        return try metadata.withMetadataLocked(id) { () throws(Errno) -> NFS4Error? in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            let facts = object.facts
            let list: (acl: ACL, permissions: UInt16?)
            do throws(NFS4Error) { list = try plan.result(for: facts).get() } catch { return error }
            let isNone = list.acl.entries.isEmpty && list.acl.listFlags == 0 && facts.acl?.entries.isEmpty != true
            let acl = isNone ? nil : list.acl
            if flags == XattrFlag.create {
                try judge.permit(.setACL(acl), Operands(object: object), caller, about: object)
                throw .exist
            }
            try metadata.changeACL(object, to: acl, permissions: list.permissions, caller)
            return nil
        }
    }

    private func refuse(_ action: String, _ form: NFS4Form, _ error: NFS4Error, _ id: NodeID, _ caller: Caller) -> Errno {
        refuse("\(action) \(form == .named ? "system.nfs4_acl" : "system.nfs4_acl_xdr")", error.message, id, caller)
    }

    /// Tells the administrator why a value is refused.
    func refuse(_ action: String, _ reason: String, _ id: NodeID, _ caller: Caller) -> Errno {
        var descriptor: SharedDescriptor?
        if let node = try? loader.node(id) { descriptor = try? loader.tree.descriptor(of: node.object) }
        refusals.note(action, reason, by: caller, on: descriptor?.rawValue)
        return .inval
    }
}

// `system.nfs4_acl_smb`: the same for Samba (docs/guide/samba.md).
extension XattrOperations {
    private static let smbName = "system.nfs4_acl_smb"

    func smbValue(of id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        let facts = try readList(of: id, caller)
        do throws(NFS4Error) { return try SMBValue(facts).bytes() } catch {
            throw refuse("reading \(Self.smbName)", error.message, id, caller)
        }
    }

    func setSMB(of id: NodeID, to bytes: [UInt8], flags: Int32, _ caller: Caller) throws(Errno) {
        let value: SMBValue
        do throws(NFS4Error) { value = try SMBValue(bytes, names: WireAccountNames(accounts, judge.identities, for: caller.payer)) } catch {
            throw refuse("setting \(Self.smbName)", error.message, id, caller)
        }
        let wrong = try change(id, flags, caller) { (facts) throws(NFS4Error) in
            let list = try value.divided(over: facts)
            return (list.acl, list.permissions)
        }
        if let wrong { throw refuse("setting \(Self.smbName)", wrong.message, id, caller) }
    }
}
