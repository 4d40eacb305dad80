import Authorization
import BackingStore
import FuseSession
import LinuxSystem

// Data operations ask for the handle's access mode only (AUTHORIZATION.md 2.2, 2.4): rights were asked
// when it was opened, and an open descriptor keeps what it was given.

extension FileSystem {
    func read(_ id: HandleID, into buffer: UnsafeMutableRawBufferPointer, offset: Int64) throws(Errno) -> Int {
        let file = try handles.file(id)
        try permit(.read, through: file)
        let descriptor = try file.descriptor()
        var total = 0
        while total < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[total...])
            let count = try Syscall.pread(descriptor.rawValue, into: rest, offset: offset + Int64(total))
            if count == 0 { break }
            total += count
        }
        if file.way.mustKeepNoPages { notices.dropContent(of: file.node.id) }
        return total
    }

    func write(
        _ id: HandleID, _ bytes: UnsafeRawBufferPointer, offset: Int64, flags: Int32, clearsSetID: Bool,
        _ caller: Caller
    ) throws(Errno) -> Int {
        let file = try handles.file(id)
        // O_APPEND as it is now; cleared on an append-only handle, the offset must be the end itself.
        let appends = flags & OpenFlag.append != 0
        var addsAtEnd = appends
        if !appends, file.isAppendOnly { addsAtEnd = try isEnd(offset, of: file) }
        try permit(.write(addsAtEnd: addsAtEnd), through: file)
        defer { share.contentChanged(file.node.object, through: self) }
        if clearsSetID { try clearSetID(of: file) }
        if !file.isAppendOnly, !appends {
            let descriptor = try file.descriptor()
            return try writeAll(bytes) { (rest, done) throws(Errno) in
                try spending(for: caller) { () throws(Errno) in
                    try Syscall.pwrite(descriptor.rawValue, rest, offset: offset + Int64(done))
                }
            }
        }
        let end = try file.appendingDescriptor()
        return try writeAll(bytes) { (rest, _) throws(Errno) in
            try spending(for: caller) { () throws(Errno) in try Syscall.write(end.rawValue, rest) }
        }
    }

    private func isEnd(_ offset: Int64, of file: OpenFile) throws(Errno) -> Bool {
        let size = try Syscall.statx(file.place.rawValue).size
        return offset >= 0 && UInt64(offset) == size
    }

    private func writeAll(
        _ bytes: UnsafeRawBufferPointer, _ step: (UnsafeRawBufferPointer, Int) throws(Errno) -> Int
    ) throws(Errno) -> Int {
        var total = 0
        while total < bytes.count {
            do throws(Errno) {
                let count = try step(UnsafeRawBufferPointer(rebasing: bytes[total...]), total)
                if count == 0 { break }
                total += count
            } catch {
                // What was written counts; the next write meets the error again.
                if total > 0 { return total }
                throw error
            }
        }
        return total
    }

    /// Set-id bits go when somebody other than root writes (AUTHORIZATION.md 6.7); the kernel says when.
    private func clearSetID(of file: OpenFile) throws(Errno) {
        try metadataLock.withWriteLock { () throws(Errno) in
            let status = try Syscall.statx(file.place.rawValue)
            if try clearSetID(file.place.rawValue, status) { takeBackAttributes(of: file.node) }
        }
    }

    /// - Returns: whether there were any.
    @discardableResult
    func clearSetID(_ descriptor: Int32, _ status: FileStatus) throws(Errno) -> Bool {
        guard status.mode & 0o6000 != 0, status.isRegular else { return false }
        try Syscall.fchmod(descriptor, mode: status.mode & 0o1777)
        return true
    }

    /// Before a truncation by anybody but root.
    func clearSetID(_ object: Loaded, _ caller: Caller) throws(Errno) {
        guard caller.uid != 0, try clearSetID(object.descriptor.rawValue, object.status) else { return }
        if let node = object.node { takeBackAttributes(of: node) }
    }

    func sync(_ id: HandleID, dataOnly: Bool) throws(Errno) {
        // Bound, so that the descriptor outlives the call.
        let descriptor = try handles.file(id).descriptor()
        try waiting { () throws(Errno) in
            if dataOnly { try Syscall.fdatasync(descriptor.rawValue) } else { try Syscall.fsync(descriptor.rawValue) }
        }
    }

    func syncDirectory(_ id: HandleID) throws(Errno) {
        let directory = try handles.directory(id)
        try waiting { () throws(Errno) in try Syscall.fsync(directory.descriptor.rawValue) }
    }

    func syncAll(_ id: NodeID) throws(Errno) {
        let descriptor = try tree.descriptor(of: tree.root)
        try waiting { () throws(Errno) in try Syscall.syncfs(descriptor.rawValue) }
    }

    func seek(_ id: HandleID, offset: Int64, whence: Int32) throws(Errno) -> Int64 {
        guard whence == Seek.data || whence == Seek.hole else { throw .inval }
        let descriptor = try handles.file(id).descriptor()
        return try Syscall.lseek(descriptor.rawValue, offset: offset, whence: whence)
    }

    /// AUTHORIZATION.md 2.4: a writable handle; nothing on immutable objects; on append-only objects and
    /// handles only reserving space beyond the end. Decided under the lock and done outside it, because it may take
    /// long: reserving changes no byte, so that the end may have moved does no harm.
    func allocate(
        _ id: HandleID, mode: Int32, offset: Int64, length: Int64, _ caller: Caller
    ) throws(Errno) {
        let file = try handles.file(id)
        let size = try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(file.node)
            let adds = mode == 0 || mode == AllocateFlag.keepSize
            let beyondEnd = adds && offset >= 0 && UInt64(offset) >= object.status.size
            try permit(.allocate(addsBeyondEnd: beyondEnd), through: file, flags: object.facts.flags)
            if mode & (AllocateFlag.zeroRange | AllocateFlag.punchHole) != 0 || mode == 0 {
                try clearSetID(object, caller)
            }
            return object.status.size
        }
        let descriptor = try file.descriptor()
        defer { share.contentChanged(file.node.object, through: self) }
        try waiting { () throws(Errno) in
            try spending(for: caller) { () throws(Errno) in
                try Syscall.fallocate(descriptor.rawValue, mode: mode, offset: offset, length: length)
            }
        }
        leaveAlone(file, mode: mode, offset: offset, length: length, size: size)
    }

    func copy(
        from source: FilePosition, to destination: FilePosition, length: UInt64, _ caller: Caller
    ) throws(Errno) -> Int {
        let (from, to) = (try handles.file(source.handle), try handles.file(destination.handle))
        try permit(.read, through: from)
        // Copying by position could land on bytes that another appender has just added; the kernel then copies by
        // WRITE, which adds at the end.
        if to.isAppendOnly { throw .opnotsupp }
        try permit(.write(addsAtEnd: false), through: to)
        defer { share.contentChanged(to.node.object, through: self) }
        if caller.uid != 0 { try clearSetID(of: to) }
        let (read, written) = (try from.descriptor(), try to.descriptor())
        return try waiting { () throws(Errno) in
            try spending(for: caller) { () throws(Errno) in
                try Syscall.copyFileRange(
                    from: read.rawValue, offset: source.offset, to: written.rawValue, offset: destination.offset,
                    length: Int(clamping: min(length, 1 << 30)))
            }
        }
    }
}
