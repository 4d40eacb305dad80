import LinuxSystem

/// The holes of one open backing file. They are looked for in the file, because not every write reaches the daemon.
struct Holes {
    let descriptor: Int32

    /// The first hole in a range, cut at its end.
    func first(in range: Range<UInt64>) throws(Errno) -> Range<UInt64>? {
        guard !range.isEmpty, let hole = try seek(range.lowerBound, Seek.hole), hole < range.upperBound else { return nil }
        let data = try seek(hole, Seek.data) ?? range.upperBound
        return hole..<min(max(data, hole), range.upperBound)
    }

    /// - Returns: nil if there is none, and for an answer that is no place in a file.
    func seek(_ offset: UInt64, _ whence: Int32) throws(Errno) -> UInt64? {
        do throws(Errno) {
            return UInt64(exactly: try Syscall.lseek(descriptor, offset: Int64(clamping: offset), whence: whence))
        } catch {
            if error == .nxio { return nil }
            throw error
        }
    }

    /// Whether the holes of a range need more than the free space. Ask before anything is reserved, so that a request that must
    /// fail does not fill the disk first.
    func exceedFreeSpace(in range: Range<UInt64>, excluding excluded: ByteRanges, forRoot: Bool) throws(Errno) -> Bool {
        // A small range is simply tried.
        guard range.upperBound - range.lowerBound > 16 << 20 else { return false }
        let status = try Syscall.fstatvfs(descriptor)
        // The file system has no size, as tmpfs may, so its free space is unknown.
        guard status.blocks > 0 else { return false }
        let blocks = forRoot && FileSystemUser.restrictedID != nil ? status.bfree : status.bavail
        let (product, overflows) = blocks.multipliedReportingOverflow(by: max(status.frsize, 1))
        let space = overflows ? .max : product
        var (start, needed) = (range.lowerBound, UInt64(0))
        // Bounds the time of the request. For more holes the reservation itself fails with ENOSPC.
        for _ in 0..<4096 {
            guard let hole = try first(in: start..<range.upperBound) else { break }
            start = hole.upperBound
            var rest = hole
            while let free = excluded.firstFree(in: rest) {
                needed += free.upperBound - free.lowerBound
                rest = free.upperBound..<hole.upperBound
            }
            if needed > space { return true }
        }
        return false
    }

    /// Writing would remove the file's capabilities.
    var areOfFileWithCapabilities: Bool {
        (try? Syscall.getxattr(.open(descriptor), "security.capability", into: UnsafeMutableRawBufferPointer(start: nil, count: 0))) != nil
    }
}
