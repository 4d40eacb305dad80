import ACLFormats
import Authorization
import LinuxSystem

// POSIX ACLs that backing objects carry by themselves (docs/authorization.md Q22): set on the backing
// directory, or those that it gives to new objects by a default ACL. They are read with the record and kept as long.

private let accessName = "system.posix_acl_access"
private let defaultName = "system.posix_acl_default"

extension BackingTree {
    /// The list of an object, in a buffer on the stack as far as that may be large.
    /// - Returns: `nil` if there is none, or none that says more than the mode; `unreadable` if it cannot be learned.
    func posixACL(_ place: RecordPlace, _ status: FileStatus) -> PosixACL? {
        // Links have none.
        if status.isSymlink { return nil }
        return posixACL(place, groupBits: UInt16(truncatingIfNeeded: status.mode >> 3 & 7))
    }

    /// What an object that was just made carries besides its record: the backing directory may have a default ACL.
    /// - Parameters:
    ///   - facts: what it was made with, its mode being set.
    ///   - descriptor: of a file, one that it was made with.
    ///   - status: of the directory, as it was before.
    public func stored(
        _ record: MetadataRecord, withNew facts: ObjectFacts, _ descriptor: Int32,
        in directory: BackingObject, _ place: SharedDescriptor, _ status: FileStatus
    ) -> StoredFacts {
        if facts.kind == .symlink { return StoredFacts(record) }
        guard givesPosixACL(directory, place, status) else { return StoredFacts(record, givesPosixACL: false) }
        let place = facts.kind == .file ? RecordPlace.open(descriptor) : .object(descriptor, facts.kind)
        return StoredFacts(record, posixACL(place, groupBits: facts.mode.rawValue >> 3 & 7))
    }

    /// Whether a directory gives POSIX ACLs to new objects, kept as long as its record.
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

    private func posixACL(_ place: RecordPlace, groupBits: UInt16) -> PosixACL? {
        do throws(Errno) { return try posixACL(place, groupBits: groupBits, room: 1024) } catch {
            // The kernel's own limit on values.
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
                // None, or a file system that keeps none.
                return error == .nodata || error == .opnotsupp ? .success(nil) : .failure(error)
            }
        }.get()
    }

    /// How many of the objects that stand at the top, the top itself included, carry a POSIX ACL or give one to new objects.
    /// - Parameter limit: so many names are looked at.
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
                        // Never of what is mounted there: it may not answer.
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
