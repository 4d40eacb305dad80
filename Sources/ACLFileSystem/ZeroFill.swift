import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// Gaps that a program leaves are filled when it closes (docs/zerofill.md, docs/decisions/0009-zero-fill.md): at FLUSH,
// for which close(2) waits, room is reserved, which changes no byte; zeros are written when nobody can write any more.

extension FileSystem {
    /// A descriptor of the file was closed.
    func flush(_ id: HandleID, _ caller: Caller, isInterrupted: () -> Bool) throws(Errno) {
        guard options.zeroFill != .off else { return }
        let file = try handles.file(id)
        guard let growth = file.growth else { return }
        let descriptor = try file.descriptor()
        let gaps = Gaps(descriptor: descriptor.rawValue)
        let size = try Syscall.statx(gaps.descriptor).size
        let state = growth.state.withLock { state in
            state.payerIsRoot = state.isRoots && caller.uid == 0
            return state
        }
        guard size > state.examinedEnd else { return wantZeros(growth) }
        // What does not fit is found out before anything is taken.
        if try gaps.exceedRoom(in: state.examinedEnd..<size, state.leftAlone, forRoot: state.payerIsRoot) { throw .nospc }
        defer {
            wantZeros(growth)
            if growth.state.withLock({ $0.hasGaps }) { takeBackAttributes(of: file.node) }
        }
        while true {
            var step = FillStep.done
            do throws(Errno) {
                step = try growth.alone { () throws(Errno) in
                    try gaps.reserveNext(growth, share.growing, asRoot: state.payerIsRoot)
                }
            } catch {
                growth.reservedInVain(state.examinedEnd..<size)
                throw error
            }
            switch step {
            case .more: if isInterrupted() { throw .intr }
            case .impossible:
                if options.zeroFill == .allocate { share.growing.countLeft() }
                return
            case .done, .giveWay, .heldUp:
                growth.state.withLock { $0.inVain = nil }
                return
            }
        }
    }

    private func wantZeros(_ growth: Growth) {
        guard options.zeroFill == .write else { return }
        growth.state.withLock { $0.writtenUpTo = max($0.writtenUpTo ?? 0, options.zeroFillMax) }
    }

    /// A handle is gone; with the last one that could write, the time for zeros has come.
    func release(_ id: HandleID) {
        let file = try? handles.file(id)
        handles.remove(id)
        guard let file, let growth = file.growth else { return }
        let size = (try? Syscall.statx(file.place.rawValue).size) ?? 0
        if options.zeroFill != .off { wantZeros(growth) }
        let isDue = growth.state.withLock { state in
            state.writers -= 1
            state.closedEnd = size
            guard state.writers == 0 else { return false }
            let isLate = options.zeroFill != .off && size > state.examinedEnd
            let isDue = isLate || state.inVain != nil || state.hasGaps && state.writtenUpTo != nil
            if !isDue { state.hasGaps = false }
            if isDue { state.hasGaps = true }
            guard isDue, !state.isQueued else { return false }
            state.isQueued = true
            return true
        }
        guard isDue else { return share.growing.drop(growth) }
        // Not the handle itself: it could write, and would never be alone.
        let node = file.node
        let job = FillJob(
            growth: growth, place: file.place, files: share.growing, mayBeMapped: share.dataPaths.hasPassed
        ) { [self] in takeBackAttributes(of: node) }
        // The job holds the growth from here on.
        share.growing.filler.add(job)
    }

    /// Runs what opens a file for writing: zeros are not written meanwhile, nor until its RELEASE.
    func openingForWriting(
        _ node: Node, _ caller: Caller, _ open: (Growth) throws(Errno) -> Opening
    ) throws(Errno) -> Opening {
        let growth = share.growing.hold(node.object.key)
        do throws(Errno) {
            let opening = try growth.alone { () throws(Errno) in try open(growth) }
            if (try? handles.file(opening.handle))?.growth == nil { share.growing.drop(growth) }
            // What is written from now on need not come to our knowledge.
            tellOthers(of: node.object)
            return opening
        } catch {
            share.growing.drop(growth)
            throw error
        }
    }

    /// A handle is being opened, alone; O_TRUNC has done its work.
    /// - Parameter size: since this runs alone. Who can write already may have made it longer, which counts for nothing.
    /// - Returns: what is known of the file, if the handle can write.
    func entering(_ growth: Growth?, size: UInt64, _ intent: OpenIntent, _ caller: Caller) throws(Errno) -> Growth? {
        guard let growth else { return nil }
        guard intent.contains(.write) else {
            growth.truncated(to: size, byRoot: caller.uid == 0)
            return nil
        }
        growth.enter(size: size, byRoot: caller.uid == 0)
        return growth
    }

    /// The handle that creating gives. Nothing can be in its way, and names are held, so it must not wait.
    func enteringNew(_ node: Node, _ caller: Caller) -> Growth {
        let growth = share.growing.hold(node.object.key)
        growth.enter(size: 0, byRoot: caller.uid == 0)
        return growth
    }

    /// Runs what changes a size, a time or a capability, which the fill would trample on.
    func undisturbed<Value>(
        _ id: NodeID, settingSize size: UInt64? = nil, _ caller: Caller, _ body: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        let node = try node(id)
        guard node.object.kind == .file else { return try body() }
        let growth = share.growing.hold(node.object.key)
        defer { share.growing.drop(growth) }
        return try growth.alone { () throws(Errno) in
            let value = try body()
            if let size { growth.truncated(to: size, byRoot: caller.uid == 0) }
            return value
        }
    }

    /// What a program reserves or punches itself is no gap.
    func leaveAlone(_ file: OpenFile, mode: Int32, offset: Int64, length: Int64, size: UInt64) {
        guard let growth = file.growth, offset >= 0, length > 0 else { return }
        let start = UInt64(offset)
        var end = start + UInt64(length)
        // Beyond the end there is nothing to punch.
        if mode & AllocateFlag.punchHole != 0 { end = min(end, size) }
        if start < end { growth.leaveAlone(start..<end) }
    }

    /// For `aclfs status`.
    var zeroFillMembers: [JSON.Member] {
        let files = share.growing
        return [
            .init("reserved_bytes", .integer(Int64(clamping: files.reservedBytes.load(ordering: .relaxed)))),
            .init("written_bytes", .integer(Int64(clamping: files.writtenBytes.load(ordering: .relaxed)))),
            .init("files_waiting", .integer(Int64(files.filler.count))),
            .init("files_left_with_holes", .integer(Int64(clamping: files.left.load(ordering: .relaxed)))),
        ]
    }
}
