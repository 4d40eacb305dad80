import ACLFormats
import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem

/// Attributes: asked for and changed; `access`, the target of a link, statistics.
final class AttributeOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let gaps: GapReservations
    let metadata: MetadataChanges
    let handles: HandleTable
    let accessTimes: AccessTimes

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, gaps: GapReservations,
        metadata: MetadataChanges, handles: HandleTable, accessTimes: AccessTimes
    ) {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.gaps, self.metadata, self.handles, self.accessTimes) = (
            loader, judge, kernel, held, share, gaps, metadata, handles, accessTimes
        )
    }
}

extension AttributeOperations {
    /// - Parameter handle: the kernel's own question on the way of a read or seek through an open file, which may not fail
    ///   for what the caller may not do any more. fstat(2) comes without one.
    func status(_ id: NodeID, _ handle: HandleID?, _ caller: Caller) throws(Errno) -> AttributeAnswer {
        // An entry's attributes that are not good for any time are followed by this question.
        if share.growing.times.areMoved { share.growing.times.awaitRelease(try loader.node(id).object.key) }
        return try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            let operands = Operands(object: object)
            if let handle, let file = try? handles.file(handle), file.node.id == id,
                !judge.decide(.stat, operands, caller).isAllowed
            {
                return kernel.uncacheableAttributes(of: object)
            }
            try judge.permit(.stat, operands, caller, about: object)
            return kernel.cacheableAttributes(of: object)
        }
    }

    func access(_ id: NodeID, mask: Int32, _ caller: Caller) throws(Errno) {
        try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            let mask = AccessMask(rawValue: UInt8(truncatingIfNeeded: mask & 7))
            try judge.permit(.access(mask), Operands(object: object), caller, about: object)
        }
    }

    func readLink(_ id: NodeID, _ caller: Caller) throws(Errno) -> [UInt8] {
        try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            try judge.permit(.readLink, Operands(object: object), caller, about: object)
            // Bound, so that it outlives the call.
            let place = accessTimes.place(of: object.descriptor.rawValue) ?? object.descriptor
            return try Syscall.readlinkat(place.rawValue)
        }
    }

    func statistics(_ id: NodeID, _ caller: Caller) throws(Errno) -> FileSystemStatistics {
        if loader.view != nil {
            // Nobody is refused this elsewhere, but nothing is told about a place that nothing reaches.
            try share.lock.withReadLock { () throws(Errno) in
                let object = try loader.load(id)
                if object.location.rights.isEmpty { try judge.permit(.readFlags, Operands(object: object), caller, about: object) }
            }
        }
        let descriptor = try loader.tree.descriptor(of: loader.node(id).object)
        let status = try Syscall.fstatvfs(descriptor.rawValue)
        return FileSystemStatistics(
            blocks: status.blocks, blocksFree: status.bfree, blocksAvailable: status.bavail, files: status.files,
            filesFree: status.ffree, blockSize: UInt32(truncatingIfNeeded: status.bsize),
            fragmentSize: UInt32(truncatingIfNeeded: status.frsize),
            nameLength: UInt32(truncatingIfNeeded: status.namemax))
    }

    /// SETATTR while nothing else changes the file.
    func setAttributes(_ id: NodeID, _ changes: SetAttributes, _ caller: Caller) throws(Errno) -> AttributeAnswer {
        func performHere() throws(Errno) -> AttributeAnswer {
            try gaps.withoutFill(id, caller, changes) { () throws(Errno) in try performSetAttributes(id, changes, caller) }
        }
        if let answer = try held.runUnlessHeld(caller, performHere) { return answer }
        return try held.runHeldChange(id, caller) { [self] () throws(Errno) in
            try gaps.withoutFill(id, caller, changes) { () throws(Errno) in try performSetAttributes(id, changes, caller) }
        }
    }

    /// SETATTR in all combinations: everything is judged before anything is done, so that a request that
    /// fails has changed nothing.
    private func performSetAttributes(_ id: NodeID, _ changes: SetAttributes, _ caller: Caller) throws(Errno) -> AttributeAnswer {
        if let size = changes.size, changes.mode == nil, changes.uid == nil, changes.gid == nil {
            return try resize(id, to: size, through: changes.handle, caller)
        }
        return try metadata.withMetadataLocked(id, record: changes.uid != nil || changes.gid != nil) { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            let operands = Operands(object: object)
            let times = requestedTimes(changes)
            if let mode = changes.mode, !isIssuedByKernel(mode, changes, object, caller) {
                try judge.permit(.chmod(FileMode(rawValue: UInt16(mode & 0o7777))), operands, caller, about: object)
            }
            if changes.uid != nil || changes.gid != nil {
                try judge.permit(.chown(uid: changes.uid, gid: changes.gid), operands, caller, about: object)
            }
            if changes.size != nil { try permitTruncation(object, changes.handle, caller) }
            if let times {
                try judge.permit(
                    .setTimes(access: times.access.kind, modification: times.modification.kind), operands, caller, about: object)
            }
            // The kernel will ask for this name without a lock, whatever the change was (R10).
            if changes.mode != nil, object.facts.kind == .directory { object.node?.revalidation.mark() }
            do throws(Errno) {
                try apply(changes, times, to: object, caller)
                let after = try loader.reload(object, keepsRecord: changes.uid == nil && changes.gid == nil)
                kernel.invalidate(object, after: after.facts, repliesWithAttributes: true)
                return kernel.attributesAfterChange(of: after)
            } catch {
                // It may be half done.
                if error != .mayBeHeld { kernel.invalidate(object, after: nil) }
                throw error
            }
        }
    }

    /// A size alone. Decided under the lock on the object that is then cut, outside it: a large file may take long, and
    /// whoever takes the right away meanwhile is behind a call that began before.
    private func resize(
        _ id: NodeID, to size: UInt64, through handle: HandleID?, _ caller: Caller
    ) throws(Errno) -> AttributeAnswer {
        let object = try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            try permitTruncation(object, handle, caller)
            try metadata.clearSetIDUnlessRoot(of: object, caller, holding: .reading)
            return object
        }
        do throws(Errno) {
            try held.makeCall(on: object, holding: .free) { () throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in
                    defer { kernel.invalidateContent(of: object.object) }
                    try Syscall.truncate(object.descriptor.rawValue, size: Int64(bitPattern: size))
                }
            }
            share.growing.times.leaveMoved(object.object.key)
            return try share.lock.withReadLock { () throws(Errno) in kernel.attributesAfterChange(of: try loader.load(id)) }
        } catch {
            if error != .mayBeHeld, let node = object.node { kernel.invalidateAttributes(of: node) }
            throw error
        }
    }

    /// Kernels that do not leave set-id bits to us clear them by a SETATTR of their own, in the name of whoever writes,
    /// truncates or changes the owner (docs/authorization.md 6.7). Nothing but these bits may differ, and the act that they
    /// go with must be in the request or in reach of a handle of his.
    private func isIssuedByKernel(
        _ mode: UInt32, _ changes: SetAttributes, _ object: ObjectState, _ caller: Caller
    ) -> Bool {
        guard !kernel.leavesSetIDToDaemon, object.facts.kind == .file else { return false }
        let current = UInt32(object.facts.mode.rawValue)
        guard mode & 0o7777 != current, (mode & 0o7777) | 0o6000 == current | 0o6000, mode & 0o6000 & ~current == 0 else {
            return false
        }
        if changes.size != nil || changes.uid != nil || changes.gid != nil { return true }
        guard changes.accessTime == nil, changes.modificationTime == nil, let node = object.node else { return false }
        return handles.hasWritableFile(of: node, openedBy: caller.uid)
    }

    /// The kernel's request before somebody writes names nothing, and chown(2) without ids looks the same: who holds no
    /// handle to write through changes nothing by it, as on macOS (docs/authorization.md 6.3). RELEASE comes behind close(2), so a file
    /// that was closed a moment ago may count as open still: then the bits go, which is less access.
    private func precedesWrite(_ changes: SetAttributes, to object: ObjectState, _ caller: Caller) -> Bool {
        guard changes.size == nil, changes.uid == nil, changes.gid == nil, let node = object.node else { return false }
        return handles.hasWritableFile(of: node, openedBy: caller.uid)
    }

    /// By path it asks `write`; through a handle its access mode and the flags (docs/authorization.md 2.2, 2.4).
    private func permitTruncation(_ object: ObjectState, _ handle: HandleID?, _ caller: Caller) throws(Errno) {
        guard let handle else { return try judge.permit(.truncate, Operands(object: object), caller, about: object) }
        let file = try handles.file(handle)
        try judge.permit(.truncate, through: file, flags: object.facts.flags)
    }

    /// Each change leaves less access than both neighbours would: set-id bits go before the owner changes,
    /// a new mode comes last.
    private func apply(
        _ changes: SetAttributes, _ times: RequestedTimes?, to object: ObjectState, _ caller: Caller
    ) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        if changes.uid != nil || changes.gid != nil {
            try metadata.changeIDs(of: object, uid: changes.uid, gid: changes.gid)
        }
        if let size = changes.size {
            if caller.uid != 0 { try metadata.clearSetID(of: object) }
            try held.makeCall(on: object) { () throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in
                    defer { kernel.invalidateContent(of: object.object) }
                    try Syscall.truncate(descriptor, size: Int64(bitPattern: size))
                }
            }
            share.growing.times.leaveMoved(object.object.key)
        }
        if let mode = changes.mode {
            let stored = AttributeEffect.storedMode(FileMode(rawValue: UInt16(mode & 0o7777)), on: judge.volume)
            try held.makeCall(on: object) { () throws(Errno) in try Syscall.fchmod(descriptor, mode: UInt32(stored.rawValue)) }
        } else if changes.killSetID, caller.uid != 0, precedesWrite(changes, to: object, caller) {
            try metadata.clearSetID(of: object)
        }
        if let times {
            try held.makeCall(on: object) { () throws(Errno) in
                try Syscall.utimens(
                    descriptor, access: times.access.change, modification: times.modification.change)
            }
            // What somebody sets stays, whatever he set it to.
            if changes.modificationTime != nil { share.growing.times.leaveMoved(object.object.key) }
        }
    }

    /// A truncation carries the kernel's own "now", which nobody asked for.
    private func requestedTimes(_ changes: SetAttributes) -> RequestedTimes? {
        if changes.size != nil { return nil }
        if changes.accessTime == nil, changes.modificationTime == nil { return nil }
        return RequestedTimes(
            access: RequestedTime(changes.accessTime), modification: RequestedTime(changes.modificationTime))
    }
}

private struct RequestedTimes {
    var access: RequestedTime
    var modification: RequestedTime
}

private struct RequestedTime {
    var kind: Authorization.TimeChange
    var change: LinuxSystem.TimeChange

    init(_ time: SetAttributes.Time?) {
        switch time {
        case nil: (kind, change) = (.omit, .omit)
        case .now: (kind, change) = (.now, .now)
        case .at(let time):
            (kind, change) = (.chosen, .set(Timespec(sec: time.seconds, nsec: time.nanoseconds)))
        }
    }
}
