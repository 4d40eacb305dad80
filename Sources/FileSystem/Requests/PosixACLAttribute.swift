import Authorization
import BackingStore
import FuseSession
import LibACL
import LinuxSystem
import WireFormats

// `system.posix_acl_access` and `system.posix_acl_default` (docs/reference/posix-acl.md). libacl has the last word on whether a list is valid.
extension XattrOperations {
    func posixACL(isDefault: Bool, of id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        try requirePosixACLs(id)
        return try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            if object.facts.kind == .symlink { throw .opnotsupp }
            try judge.permit(.readACL, Operands(object: object), caller, about: object)
            if judge.posix.areUnknown(object.facts) { throw .io }
            if !isDefault {
                guard let list = judge.posix.shown(object.facts) else { throw .nodata }
                return PosixWire.bytes(list.wireEntries)
            }
            if let list = judge.posix.new(object.facts) { return PosixWire.bytes(list.wireEntries) }
            guard let own = try ownDefault(object) else { throw .nodata }
            return own
        }
    }

    /// The default ACL that a backing directory has by itself, unless entries are inherited in its place.
    func ownDefault(_ object: ObjectState) throws(Errno) -> [UInt8]? {
        guard object.facts.kind == .directory else { return nil }
        let inherits = object.facts.acl?.entries.contains { !$0.flags.isDisjoint(with: [.fileInherit, .directoryInherit]) } ?? false
        return inherits ? nil : try loader.tree.defaultPosixACL(of: object.object, object.descriptor, object.status)
    }

    /// The names that listxattr(2) lists, as on other file systems: programs copy what is listed, and newer ones ask for nothing else.
    /// To a caller who may not read the ACL they would tell that there is one.
    func listedPosixACLs(_ object: ObjectState, _ caller: Caller) throws(Errno) -> [[UInt8]] {
        guard judge.posix.isOn, judge.decide(.readACL, Operands(object: object), caller).isAllowed else { return [] }
        var names: [[UInt8]] = []
        if judge.posix.shown(object.facts) != nil { names.append(XattrName.posixAccess.bytes) }
        let isListed: Bool = if judge.posix.new(object.facts) != nil { true } else { try ownDefault(object) != nil }
        if isListed { names.append(XattrName.posixDefault.bytes) }
        return names
    }

    func setPosixACL(isDefault: Bool, of id: NodeID, to value: UnsafeRawBufferPointer, _ caller: Caller) throws(Errno) {
        try requirePosixACLs(id)
        let list = try posixList(value, isDefault, id, caller)
        try changePosixACL(isDefault: isDefault, of: id, to: list, caller)
    }

    /// Root's `rsync -X` from XFS brings a list in this form too, besides what -A says.
    func setPosixACL(isDefault: Bool, of id: NodeID, toXFS value: UnsafeRawBufferPointer, _ caller: Caller) throws(Errno) {
        let bytes: [UInt8]
        do { bytes = try PosixWire.bytes(ofXFS: value.bytes) } catch { throw .inval }
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(Errno) in try setPosixACL(isDefault: isDefault, of: id, to: bytes, caller) }
        }.get()
    }

    /// - Parameter list: nil removes.
    func changePosixACL(isDefault: Bool, of id: NodeID, to list: PosixList?, _ caller: Caller) throws(Errno) {
        try requirePosixACLs(id)
        let forms = judge.posix
        let plan = try metadata.plan(for: id) { facts -> Result<PosixChange?, PosixRefusal> in
            if facts.kind == .symlink || isDefault && facts.kind != .directory || forms.areUnknown(facts) { return .success(nil) }
            return Result { () throws(PosixRefusal) -> PosixChange? in
                switch (list, isDefault) {
                case (let list?, false): try forms.setting(access: list, on: facts)
                case (let list?, true): try forms.setting(new: list, on: facts)
                case (nil, false): try forms.removingAccess(on: facts)
                case (nil, true): try forms.removingNew(on: facts)
                }
            }
        }
        try metadata.withMetadataLocked(id) { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            if object.facts.kind == .symlink { throw .opnotsupp }
            if isDefault, object.facts.kind != .directory {
                if list == nil { return }
                throw .acces
            }
            if judge.posix.areUnknown(object.facts) { throw .io }
            let change: PosixChange?
            do throws(PosixRefusal) { change = try plan.result(for: object.facts).get() } catch {
                // What an object is like is told only to callers who may set its list.
                let mode = object.facts.mode.subtracting([.setUser, .setGroup])
                try judge.permit(.chmod(mode), Operands(object: object), caller, about: object)
                note(error.message, isDefault, list.flatMap { PosixListCheck($0.wireEntries) }?.text, object, caller, "EOPNOTSUPP")
                throw .opnotsupp
            }
            // As other file systems do, removing none succeeds.
            if let change { try metadata.changePosix(object, to: change, caller) }
        }
    }

    /// No object has one, so there is nothing to read or to judge, and `ls -l` asks no more.
    private func requirePosixACLs(_ id: NodeID) throws(Errno) {
        if judge.posix.isOn { return }
        _ = try loader.node(id)
        throw .opnotsupp
    }

    /// Reads what a caller wants to set.
    /// - Returns: nil for a value without entries, which removes the list.
    private func posixList(_ value: UnsafeRawBufferPointer, _ isDefault: Bool, _ id: NodeID, _ caller: Caller) throws(Errno) -> PosixList? {
        var problem: String?
        var text: String?
        do throws(PosixWireError) {
            let entries = try PosixWire.entries(RawSpan(_unsafeBytes: value))
            if entries.isEmpty { return nil }
            // Without memory for it there is no valid list.
            if entries.count <= PosixList.mostEntries {
                problem = "no memory"
                if let check = PosixListCheck(entries) { (problem, text) = (check.problem, check.text) }
            }
            let list = try PosixList(entries)
            if problem == nil { return list }
        } catch { problem = error.message }
        let object = try share.lock.withReadLock { () throws(Errno) in try loader.load(id) }
        note(problem ?? "invalid", isDefault, text, object, caller, "EINVAL")
        throw .inval
    }

    private func note(
        _ reason: String, _ isDefault: Bool, _ list: String?, _ object: ObjectState, _ caller: Caller, _ error: StaticString
    ) {
        let name = isDefault ? XattrName.posixDefault : XattrName.posixAccess
        let given = list.map { " (\($0))" } ?? ""
        refusals.note("setting \(name)\(given)", reason, by: caller, on: object.descriptor.rawValue, with: error)
    }
}

extension StaticString {
    fileprivate var bytes: [UInt8] { Array(UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)) }
}
