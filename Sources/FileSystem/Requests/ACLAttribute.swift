import ACLFormats
import Authorization
import BackingStore
import ControlProtocol
import FuseSession
import LinuxSystem

// `system.aclfs.acl`. Names in the text are looked up without the metadata lock, because account databases may be slow.
extension XattrOperations {
    func aclText(of id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        let facts = try readList(of: id, caller)
        guard let acl = facts.acl else { throw .nodata }
        return ACLAttributeText.write(
            acl, isDirectory: facts.kind == .directory, names: accounts.identityNames(judge.identities, for: caller.payer))
    }

    /// The facts of an object whose list the caller may read.
    func readList(of id: NodeID, _ caller: Caller) throws(Errno) -> ObjectFacts {
        try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            try judge.permit(.readACL, Operands(object: object), caller, about: object)
            return object.facts
        }
    }

    func setACL(of id: NodeID, to value: UnsafeRawBufferPointer, flags: Int32, _ caller: Caller) throws(Errno) {
        let isDirectory = try loader.node(id).object.kind == .directory
        let acl: ACL
        do {
            acl = try ACLAttributeText.parse(
                Array(value), names: accounts.identityNames(judge.identities, for: caller.payer), isDirectory: isDirectory)
        } catch { throw .inval }
        try metadata.withMetadataLocked(id) { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            // These flags reveal whether there is a list, so the caller must be allowed to set one first.
            if flags != 0 { try judge.permit(.setACL(acl), Operands(object: object), caller, about: object) }
            if flags == XattrFlag.create, object.facts.acl != nil { throw .exist }
            if flags == XattrFlag.replace, object.facts.acl == nil { throw .nodata }
            try metadata.changeACL(object, to: acl, caller)
        }
    }
}

// `system.aclfs.exchange` (docs/reference/control.md "A change of what was read"): what a program has read goes with its change.
extension XattrOperations {
    /// The list as a record, also where there is none.
    func exchangeValue(of id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        let acl = try readList(of: id, caller).acl
        do { return try ExchangeRequest.value(of: acl) } catch { throw .io }
    }

    /// - Throws: `canceled` if the list is another one than the caller has read: nothing is changed.
    func exchange(of id: NodeID, _ value: UnsafeRawBufferPointer, _ caller: Caller) throws(Errno) {
        guard let request = ExchangeRequest(reading: value) else { throw .inval }
        switch request.change {
        case .list(let read, let new):
            try metadata.withMetadataLocked(id) { () throws(Errno) in
                let object = try loader.load(id)
                try held.requireNoOtherChange(of: object)
                // The answer says whether the list is `read`.
                try judge.permit(.readACL, Operands(object: object), caller, about: object)
                guard object.facts.acl == read else {
                    try judge.permit(.setACL(new), Operands(object: object), caller, about: object)
                    throw .canceled
                }
                try metadata.changeACL(object, to: new, caller)
            }
        case .flags(let set, let clear): try changeFlags(of: id, set: set, clear: clear, caller)
        case .lift(let flags):
            if share.hasSeveralMounts { throw .txtbsy }
            try changeFlags(of: id, set: [], clear: flags, caller)
        }
    }

    private func changeFlags(of id: NodeID, set: FileFlags, clear: FileFlags, _ caller: Caller) throws(Errno) {
        func changed(_ flags: FileFlags) -> FileFlags { flags.union(set).subtracting(clear) }
        let isExcluded = try metadata.isExcludedByLocation(loader.node(id), changing: changed, caller)
        try metadata.withMetadataLocked(id) { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            try metadata.changeFlags(object, to: changed(metadata.markedFlags(object)), isExcluded: isExcluded, caller)
        }
    }
}
