import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import MountOptions

extension XattrName {
    init(_ name: UnsafePointer<CChar>) {
        var count = 0
        while name[count] != 0 { count += 1 }
        self.init(Array(UnsafeRawBufferPointer(start: name, count: count)))
    }
}

extension FileSystem {
    func getXattr(_ id: NodeID, _ name: UnsafePointer<CChar>, _ caller: Caller) throws(Errno) -> [UInt8] {
        let kind = XattrName(name)
        if kind == .acl { return try aclText(of: id, caller) }
        return try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            let nodes = Operands(object: object)
            switch kind {
            case .flags:
                try judge.permit(.readFlags, nodes, caller, about: object)
                return Array(FileFlagsText.attribute(try shownFlags(object)).utf8)
            case .ownerGUID:
                try judge.permit(.readFlags, nodes, caller, about: object)
                return ownerText(object.facts)
            case .groupGUID:
                try judge.permit(.readFlags, nodes, caller, about: object)
                return groupText(object.facts)
            case .effective: return effectiveRights(object, caller)
            case .protected:
                try judge.permit(.setXattr(isProtected: true), nodes, caller, about: object)
                throw .perm
            case .backup(let mark): return try getBackupMark(mark, of: object, caller)
            case .user(let stored), .trusted(let stored):
                try judge.permit(.getXattr, nodes, caller, about: object)
                return try read(stored, object)
            case .security(let stored):
                // Labels are asked for by `ls -l` of everything it shows, where nobody refuses them: whoever may not
                // read one is told that there is none, whether there is or not (docs/decisions/0004-readings.md).
                do throws(Errno) { try judge.permit(.getXattr, nodes, caller, about: object) } catch {
                    throw error == .acces || error == .perm ? .nodata : error
                }
                return try read(stored, object)
            case .acl, .unsupported: throw .opnotsupp
            case .tooLong: throw .range
            }
        }
    }

    private func read(_ name: [UInt8], _ object: ObjectState) throws(Errno) -> [UInt8] {
        try name.withCName { (name) throws(Errno) in try Syscall.getxattr(.any(object.descriptor.rawValue), name) }
    }

    /// Sets an attribute while nothing else changes the file.
    func setXattrUndisturbed(
        _ id: NodeID, _ name: UnsafePointer<CChar>, _ value: UnsafeRawBufferPointer, flags: Int32, _ caller: Caller
    ) throws(Errno) {
        let isDone: Void? = try unlessHeld(caller) { () throws(Errno) in
            try undisturbed(id, caller) { () throws(Errno) in try setXattr(id, name, value, flags: flags, caller) }
        }
        if isDone != nil { return }
        let (name, value) = (name.copied, Array(value))
        try changingHeld(id, caller) { [self] () throws(Errno) in
            try undisturbed(id, caller) { () throws(Errno) in
                try name.asName { (name) throws(Errno) in
                    try value.withUnsafeBytes { value in
                        Result { () throws(Errno) in try setXattr(id, name, value, flags: flags, caller) }
                    }.get()
                }
            }
        }
    }

    func setXattr(
        _ id: NodeID, _ name: UnsafePointer<CChar>, _ value: UnsafeRawBufferPointer, flags: Int32, _ caller: Caller
    ) throws(Errno) {
        let kind = XattrName(name)
        if kind == .acl { return try setACL(of: id, to: value, flags: flags, caller) }
        try changing(id, record: kind.isOfRecord) { () throws(Errno) in
            let object = try load(id)
            try requireNoOtherChange(of: object)
            let nodes = Operands(object: object)
            switch kind {
            case .flags:
                let requested: FileFlags
                do { requested = try FileFlagsText.parseAttribute(Array(value)) } catch { throw .inval }
                try changeFlags(object, to: requested, caller)
            case .backup(let mark): try setBackupMark(mark, value, flags: flags, of: object, caller)
            case .user(let stored):
                try judge.permit(.setXattr(isProtected: false), nodes, caller, about: object)
                try store(stored, value, flags, object, caller)
            case .security(let stored), .trusted(let stored):
                // These namespaces are root's, whatever the entries say.
                try judge.permit(.setXattr(isProtected: caller.uid != 0), nodes, caller, about: object)
                try store(stored, value, flags, object, caller)
            case .protected, .effective: try judge.permit(.setXattr(isProtected: true), nodes, caller, about: object)
            case .ownerGUID:
                if flags == XattrFlag.create { throw .exist }
                try changeOwner(of: object, to: Owner(text: value), caller)
            case .groupGUID:
                if flags == XattrFlag.create { throw .exist }
                try changeGroup(of: object, to: OwningGroup(text: value), caller)
            case .acl, .unsupported: throw .opnotsupp
            case .tooLong: throw .range
            }
        }
    }

    func store(
        _ name: [UInt8], _ value: UnsafeRawBufferPointer, _ flags: Int32, _ object: ObjectState, _ caller: Caller
    ) throws(Errno) {
        defer { tellOthers(of: object.object) }
        let descriptor = object.descriptor.rawValue
        try acting(on: object) { () throws(Errno) in
            try spending(for: caller) { () throws(Errno) in
                try tree.keepingRoom(besides: name, size: value.count, flags: flags, on: descriptor, object.status) {
                    () throws(Errno) in
                    try name.withCName { (name) throws(Errno) in
                        try Syscall.setxattr(.any(descriptor), name, value, flags: flags)
                    }
                }
            }
        }
    }

    func removeXattr(_ id: NodeID, _ name: UnsafePointer<CChar>, _ caller: Caller) throws(Errno) {
        let kind = XattrName(name)
        if leavesToChange(kind, caller) { return }
        if try unlessHeld(caller, { () throws(Errno) in try removeXattr(id, kind, caller) }) != nil { return }
        try changingHeld(id, caller) { [self] () throws(Errno) in try removeXattr(id, kind, caller) }
    }

    private func removeXattr(_ id: NodeID, _ kind: XattrName, _ caller: Caller) throws(Errno) {
        try changing(id, record: kind.isOfRecord) { () throws(Errno) in
            let object = try load(id)
            try requireNoOtherChange(of: object)
            let nodes = Operands(object: object)
            switch kind {
            case .acl:
                try judge.permit(.setACL(nil), nodes, caller, about: object)
                if object.facts.acl == nil { throw .nodata }
                try changeACL(object, to: nil, caller)
            case .flags: try changeFlags(object, to: [], caller)
            case .backup(let mark): try removeBackupMark(mark, of: object, caller)
            case .user(let stored):
                try judge.permit(.removeXattr(isProtected: false), nodes, caller, about: object)
                try drop(stored, object)
            case .security(let stored), .trusted(let stored):
                try judge.permit(.removeXattr(isProtected: caller.uid != 0), nodes, caller, about: object)
                if kind.isCapabilities { return try dropCapabilities(stored, object) }
                try drop(stored, object)
            case .protected, .effective: try judge.permit(.removeXattr(isProtected: true), nodes, caller, about: object)
            case .ownerGUID: try removeOwnerGUID(of: object, caller)
            case .groupGUID: try removeGroupGUID(of: object, caller)
            case .unsupported: throw .opnotsupp
            case .tooLong: throw .range
            }
        }
    }

    func drop(_ name: [UInt8], _ object: ObjectState) throws(Errno) {
        defer { tellOthers(of: object.object) }
        try acting(on: object) { () throws(Errno) in
            try name.withCName { (name) throws(Errno) in
                try Syscall.removexattr(.any(object.descriptor.rawValue), name)
            }
        }
    }

    /// Names that end in NUL each; the store and what is only root's is left out.
    func listXattr(_ id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            try judge.permit(.listXattr, Operands(object: object), caller, about: object)
            let names: [[UInt8]]
            var list: [UInt8] = []
            for shown in try listedBackupMarks(object) { list += shown + [0] }
            do throws(Errno) { names = try Syscall.listxattr(.any(object.descriptor.rawValue)) } catch {
                if error == .opnotsupp { return list }
                throw error
            }
            for name in names {
                switch XattrName(name) {
                case .user:
                    for shown in options.xattrSpelling.listed(name) { list += shown + [0] }
                case .security, .trusted: if caller.uid == 0 { list += name + [0] }
                default: break
                }
            }
            return list
        }
    }

    /// `system.aclfs.effective`: what the caller itself may do here, in the words of `ls -le`.
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
