import ACLFormats
import Authorization
import LinuxSystem
import WireFormats

// docs/reference/authorization.md Q22: POSIX ACLs of backing objects, set on the backing directory or copied from a default ACL. They are
// read and cached with the record.

private let accessName = "system.posix_acl_access"
private let defaultName = "system.posix_acl_default"

extension BackingTree {
    /// The list of an object. Uses a buffer on the stack; longer lists are read again with a larger one.
    /// - Returns: `nil` if it has none, or none that says more than the mode; `unreadable` if it cannot be read.
    func posixACL(_ place: RecordPlace, _ status: FileStatus) -> PosixACL? {
        // Symbolic links have none.
        if status.isSymlink { return nil }
        return posixACL(place, groupBits: UInt16(truncatingIfNeeded: status.mode >> 3 & 7))
    }

    /// The stored facts of a new object: the backing directory may have a default ACL.
    /// - Parameters:
    ///   - record: its record.
    ///   - facts: its facts; its mode is set.
    ///   - descriptor: for a file the one that created it, else any.
    ///   - directory: its directory.
    ///   - place: a descriptor of the directory.
    ///   - status: the directory's status before the creation.
    public func stored(
        _ record: MetadataRecord, withNew facts: ObjectFacts, _ descriptor: Int32,
        in directory: BackingObject, _ place: SharedDescriptor, _ status: FileStatus
    ) -> StoredFacts {
        if facts.kind == .symlink { return StoredFacts(record) }
        // Capabilities are not inherited.
        guard givesPosixACL(directory, place, status) else { return StoredFacts(record, givesPosixACL: false, absent: .capabilities) }
        let place = facts.kind == .file ? RecordPlace.open(descriptor) : .object(descriptor, facts.kind)
        return StoredFacts(record, posixACL(place, groupBits: facts.mode.rawValue >> 3 & 7), absent: .capabilities)
    }

    /// Whether new objects in a directory get POSIX ACLs; cached with its record.
    private func givesPosixACL(_ directory: BackingObject, _ place: SharedDescriptor, _ status: FileStatus) -> Bool {
        if let known = cache.givesPosixACL(directory, at: status.ctime) { return known }
        var gives = true
        do throws(Errno) {
            let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
            gives = try Syscall.getxattr(.directory(place.rawValue), defaultName, into: none) > 0
        } catch { gives = error != .nodata && error != .opnotsupp }
        cache.note(givesPosixACL: gives, directory, at: status.ctime)
        return gives
    }

    /// The value of a directory's own default ACL; nil if it has none.
    public func defaultPosixACL(of directory: BackingObject, _ place: SharedDescriptor, _ status: FileStatus) throws(Errno) -> [UInt8]? {
        guard givesPosixACL(directory, place, status) else { return nil }
        do throws(Errno) { return try Syscall.getxattr(.directory(place.rawValue), defaultName) } catch {
            if error == .nodata || error == .opnotsupp { return nil }
            throw error
        }
    }

    /// Removes the object's own access ACL or default ACL.
    /// - Returns: its value; nil if there was none.
    public func takePosixACL(from descriptor: Int32, isDefault: Bool) throws(Errno) -> [UInt8]? {
        let name = isDefault ? defaultName : accessName
        do throws(Errno) {
            let value = try Syscall.getxattr(.any(descriptor), name)
            try Syscall.removexattr(.any(descriptor), name)
            return value
        } catch {
            if error == .nodata || error == .opnotsupp { return nil }
            throw error
        }
    }

    /// Sets the access ACL that `takePosixACL` removed. It also sets the mode's bits.
    public func restorePosixACL(_ value: [UInt8], to descriptor: Int32) throws(Errno) {
        try Syscall.setxattr(.any(descriptor), accessName, value)
    }

    private func posixACL(_ place: RecordPlace, groupBits: UInt16) -> PosixACL? {
        do throws(Errno) { return try posixACL(place, groupBits: groupBits, room: 1024) } catch {
            // The kernel's limit on values.
            let longest = 65_536
            guard error == .range else { return .unreadable }
            do throws(Errno) { return try posixACL(place, groupBits: groupBits, room: longest) } catch { return .unreadable }
        }
    }

    private func posixACL(_ place: RecordPlace, groupBits: UInt16, room: Int) throws(Errno) -> PosixACL? {
        try withUnsafeTemporaryAllocation(byteCount: room, alignment: 8) { (buffer) -> Result<PosixACL?, Errno> in
            do throws(Errno) {
                let count =
                    switch place {
                    case .open(let descriptor): try Syscall.getxattr(.open(descriptor), accessName, into: buffer)
                    case .object(let descriptor, let kind):
                        try Syscall.getxattr(kind == .directory ? .directory(descriptor) : .any(descriptor), accessName, into: buffer)
                    case .named(let directory, let name): try Syscall.getxattrat(directory, name, accessName, into: buffer)
                    }
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                return .success(PosixACL.decoding(RawSpan(_unsafeBytes: bytes), groupBits: groupBits))
            } catch {
                // No list, or a file system without them.
                return error == .nodata || error == .opnotsupp ? .success(nil) : .failure(error)
            }
        }.get()
    }

    /// The number of objects in the root directory, itself included, with a POSIX ACL or a default ACL.
    /// - Parameter limit: number of names to read.
    public func posixACLsAtTop(limit: Int) throws(Errno) -> Int {
        let top = try descriptor(of: root)
        let device = root.key.device
        let listing = try Syscall.openat(top.rawValue, ".", OpenFlag.readOnly | OpenFlag.directory)
        var (found, left) = (hasPosixACL(top.rawValue) ? 1 : 0, limit)
        while left > 0 {
            let count = try withUnsafeTemporaryAllocation(byteCount: 32768, alignment: 8) { (buffer) -> Result<Int, Errno> in
                do throws(Errno) {
                    let count = try Syscall.getdents(listing.rawValue, into: buffer)
                    for entry in DirectoryEntries(UnsafeRawBufferPointer(rebasing: buffer[..<count])) where !entry.isDot && left > 0 {
                        left -= 1
                        // Mounts are skipped: their servers may not answer.
                        guard let object = try? Syscall.openat(top.rawValue, entry.name, OpenFlag.path | OpenFlag.noFollow),
                            let status = try? Syscall.statx(object.rawValue, flags: AtFlag.dontSync),
                            status.device == device, !status.isSymlink
                        else { continue }
                        if hasPosixACL(object.rawValue) { found += 1 }
                    }
                    return .success(count)
                } catch { return .failure(error) }
            }.get()
            if count == 0 { break }
        }
        return found
    }

    private func hasPosixACL(_ descriptor: Int32) -> Bool {
        func has(_ name: String) -> Bool {
            let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
            return ((try? Syscall.getxattr(.any(descriptor), name, into: none)) ?? 0) > 0
        }
        return has(accessName) || has(defaultName)
    }
}
