import ACLFormats
import Authorization
import BackingStore
import ControlProtocol
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization

// Gaps are filled after close(2) (docs/internals/zerofill.md, docs/decisions/0009-zero-fill.md). FLUSH, for which close(2) waits, reserves blocks and
// changes no byte. Zeros are written when no handle can write any more.

/// Reserves blocks for the gaps of a file at close(2), and queues the file for zeros when no handle can write any more.
final class GapReservations: Sendable {
    let loader: ObjectLoader
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let files: OpenFiles
    let options: MountOptions

    init(loader: ObjectLoader, kernel: KernelView, held: HeldCalls, share: Share, files: OpenFiles, options: MountOptions) {
        (self.loader, self.kernel, self.held, self.share, self.files, self.options) = (loader, kernel, held, share, files, options)
    }
}

extension GapReservations {
    /// Reserves the gaps that appeared since the last FLUSH. A descriptor of the file was closed.
    /// - Parameters:
    ///   - id: of the handle.
    ///   - caller: that closed it.
    ///   - isInterrupted: a signal asks the caller to stop.
    /// - Throws: what close(2) is to return: no space, no quota, or `intr`.
    func flush(_ id: HandleID, _ caller: Caller, isInterrupted: () -> Bool) throws(Errno) {
        guard options.zeroFill != .off else { return }
        let file = try files.file(id)
        guard let writableFile = file.writableFile else { return }
        let descriptor = try file.descriptor()
        let size = try Syscall.statx(descriptor.rawValue).size
        let close = writableFile.noteClose(size: size, by: caller)
        if close.isRepeated { share.writableFiles.times.discard(writableFile.key) }
        guard close.hasExtended else {
            _ = requestZeros(of: writableFile)
            return
        }
        defer {
            share.writableFiles.times.noteClose(writableFile.key)
            if requestZeros(of: writableFile) { kernel.invalidateAttributes(of: file.node) }
        }
        func reserveHere() throws(Errno) { try reserve(file, writableFile, descriptor, upTo: size, caller, isInterrupted) }
        // The kernel may move data by this very handle and hold the file. If only this user's handles can hold it, the call may block here:
        // no other user waits, and few threads may block for one user. Otherwise a spare thread makes the call.
        switch share.dataPaths.claimUnlessOthersHold(writableFile.key, caller.uid) {
        case .noUser: return try reserveHere()
        case .others: break
        case .thisUser:
            defer { share.dataPaths.unclaim(writableFile.key) }
            if try share.held.runOnRequestThread(for: caller.payer, reserveHere) != nil { return }
        }
        try withoutActuallyEscaping(isInterrupted) { isInterrupted in
            Result { () throws(Errno) in
                try share.held.run(
                    [writableFile.key], for: caller.payer, .change, changes: false, isInterrupted: isInterrupted
                ) { [self] (step) throws(Errno) in try reserve(file, writableFile, descriptor, upTo: size, caller, step) }
            }
        }.get()
    }

    private func reserve(
        _ file: OpenFile, _ writableFile: WritableFile, _ descriptor: SharedDescriptor, upTo size: UInt64, _ caller: Caller,
        _ isInterrupted: () -> Bool
    ) throws(Errno) {
        let step = try writableFile.reserve(
            Holes(descriptor: descriptor.rawValue), upTo: size, share, for: caller.payer,
            movesTime: file.isReadable || share.dataPaths.mayChangeUnnoticed(writableFile.key, file.pathDescriptor.rawValue), isInterrupted)
        if step == .impossible, zeroFill(of: writableFile.key) == .allocate { share.writableFiles.countFileWithHoles() }
    }

    /// Notes that zeros are to be written when no handle can write any more.
    /// - Returns: whether the file has gaps.
    private func requestZeros(of writableFile: WritableFile) -> Bool {
        guard zeroFill(of: writableFile.key) == .write else { return writableFile.hasGaps }
        return writableFile.requestZeros(upTo: options.zeroFillMax, options.zeroFillBudget)
    }

    /// Removes a handle. After the last one that could write, queues the file for zeros.
    func release(_ id: HandleID) {
        guard let file = files.remove(id), let writableFile = file.writableFile else { return }
        let size = (try? Syscall.statx(file.pathDescriptor.rawValue).size) ?? 0
        if options.zeroFill != .off { _ = requestZeros(of: writableFile) }
        restoreTimeUnlessHeld(writableFile, file)
        guard writableFile.noteRelease(size: size, reserves: options.zeroFill != .off) else {
            return share.writableFiles.release(writableFile)
        }
        // The job must not hold the handle: it would count as one that can write. It holds the writable file from here on.
        let node = file.node
        share.writableFiles.filler.add(
            FillJob(writableFile, file.pathDescriptor, share) { [self] in kernel.invalidateAttributes(of: node) })
    }

    /// Restores the mtime that the file's close moved. The handle itself moves no data any more, but readers may hold the file.
    private func restoreTimeUnlessHeld(_ writableFile: WritableFile, _ file: OpenFile) {
        guard writableFile.mayRestoreTime else { return }
        if share.dataPaths.claim(writableFile.key, against: .request(from: files.backingIDs)) {
            defer { share.dataPaths.unclaim(writableFile.key) }
            return restoreTime(writableFile, file)
        }
        // The count of writers changes meanwhile: a time that another writer has moved is not restored.
        let retained = share.writableFiles.retain(writableFile.key)
        let (pathDescriptor, node, times) = (file.pathDescriptor, file.node, share.writableFiles.times)
        let opens = writableFile.opens
        share.held.runUnobserved(writableFile.key) { [self] in
            defer { share.writableFiles.release(retained) }
            let isSet = try? retained.tryExclusively(within: 1_000_000_000) { () throws(Errno) in
                guard retained.isClosed(since: opens) else { return false }
                return times.restore(retained.key, pathDescriptor.rawValue)
            }
            if isSet == true { kernel.invalidateAttributes(of: node) }
        }
    }

    private func restoreTime(_ writableFile: WritableFile, _ file: OpenFile) {
        let times = share.writableFiles.times
        let isSet = try? writableFile.tryExclusively(within: 100_000_000) { () throws(Errno) in
            if writableFile.wasClosedOnce {
                return times.restore(writableFile.key, file.pathDescriptor.rawValue)
            }
            times.discard(writableFile.key)
            return false
        }
        if isSet == true { kernel.invalidateAttributes(of: file.node) }
    }

    /// Opens a file for writing while no zeros are written, nor will be until its RELEASE.
    func openForWriting(_ node: Node, _ caller: Caller, _ body: (WritableFile) throws(Errno) -> Opening) throws(Errno) -> Opening {
        let writableFile = share.writableFiles.retain(node.object.key)
        share.writableFiles.times.awaitRelease(node.object.key)
        do throws(Errno) {
            let opening = try writableFile.exclusively(share.held, for: caller.payer) { () throws(Errno) in try body(writableFile) }
            if (try? files.file(opening.handle))?.writableFile == nil { share.writableFiles.release(writableFile) }
            // The daemon may not learn of what is written from now on.
            kernel.invalidateElsewhere(node.object)
            return opening
        } catch {
            share.writableFiles.release(writableFile)
            throw error
        }
    }

    /// Notes a handle that is being opened, after O_TRUNC and while no zeros are written.
    /// - Parameter size: of the file when it was judged. Other writers may have made it longer since; their handles account for that.
    /// - Returns: the writable file, if the handle can write.
    func enterHandle(_ writableFile: WritableFile?, size: UInt64, _ intent: OpenIntent, _ caller: Caller) -> WritableFile? {
        guard let writableFile else { return nil }
        share.writableFiles.times.discard(writableFile.key)
        guard intent.contains(.write) else {
            writableFile.noteTruncation(to: size, by: caller.payer)
            return nil
        }
        writableFile.noteOpen(size: size, by: caller.payer)
        return writableFile
    }

    /// Notes the handle of a new file. It must not wait, because names are held; no other handle exists.
    func enterNewHandle(_ node: Node, _ caller: Caller) -> WritableFile {
        let writableFile = share.writableFiles.retain(node.object.key)
        writableFile.noteOpen(size: 0, by: caller.payer)
        return writableFile
    }

    /// Runs a change of a size, a time or a capability while no zeros are written: the fill would undo it.
    func withoutFill<Value>(
        _ id: NodeID, _ caller: Caller, _ changes: SetAttributes? = nil, _ body: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let node = try loader.node(id)
        guard node.object.kind == .file else { return try body() }
        let writableFile = share.writableFiles.retain(node.object.key)
        defer { share.writableFiles.release(writableFile) }
        return try writableFile.exclusively(share.held, for: caller.payer, isShort: changes?.size == nil) { () throws(Errno) in
            let value = try body()
            if let size = changes?.size { writableFile.noteTruncation(to: size, by: caller.payer) }
            return value
        }
    }

    /// Excludes a range from the gaps: the program has reserved it or punched it itself.
    func excludeRange(of file: OpenFile, mode: Int32, offset: Int64, length: Int64, size: UInt64) {
        guard let writableFile = file.writableFile, offset >= 0, length > 0 else { return }
        let start = UInt64(offset)
        var end = start + UInt64(length)
        // Beyond the end there is nothing to punch.
        if mode & AllocateFlag.punchHole != 0 { end = min(end, size) }
        if start < end { writableFile.exclude(start..<end) }
    }

    /// For `aclfs status`.
    var status: [JSON.Member] {
        let files = share.writableFiles
        let overBudget = files.filler.overBudget
        return [
            .init(.reservedBytes, files.reservedBytes.load(ordering: .relaxed)),
            .init(.writtenBytes, files.writtenBytes.load(ordering: .relaxed)), .init(.filesWaiting, files.filler.count),
            .init(.filesOverBudget, overBudget.files), .init(.bytesOverBudget, overBudget.bytes),
            .init(.filesLeftWithHoles, files.leftWithHoles.load(ordering: .relaxed)),
        ]
    }

    /// What is done to the gaps of a file. On a file system that other hosts share, nothing is written: another host may have written there
    /// meanwhile, and zeros would overwrite it.
    func zeroFill(of key: ObjectKey) -> MountOptions.ZeroFill {
        options.zeroFill == .write && loader.tree.isShared(device: key.device) ? .allocate : options.zeroFill
    }
}
