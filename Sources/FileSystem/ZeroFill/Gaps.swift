import LinuxSystem
import Synchronization

/// The zeros that are written. The buffer is never changed or freed.
nonisolated(unsafe) private let zeros: UnsafeRawBufferPointer = {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(Gaps.largestPiece), alignment: 4096)
    buffer.initializeMemory(as: UInt8.self, repeating: 0)
    return UnsafeRawBufferPointer(buffer)
}()

/// The result of one step.
enum FillStep {
    case more
    case done
    /// A handle can write again; its last close fills the rest.
    case hasWriter
    /// A program can write without a handle. The kernel does not tell when that ends.
    case blocked
    /// The budget for zeros is spent at present.
    case overBudget
    /// The file system cannot reserve, or the file must not be changed.
    case impossible
}

/// The gaps of one open backing file. They are found in the file, because not every write reaches the daemon.
struct Gaps {
    /// The bytes that one step writes.
    static let largestPiece: UInt64 = 256 << 10

    let descriptor: Int32

    /// The first hole in a range, cut at its end.
    func first(in range: Range<UInt64>) throws(Errno) -> Range<UInt64>? {
        guard !range.isEmpty else { return nil }
        guard let hole = try seek(range.lowerBound, Seek.hole), hole < range.upperBound else { return nil }
        let data = try seek(hole, Seek.data) ?? range.upperBound
        return hole..<min(max(data, hole), range.upperBound)
    }

    /// - Returns: nil if there is none, and for an answer that is no place in a file.
    private func seek(_ offset: UInt64, _ whence: Int32) throws(Errno) -> UInt64? {
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

    /// Reserves one gap or a piece of it, or several small gaps together. Reserved singly, tens of thousands of gaps would hold a
    /// close for seconds. It changes no byte and no size, so writes may run meanwhile. Call it under the file's exclusion.
    /// - Parameters:
    ///   - end: gaps past it are ignored.
    ///   - movesTime: other handles can write, so that the modification time moves in any case.
    func reserveNext(
        _ writableFile: WritableFile, upTo end: UInt64, _ files: WritableFiles, asRoot: Bool, movesTime: Bool = false
    ) throws(Errno) -> FillStep {
        let state = writableFile.state.withLock { $0 }
        // The end of the file counts as a hole: without one before `end` the file reaches there.
        if state.examinedEnd < end, let hole = try seek(state.examinedEnd, Seek.hole), hole >= end {
            writableFile.state.withLock { $0.examinedEnd = max($0.examinedEnd, end) }
            return .done
        }
        let status = try Syscall.statx(descriptor)
        let limit = min(status.size, end)
        let range = state.examinedEnd..<max(limit, state.examinedEnd)
        guard let part = state.excluded.firstFree(in: range), let gap = try first(in: part) else {
            let end = state.excluded.firstFree(in: range)?.upperBound ?? range.upperBound
            writableFile.state.withLock { $0.examinedEnd = max($0.examinedEnd, end) }
            return end < range.upperBound ? .more : .done
        }
        writableFile.state.withLock { $0.hasGaps = true }
        // Writing would remove the file's capabilities.
        guard !hasCapability else {
            writableFile.state.withLock { $0.examinedEnd = max($0.examinedEnd, limit) }
            return .impossible
        }
        var length = min(gap.upperBound - gap.lowerBound, state.pace.piece)
        if state.pieces >= ReservingPace.mostSingleGaps {
            // Reserving has no effect on data.
            length = max(length, min(part.upperBound - gap.lowerBound, ReservingPace.least))
        }
        let began = SystemTime.monotonic()
        func reserve() throws(Errno) {
            try run(asRoot) { () throws(Errno) in
                try Syscall.fallocate(
                    descriptor, mode: AllocateFlag.keepSize, offset: Int64(clamping: gap.lowerBound), length: Int64(clamping: length))
            }
        }
        do throws(Errno) {
            if movesTime {
                try reserve()
            } else {
                let isClose = state.writers > 0
                if isClose { writableFile.state.withLock { $0.hasMovedTime = true } }
                try files.times.preserve(of: writableFile.key, status, descriptor, isClose: isClose) { () throws(Errno) in try reserve() }
            }
        } catch {
            if error == .intr { return .more }
            guard error == .opnotsupp || error == .nosys else { throw error }
            writableFile.state.withLock { $0.examinedEnd = max($0.examinedEnd, limit) }
            return .impossible
        }
        let took = SystemTime.monotonic() - began
        let blocks = (try? Syscall.statx(descriptor).blocks) ?? status.blocks
        if blocks > status.blocks { files.reservedBytes.wrappingAdd((blocks - status.blocks) &* 512, ordering: .relaxed) }
        writableFile.state.withLock { state in
            state.examinedEnd = gap.lowerBound + length
            state.pieces += 1
            state.pace.record(took, for: length)
        }
        return .more
    }

    /// Writes zeros over one gap or a piece of it. Call it under the file's exclusion and only while no program can write, so that
    /// a hole stays a hole until the zeros are written.
    func writeNext(_ writableFile: WritableFile, _ files: WritableFiles, asRoot: Bool) throws(Errno) -> FillStep {
        let state = writableFile.state.withLock { $0 }
        guard state.writers == 0, let largest = state.largestWritten else { return .hasWriter }
        let status = try Syscall.statx(descriptor)
        guard !hasCapability else { return .impossible }
        let end = min(status.size, state.examinedEnd)
        let start = max(state.filledEnd, state.oldEnd)
        guard start < end, let hole = try first(in: start..<end) else { return .done }
        guard let gap = state.excluded.firstFree(in: hole) else {
            writableFile.state.withLock { ($0.filledEnd, $0.isInGap) = (hole.upperBound, false) }
            return .more
        }
        // If a piece of the gap was written before, the rest is written too.
        let isRest = state.isInGap && gap.lowerBound == start
        if !isRest, gap.upperBound - gap.lowerBound > largest {
            writableFile.state.withLock { ($0.filledEnd, $0.isInGap) = (gap.upperBound, false) }
            return .more
        }
        let length = Int(min(gap.upperBound - gap.lowerBound, Self.largestPiece))
        guard files.spend(UInt64(length), state) else { return .overBudget }
        let count = try files.times.preserve(of: writableFile.key, status, descriptor, isClose: false) { () throws(Errno) in
            try run(asRoot) { () throws(Errno) in
                try Syscall.pwrite(
                    descriptor, UnsafeRawBufferPointer(rebasing: zeros[..<length]), offset: Int64(clamping: gap.lowerBound))
            }
        }
        guard count > 0 else { return .impossible }
        files.writtenBytes.wrappingAdd(UInt64(count), ordering: .relaxed)
        let filled = gap.lowerBound + UInt64(count)
        writableFile.state.withLock { ($0.filledEnd, $0.isInGap) = (filled, filled < gap.upperBound) }
        return .more
    }

    /// The bytes that `writeNext` would still write. Call it under the file's exclusion.
    func unwritten(_ writableFile: WritableFile) -> UInt64 {
        let state = writableFile.state.withLock { $0 }
        guard let largest = state.largestWritten, let size = try? Syscall.statx(descriptor).size else { return 0 }
        let end = min(size, state.examinedEnd)
        var (start, isRest, bytes) = (max(state.filledEnd, state.oldEnd), state.isInGap, UInt64(0))
        // Bounds the time of the request. The sum of the first gaps is enough.
        for _ in 0..<4096 {
            guard start < end, let hole = try? first(in: start..<end) else { break }
            guard let gap = state.excluded.firstFree(in: hole) else {
                (start, isRest) = (hole.upperBound, false)
                continue
            }
            let length = gap.upperBound - gap.lowerBound
            if length <= largest || isRest && gap.lowerBound == start { bytes += length }
            (start, isRest) = (gap.upperBound, false)
        }
        return bytes
    }

    /// Releases space that was reserved before the reservation failed. Call it under the file's exclusion and only while no program
    /// can write: a hole holds no data then, reserved or not.
    func releaseNext(_ writableFile: WritableFile, _ range: Range<UInt64>, _ files: WritableFiles) throws(Errno) {
        let state = writableFile.state.withLock { $0 }
        let status = try Syscall.statx(descriptor)
        let end = min(range.upperBound, status.size)
        guard let hole = try first(in: range.lowerBound..<max(end, range.lowerBound)) else {
            writableFile.state.withLock { $0.partialReservation = nil }
            return
        }
        guard let gap = state.excluded.firstFree(in: hole) else {
            writableFile.state.withLock { $0.partialReservation = hole.upperBound..<max(hole.upperBound, range.upperBound) }
            return
        }
        let length = min(gap.upperBound - gap.lowerBound, state.pace.piece)
        let began = SystemTime.monotonic()
        try files.times.preserve(of: writableFile.key, status, descriptor, isClose: false) { () throws(Errno) in
            try Syscall.fallocate(
                descriptor, mode: AllocateFlag.keepSize | AllocateFlag.punchHole, offset: Int64(clamping: gap.lowerBound),
                length: Int64(clamping: length))
        }
        let took = SystemTime.monotonic() - began
        let rest = gap.lowerBound + length
        writableFile.state.withLock { state in
            state.partialReservation = rest < range.upperBound ? rest..<range.upperBound : nil
            state.pace.record(took, for: length)
        }
    }

    private func run<Value>(_ asRoot: Bool, _ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        asRoot ? try FileSystemUser.asRoot(body) : try body()
    }

    private var hasCapability: Bool {
        (try? Syscall.getxattr(.open(descriptor), "security.capability", into: UnsafeMutableRawBufferPointer(start: nil, count: 0))) != nil
    }
}
