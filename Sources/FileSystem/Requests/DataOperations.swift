import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// Data operations ask for the handle's access mode only (docs/reference/authorization.md 2.2, 2.4). Rights were asked when the file was opened, and an
// open descriptor keeps what was granted.

/// Requests about the bytes of open files: READ, WRITE, FSYNC, LSEEK, FALLOCATE, COPY_FILE_RANGE.
final class DataOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let durable: DurableCalls
    let gaps: GapReservations
    let metadata: MetadataChanges
    let files: OpenFiles

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, durable: DurableCalls,
        gaps: GapReservations, metadata: MetadataChanges, files: OpenFiles
    ) {
        (
            self.loader, self.judge, self.kernel, self.held, self.share, self.durable, self.gaps, self.metadata, self.files
        ) = (loader, judge, kernel, held, share, durable, gaps, metadata, files)
    }
}

extension DataOperations {
    func read(_ id: HandleID, into buffer: UnsafeMutableRawBufferPointer, offset: Int64, _ caller: Caller) throws(Errno) -> Int {
        let file = try files.file(id)
        try judge.permit(.read, through: file)
        let descriptor = try file.descriptor()
        // Unless the kernel moves data past the daemon, no caller can hold the file.
        guard file.dataPath.mustKeepNoPages else { return try read(descriptor, into: buffer, offset: offset) }
        defer { kernel.notifications.invalidateContent(of: file.node.id) }
        let key = file.node.object.key
        if share.dataPaths.claim(key, against: .any) {
            defer { share.dataPaths.unclaim(key) }
            return try read(descriptor, into: buffer, offset: offset)
        }
        let size = buffer.count
        let bytes = try held.runOnSpareThread(file, caller) { [self] () throws(Errno) in
            var bytes = [UInt8](repeating: 0, count: size)
            let count = try bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(Errno) in try read(descriptor, into: buffer, offset: offset) }
            }.get()
            bytes.removeLast(size - count)
            return bytes
        }
        buffer.copyBytes(from: bytes)
        return bytes.count
    }

    private func read(_ descriptor: SharedDescriptor, into buffer: UnsafeMutableRawBufferPointer, offset: Int64) throws(Errno) -> Int {
        // The kernel asks for whole pages, and refuses a read past the last byte that a file can have.
        let most = offset < 0 ? buffer.count : min(buffer.count, Int(Int64.max - offset))
        var total = 0
        while total < most {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[total..<most])
            // A sum that wraps is negative, which the kernel refuses.
            let count = try Syscall.pread(descriptor.rawValue, into: rest, offset: offset &+ Int64(total))
            if count == 0 { break }
            total += count
        }
        return total
    }

    func write(
        _ id: HandleID, _ bytes: UnsafeRawBufferPointer, offset: Int64, flags: Int32, clearsSetID: Bool,
        _ caller: Caller
    ) throws(Errno) -> Int {
        let file = try files.file(id)
        // The flags as fcntl(2) left them. An append-only handle without O_APPEND may only write at the end.
        let appends = flags & OpenFlag.append != 0 || appendsByCall(file, caller)
        var addsAtEnd = appends
        if !appends, file.isAppendOnly { addsAtEnd = try isEnd(offset, of: file) }
        try judge.permit(.write(addsAtEnd: addsAtEnd), through: file)
        defer { kernel.invalidateContent(of: file.node.object) }
        if clearsSetID { try clearSetIDBeforeWriting(to: file, caller) }
        let position: Int64? = file.isAppendOnly || appends ? nil : offset
        let descriptor = try position == nil ? file.appendingDescriptor() : file.descriptor()
        let count = try write(bytes, to: descriptor, at: position, through: file, caller)
        try durable.finishWrite(on: file.dataPath.path, flags: flags, descriptor)
        return count
    }

    /// Whether the call says RWF_APPEND, which WRITE does not tell: its offset is the end that this kernel knows. Another mount of the tree may
    /// have moved the end, and may move it now.
    private func appendsByCall(_ file: OpenFile, _ caller: Caller) -> Bool {
        guard share.hasSeveralMounts, file.dataPath.mustKeepNoPages || file.node.exposure.hasChangedElsewhere,
            CallInProgress.appends(tid: Int32(bitPattern: caller.tid))
        else { return false }
        // It may have put the bytes into its pages at that offset.
        kernel.notifications.invalidateContent(of: file.node.id)
        return true
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: SharedDescriptor, at position: Int64?, through file: OpenFile, _ caller: Caller
    ) throws(Errno) -> Int {
        guard file.dataPath.mustKeepNoPages else { return try write(bytes, to: descriptor, at: position, caller) }
        return try held.makeDataCall(
            (LentBytes(bytes), descriptor, position, caller), of: file, caller, against: .request(from: files.backingIDs),
            keeping: { ($0.0.kept, $0.1, $0.2, $0.3) }
        ) { [self] (input) throws(Errno) in try write(input.0.bytes, to: input.1, at: input.2, input.3) }
    }

    /// - Parameter position: nil for the end of the file.
    private func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: SharedDescriptor, at position: Int64?, _ caller: Caller
    ) throws(Errno) -> Int {
        guard let position else { return try append(bytes, to: descriptor, caller) }
        return try writeAll(bytes) { (rest, done) throws(Errno) in
            try allocateBlocks(for: caller) { () throws(Errno) in
                return try Syscall.pwrite(descriptor.rawValue, rest, offset: position &+ Int64(done))
            }
        }
    }

    /// Adds bytes at the end. Those of a request that another process had begun are not added twice.
    private func append(_ bytes: UnsafeRawBufferPointer, to descriptor: SharedDescriptor, _ caller: Caller) throws(Errno) -> Int {
        func size() throws(Errno) -> UInt64 { try Syscall.statx(descriptor.rawValue).size }
        if let act = share.acts.act(of: caller) {
            if act.isDone { return bytes.count }
            let end = try size()
            if end == act.before + UInt64(bytes.count) { return bytes.count }
            // Others have added bytes, so it cannot be told.
            if end != act.before { throw .io }
        }
        return try share.acts.run(caller, before: (try? size()) ?? 0) { () throws(Errno) in
            try writeAll(bytes) { (rest, _) throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in try Syscall.write(descriptor.rawValue, rest) }
            }
        }
    }

    private func isEnd(_ offset: Int64, of file: OpenFile) throws(Errno) -> Bool {
        let size = try Syscall.statx(file.pathDescriptor.rawValue).size
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
                // The bytes before the error count; the next write returns the error.
                if total > 0 { return total }
                throw error
            }
        }
        return total
    }

    /// Clears set-id bits before a write by a caller other than root (docs/reference/authorization.md 6.7). The kernel says when.
    private func clearSetIDBeforeWriting(to file: OpenFile, _ caller: Caller, unlessKept: Bool = false) throws(Errno) {
        if try Syscall.statx(file.pathDescriptor.rawValue, flags: AtFlag.dontSync).mode & 0o6000 == 0 { return }
        if unlessKept, judge.keepsSetID(caller) { return }
        try held.run(file, caller, on: .object(file.node.id)) { [self] (file) throws(Errno) in try performClearSetID(of: file) }
    }

    private func performClearSetID(of file: OpenFile) throws(Errno) {
        try share.lock.withWriteLock { () throws(Errno) in
            let object = try loader.load(file.node)
            try held.requireNoOtherChange(of: object)
            if try metadata.clearSetID(of: object) { kernel.invalidateAttributes(of: file.node) }
        }
    }

    func sync(_ id: HandleID, dataOnly: Bool) throws(Errno) {
        // Bound to a name, so that the descriptor outlives the call.
        let descriptor = try files.file(id).descriptor()
        try waiting { () throws(Errno) in
            if dataOnly { try Syscall.fdatasync(descriptor.rawValue) } else { try Syscall.fsync(descriptor.rawValue) }
        }
    }

    func syncDirectory(_ id: HandleID) throws(Errno) {
        let directory = try files.directory(id)
        try waiting { () throws(Errno) in try Syscall.fsync(directory.descriptor.rawValue) }
    }

    func syncAll(_ id: NodeID) throws(Errno) {
        let descriptor = try loader.tree.descriptor(of: loader.tree.root)
        try waiting { () throws(Errno) in try Syscall.syncfs(descriptor.rawValue) }
    }

    func seek(_ id: HandleID, offset: Int64, whence: Int32, _ caller: Caller) throws(Errno) -> Int64 {
        guard whence == Seek.data || whence == Seek.hole else { throw .inval }
        let file = try files.file(id)
        let descriptor = try file.descriptor()
        return try held.makeDataCall((descriptor, offset, whence), of: file, caller, against: .request(from: files.backingIDs)) {
            (input) throws(Errno) in
            let (descriptor, offset, whence) = input
            let place = try Syscall.lseek(descriptor.rawValue, offset: offset, whence: whence)
            if place >= 0 { return place }
            // The kernel has counted past the last byte that a file can have. The end of a file counts as a hole.
            guard whence == Seek.hole else { throw .io }
            return Int64(clamping: try Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync).size)
        }
    }

    /// FALLOCATE asks for a writable handle. It is denied on immutable objects; append-only objects and handles may only reserve space
    /// beyond the end (docs/reference/authorization.md 2.4). The call is made without the lock, because it may take long. The end may move
    /// meanwhile: reserving changes no byte.
    func allocate(_ id: HandleID, mode: Int32, offset: Int64, length: Int64, _ caller: Caller) throws(Errno) {
        let file = try files.file(id)
        let size = try held.run((file, mode, offset, caller), caller, on: .object(file.node.id)) { [self] (input) throws(Errno) in
            try permitAllocation(input.0, mode: input.1, offset: input.2, input.3)
        }
        let descriptor = try file.descriptor()
        defer { kernel.invalidateContent(of: file.node.object) }
        try waiting { () throws(Errno) in
            try held.makeDataCall(caller, of: file, caller, against: .request(from: files.backingIDs)) { (caller) throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in
                    try Syscall.fallocate(descriptor.rawValue, mode: mode, offset: offset, length: length)
                }
            }
        }
        try durable.finish(descriptor, file.durability)
        gaps.excludeRange(of: file, mode: mode, offset: offset, length: length, size: size)
    }

    /// - Returns: the size of the file.
    private func permitAllocation(_ file: OpenFile, mode: Int32, offset: Int64, _ caller: Caller) throws(Errno) -> UInt64 {
        try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(file.node)
            try held.requireNoOtherChange(of: object)
            let adds = mode == 0 || mode == AllocateFlag.keepSize
            let beyondEnd = adds && offset >= 0 && UInt64(offset) >= object.status.size
            try judge.permit(.allocate(addsBeyondEnd: beyondEnd), through: file, flags: object.facts.flags)
            if mode & (AllocateFlag.zeroRange | AllocateFlag.punchHole) != 0 || mode == 0 {
                try metadata.clearSetIDUnlessKept(of: object, caller, holding: .reading)
            }
            return object.status.size
        }
    }

    /// Whether the kernel copies by itself after EOPNOTSUPP, in the caller's own call and past the daemon. Here the copy would need a spare
    /// thread: the caller's own handle can hold the source. The daemon copies where the file system may share blocks instead.
    private func leavesToKernel(_ from: OpenFile, _ to: OpenFile) -> Bool {
        guard case .passthrough = from.dataPath.path, case .passthrough = to.dataPath.path else { return false }
        return loader.tree.copiesBytes(device: to.node.object.key.device)
    }

    func copy(from source: FilePosition, to destination: FilePosition, length: UInt64, _ caller: Caller) throws(Errno) -> Int {
        let (from, to) = (try files.file(source.handle), try files.file(destination.handle))
        try judge.permit(.read, through: from)
        // A copy by position could overwrite bytes that another appender has just added. After this errno the kernel copies by WRITE, which
        // adds at the end.
        if to.isAppendOnly { throw .opnotsupp }
        try judge.permit(.write(addsAtEnd: false), through: to)
        if leavesToKernel(from, to) { throw .opnotsupp }
        defer { kernel.invalidateContent(of: to.node.object) }
        try clearSetIDBeforeWriting(to: to, caller, unlessKept: true)
        let (input, output) = (try from.descriptor(), try to.descriptor())
        let other = from.node.object.key == to.node.object.key ? nil : from
        let count = try waiting { () throws(Errno) in
            try held.makeDataCall(caller, of: to, and: other, caller, against: .any) { (caller) throws(Errno) in
                // On a spare thread, a piece that ends before the caller's deadline.
                let most: UInt64 = ThreadMark.isSet ? 64 << 20 : 1 << 30
                return try allocateBlocks(for: caller) { () throws(Errno) in
                    try Syscall.copyFileRange(
                        from: input.rawValue, offset: source.offset, to: output.rawValue, offset: destination.offset,
                        length: Int(clamping: min(length, most)))
                }
            }
        }
        try durable.finish(output, to.durability)
        return count
    }
}
