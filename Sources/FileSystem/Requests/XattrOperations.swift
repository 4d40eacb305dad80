import ACLFormats
import Authorization
import BackingStore
import FuseSession
import Identity
import LinuxSystem
import MountOptions
import SandboxPolicy

extension XattrName {
    init(_ name: UnsafePointer<CChar>) {
        self.init(Array(name.bytes))
    }
}

/// Requests about extended attributes, including those that aclfs defines: lists, flags, owners, backup marks.
final class XattrOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let gaps: GapReservations
    let metadata: MetadataChanges
    let options: MountOptions
    let accounts: AccountService
    let refusals: ValueRefusals

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, gaps: GapReservations,
        metadata: MetadataChanges, options: MountOptions, accounts: AccountService, refusals: ValueRefusals
    ) {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.gaps, self.metadata, self.options, self.accounts) = (
            loader, judge, kernel, held, share, gaps, metadata, options, accounts
        )
        self.refusals = refusals
    }
}

extension XattrOperations {
    /// Whether a removal of capabilities succeeds without effect: the kernel sends it in a user's name before a change. That change is judged
    /// by itself and removes them; if it is denied, the file keeps them.
    private func leavesToChange(_ name: XattrName, of object: ObjectFacts, _ caller: Caller) -> Bool {
        name.isCapabilities && !judge.holds(.setfcap, over: object, caller)
    }

    /// Whether the caller may not set the attribute, whatever entries grant.
    private func isForbidden(_ name: XattrName, _ object: ObjectState, _ caller: Caller) -> Bool {
        !judge.holds(name.isCapabilities ? .setfcap : .sysAdmin, over: object.facts, caller)
    }

    func getXattr(_ id: NodeID, _ name: UnsafePointer<CChar>, _ caller: Caller) throws(Errno) -> [UInt8] {
        let kind = XattrName(name)
        if kind == .acl { return try aclText(of: id, caller) }
        if case .posixACL(let isDefault) = kind { return try posixACL(isDefault: isDefault, of: id, caller) }
        if kind == .portableACL { return try portableText(of: id, caller) }
        if case .nfs4(let form) = kind { return try nfs4Value(of: id, form, caller) }
        if kind == .smbACL { return try smbValue(of: id, caller) }
        if kind == .lists { return try metadata.outcomesOfLists(in: id, caller) }
        if kind == .exchange { return try exchangeValue(of: id, caller) }
        if kind == .flags { return Array(FileFlagsText.attribute(try metadata.visibleFlags(of: loader.node(id), caller)).utf8) }
        // No object has one, so there is nothing to read or to judge.
        if kind == .unsupported {
            _ = try loader.node(id)
            throw .opnotsupp
        }
        return try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            let operands = Operands(object: object)
            switch kind {
            case .ownerGUID:
                try judge.permit(.readFlags, operands, caller, about: object)
                return metadata.ownerText(object.facts)
            case .groupGUID:
                try judge.permit(.readFlags, operands, caller, about: object)
                return metadata.groupText(object.facts)
            case .effective: return effectiveRights(object, caller)
            case .protected:
                try judge.permit(.setXattr(isProtected: true), operands, caller, about: object)
                throw .perm
            case .backup(let mark): return try metadata.getBackupMark(mark, of: object, caller)
            case .user(let stored), .trusted(let stored):
                try judge.permit(.getXattr, operands, caller, about: object)
                return try read(stored, object)
            case .security(let stored):
                // `ls -l` reads the label of everything it lists, and other file systems never deny that. A caller without the right gets
                // the answer for an absent attribute, whether there is one or not (docs/decisions/0004-readings.md).
                let absent: Errno = AbsentAttributes(stored) == .label ? .opnotsupp : .nodata
                do throws(Errno) {
                    try judge.permit(.getXattr, operands, caller, about: object)
                    return try readUnlessAbsent(stored, object)
                } catch { throw error == .acces || error == .perm || error == .nodata ? absent : error }
            case .acl, .posixACL, .portableACL, .nfs4, .smbACL, .flags, .lists, .exchange, .unsupported: throw .opnotsupp
            case .xfsACL: throw .nodata
            case .tooLong: throw .range
            }
        }
    }

    private func read(_ name: [UInt8], _ object: ObjectState) throws(Errno) -> [UInt8] {
        try name.withCName { (name) throws(Errno) in
            try loader.tree.attribute(name, of: object.object, object.descriptor, object.status)
        }
    }

    /// Before the first write to a file the kernel asks for its capabilities, and `ls -l` for the label of each object. That an object has
    /// none is cached with its record.
    private func readUnlessAbsent(_ name: [UInt8], _ object: ObjectState) throws(Errno) -> [UInt8] {
        let attribute = AbsentAttributes(name)
        if !attribute.isEmpty, loader.tree.absentAttributes(object.object, object.status).isSuperset(of: attribute) { throw .nodata }
        do throws(Errno) { return try read(name, object) } catch {
            if error == .nodata, !attribute.isEmpty { loader.tree.note(absent: attribute, object.object, object.status) }
            throw error
        }
    }

    /// SETXATTR. No zeros are written meanwhile.
    func setXattr(
        _ id: NodeID, _ name: UnsafePointer<CChar>, _ value: UnsafeRawBufferPointer, flags: Int32, _ caller: Caller
    ) throws(Errno) {
        try held.run(
            (id, XattrName(name), LentBytes(value), flags, caller), caller, on: .object(id),
            keeping: { ($0.0, $0.1, $0.2.kept, $0.3, $0.4) }
        ) { [self] (input) throws(Errno) in
            let (id, name, value, flags, caller) = input
            return try gaps.withoutFill(id, caller) { () throws(Errno) in
                try performSetXattr(id, name, value.bytes, flags: flags, caller)
            }
        }
    }

    private func performSetXattr(
        _ id: NodeID, _ kind: XattrName, _ value: UnsafeRawBufferPointer, flags: Int32, _ caller: Caller
    ) throws(Errno) {
        if kind == .acl { return try setACL(of: id, to: value, flags: flags, caller) }
        if case .posixACL(let isDefault) = kind { return try setPosixACL(isDefault: isDefault, of: id, to: value, caller) }
        if case .xfsACL(let isDefault) = kind { return try setPosixACL(isDefault: isDefault, of: id, toXFS: value, caller) }
        if kind == .portableACL { return try setPortableACL(of: id, to: Array(value), flags: flags, caller) }
        if case .nfs4(let form) = kind { return try setNFS4(form, of: id, to: Array(value), flags: flags, caller) }
        if kind == .smbACL { return try setSMB(of: id, to: Array(value), flags: flags, caller) }
        if kind == .lists { return try metadata.changeLists(in: id, value, caller) }
        if kind == .exchange { return try exchange(of: id, value, caller) }
        var requested: FileFlags = []
        var isExcluded = false
        if kind == .flags {
            do { requested = try FileFlagsText.parseAttribute(Array(value)) } catch { throw .inval }
            isExcluded = try metadata.isExcludedByLocation(loader.node(id), changing: { _ in requested }, caller)
        }
        try metadata.withMetadataLocked(id, record: kind.isOfRecord) { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            let operands = Operands(object: object)
            switch kind {
            case .flags: try metadata.changeFlags(object, to: requested, isExcluded: isExcluded, caller)
            case .backup(let mark): try metadata.setBackupMark(mark, value, flags: flags, of: object, caller)
            case .user(let stored):
                try judge.permit(.setXattr(isProtected: false), operands, caller, about: object)
                try requireLegalLayout(stored, value, object, caller)
                try metadata.storeXattr(stored, value, flags, object, caller)
            case .security(let stored), .trusted(let stored):
                try judge.permit(.setXattr(isProtected: isForbidden(kind, object, caller)), operands, caller, about: object)
                try metadata.storeXattr(stored, value, flags, object, caller)
            case .protected, .effective: try judge.permit(.setXattr(isProtected: true), operands, caller, about: object)
            case .ownerGUID:
                if flags == XattrFlag.create { throw .exist }
                try metadata.changeOwner(of: object, to: Owner(text: value), caller)
            case .groupGUID:
                if flags == XattrFlag.create { throw .exist }
                try metadata.changeGroup(of: object, to: OwningGroup(text: value), caller)
            case .acl, .posixACL, .xfsACL, .portableACL, .nfs4, .smbACL, .lists, .exchange, .unsupported: throw .opnotsupp
            case .tooLong: throw .range
            }
        }
    }

    /// A word that no version knows would exclude nothing, and look as if it did.
    private func requireLegalLayout(
        _ name: [UInt8], _ value: UnsafeRawBufferPointer, _ object: ObjectState, _ caller: Caller
    ) throws(Errno) {
        guard name.elementsEqual(DeclaredLayout.attributeName.utf8) else { return }
        let problem: String
        if object.facts.kind != .directory {
            problem = "only a directory has a layout"
        } else if DeclaredLayout(value: Array(value)) == nil {
            problem = "the layouts are \(DeclaredLayout.allCases.map(\.rawValue).joined(separator: ", "))"
        } else {
            return
        }
        refusals.note("setting \(DeclaredLayout.attributeName)", problem, by: caller, on: object.descriptor.rawValue)
        throw .inval
    }

    func removeXattr(_ id: NodeID, _ name: UnsafePointer<CChar>, _ caller: Caller) throws(Errno) {
        let kind = XattrName(name)
        if kind.isCapabilities,
            try share.lock.withReadLock({ () throws(Errno) in leavesToChange(kind, of: try loader.load(id).facts, caller) })
        {
            return
        }
        try held.run((id, kind, caller), caller, on: .object(id)) { [self] (input) throws(Errno) in
            try performRemoveXattr(input.0, input.1, input.2)
        }
    }

    private func performRemoveXattr(_ id: NodeID, _ kind: XattrName, _ caller: Caller) throws(Errno) {
        if case .posixACL(let isDefault) = kind { return try changePosixACL(isDefault: isDefault, of: id, to: nil, caller) }
        try metadata.withMetadataLocked(id, record: kind.isOfRecord) { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            let operands = Operands(object: object)
            switch kind {
            case .acl:
                try judge.permit(.setACL(nil), operands, caller, about: object)
                if object.facts.acl == nil { throw .nodata }
                try metadata.changeACL(object, to: nil, caller)
            case .portableACL: try removePortableACL(object, caller)
            // The mode always has a value, so removing the list is never an error.
            case .nfs4, .smbACL: try metadata.changeACL(object, to: nil, caller)
            case .flags: try metadata.changeFlags(object, to: [], isExcluded: false, caller)
            case .backup(let mark): try metadata.removeBackupMark(mark, of: object, caller)
            case .user(let stored):
                try judge.permit(.removeXattr(isProtected: false), operands, caller, about: object)
                try metadata.removeXattr(stored, object)
            case .security(let stored), .trusted(let stored):
                if leavesToChange(kind, of: object.facts, caller) { return }
                try judge.permit(.removeXattr(isProtected: isForbidden(kind, object, caller)), operands, caller, about: object)
                if kind.isCapabilities { return try metadata.removeCapabilities(stored, object) }
                try metadata.removeXattr(stored, object)
            case .protected, .effective: try judge.permit(.removeXattr(isProtected: true), operands, caller, about: object)
            case .ownerGUID: try metadata.removeOwnerGUID(of: object, caller)
            case .groupGUID: try metadata.removeGroupGUID(of: object, caller)
            case .posixACL, .lists, .exchange, .unsupported: throw .opnotsupp
            case .xfsACL: throw .nodata
            case .tooLong: throw .range
            }
        }
    }

    /// LISTXATTR.
    /// - Returns: the names, each with its NUL, without the record and without those that only root may read; none if the caller may not read
    ///   attributes. Natively listing asks no right, and programs that copy end or warn at an error. The refusal is recorded as any other.
    func listXattr(_ id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            do throws(Errno) { try judge.permit(.listXattr, Operands(object: object), caller, about: object) } catch {
                if error == .acces { return [] }
                throw error
            }
            let names: [[UInt8]]
            var list: [UInt8] = []
            for shown in try metadata.listedBackupMarks(object) { list += shown + [0] }
            for shown in try listedPosixACLs(object, caller) { list += shown + [0] }
            for shown in listedPortableACL(object, caller) { list += shown + [0] }
            do throws(Errno) { names = try Syscall.listxattr(.any(object.descriptor.rawValue)) } catch {
                if error == .opnotsupp { return list }
                throw error
            }
            for name in names {
                switch XattrName(name) {
                case .user:
                    for shown in options.xattrSpelling.listed(name) { list += shown + [0] }
                case .security: if caller.uid == 0 { list += name + [0] }
                case .trusted: if judge.holds(.sysAdmin, over: nil, caller) { list += name + [0] }
                default: break
                }
            }
            return list
        }
    }

    /// `system.aclfs.effective`: the rights of the caller, in the words of `ls -le`.
    private func effectiveRights(_ object: ObjectState, _ caller: Caller) -> [UInt8] {
        let isDirectory = object.facts.kind == .directory
        var granted: Rights = []
        for entry in RightName.all {
            let right = entry.right
            // Deletion also depends on the directory, which an attribute request does not name.
            if right == .delete { continue }
            if judge.decide(.rights(right), Operands(object: object), caller).isAllowed { granted.formUnion(right) }
        }
        let words = ACLTextPrinter.shownWords(of: ACE(.everyone, .allow, granted), isDirectory: isDirectory)
        return Array((words.isEmpty ? "-" : words.joined(separator: ",")).utf8)
    }
}

extension AbsentAttributes {
    /// Empty for names whose absence is not cached.
    fileprivate init(_ name: [UInt8]) {
        self = name.elementsEqual("security.capability".utf8) ? .capabilities : name.elementsEqual("security.selinux".utf8) ? .label : []
    }
}

extension [UInt8] {
    /// Lends the bytes as a C string.
    func withCName<Value>(_ body: (UnsafePointer<CChar>) throws(Errno) -> Value) throws(Errno) -> Value {
        try withUnsafeTemporaryAllocation(byteCount: count + 1, alignment: 1) { (buffer) -> Result<Value, Errno> in
            guard let base = buffer.baseAddress else { return .failure(.inval) }
            buffer.copyBytes(from: self)
            buffer[count] = 0
            return outcome { () throws(Errno) in try body(base.assumingMemoryBound(to: CChar.self)) }
        }.get()
    }
}
