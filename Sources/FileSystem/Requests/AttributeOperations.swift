import ACLFormats
import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import WireFormats

/// Requests about attributes: GETATTR, STATX, SETATTR; also ACCESS, READLINK, STATFS.
final class AttributeOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let gaps: GapReservations
    let metadata: MetadataChanges
    let files: OpenFiles

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, gaps: GapReservations,
        metadata: MetadataChanges, files: OpenFiles
    ) {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.gaps, self.metadata, self.files) = (
            loader, judge, kernel, held, share, gaps, metadata, files
        )
    }
}

extension AttributeOperations {
    /// GETATTR and STATX.
    /// - Parameter handle: given where the kernel asks by itself, during a read or seek through an open file. That must not fail when the
    ///   caller has lost the right to ask. fstat(2) gives none.
    func status(_ id: NodeID, _ handle: HandleID?, _ caller: Caller) throws(Errno) -> AttributeAnswer {
        // Attributes of an entry with a timeout of 0 are followed by this request.
        if share.writableFiles.times.areAnyMoved { share.writableFiles.times.awaitRelease(try loader.node(id).object.key) }
        return try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            let operands = Operands(object: object)
            if let handle, let file = try? files.file(handle), file.node.id == id,
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
            // Bound to a name, so that the descriptor outlives the call.
            let place = files.accessTimes.descriptorOnMountCopy(of: object.descriptor.rawValue) ?? object.descriptor
            return try Syscall.readlinkat(place.rawValue)
        }
    }

    func statistics(_ id: NodeID, _ caller: Caller) throws(Errno) -> FileSystemStatistics {
        if loader.view != nil {
            // An unconfined mount grants this to every caller. A confined one reveals nothing about a location without rights.
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

    /// SETATTR. No zeros are written meanwhile.
    func setAttributes(_ id: NodeID, _ changes: SetAttributes, _ caller: Caller) throws(Errno) -> AttributeAnswer {
        try held.run((id, changes, caller), caller, on: .object(id)) { [self] (input) throws(Errno) in
            let (id, changes, caller) = input
            return try gaps.withoutFill(id, caller, changes) { () throws(Errno) in try performSetAttributes(id, changes, caller) }
        }
    }

    /// SETATTR in all combinations. Every part is judged before one is changed, so a request that is denied changes nothing.
    private func performSetAttributes(_ id: NodeID, _ changes: SetAttributes, _ caller: Caller) throws(Errno) -> AttributeAnswer {
        if let size = changes.size, changes.mode == nil, changes.uid == nil, changes.gid == nil {
            return try resize(id, to: size, through: changes.handle, caller)
        }
        let mayChangeRecord = changes.uid != nil || changes.gid != nil || changes.mode != nil && judge.posix.isOn
        return try metadata.withMetadataLocked(id, record: mayChangeRecord) { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            let operands = Operands(object: object)
            let changes = changes.mode.map { changes.replacing(mode: metadata.grantedMode($0, of: object, caller)) } ?? changes
            let times = requestedTimes(changes)
            let posix = try changes.mode.flatMap { (mode) throws(Errno) in try posixChange(of: object, to: mode, caller) }
            if let mode = changes.mode, !isIssuedByKernel(mode, changes, object, caller) {
                try judge.permit(.chmod(FileMode(rawValue: UInt16(mode & 0o7777))), operands, caller, about: object)
                if let posix { try judge.permit(.setACL(posix.acl), operands, caller, about: object) }
            }
            if changes.uid != nil || changes.gid != nil {
                try judge.permit(.chown(uid: changes.uid, gid: changes.gid), operands, caller, about: object)
            }
            if changes.size != nil { try permitTruncation(object, changes.handle, caller) }
            if let times, !(times.areNow && mayTouchHandedOver(object, caller)) {
                try judge.permit(
                    .setTimes(access: times.access.kind, modification: times.modification.kind), operands, caller, about: object)
            }
            if changes.mode != nil { kernel.prepareModeChange(of: object) }
            do throws(Errno) {
                try apply(changes, times, posix, to: object, caller)
                let after = try loader.reload(object, keepsRecord: changes.uid == nil && changes.gid == nil && posix == nil)
                kernel.invalidate(object, after: after.facts, repliesWithAttributes: true)
                return kernel.attributesAfterChange(of: after)
            } catch {
                // The change may be incomplete.
                if error != .mayBeHeld { kernel.invalidate(object, after: nil) }
                throw error
            }
        }
    }

    /// What a chmod of an object with a POSIX ACL changes (docs/reference/posix-acl.md); nil of any other object.
    private func posixChange(of object: ObjectState, to mode: UInt32, _ caller: Caller) throws(Errno) -> PosixChange? {
        if judge.posix.areUnknown(object.facts), object.facts.acl != nil { throw .io }
        do throws(PosixRefusal) {
            return try judge.posix.changingMode(of: object.facts, to: FileMode(rawValue: UInt16(mode & 0o7777)))
        } catch {
            try judge.permit(.chmod(FileMode(rawValue: UInt16(mode & 0o7777))), Operands(object: object), caller, about: object)
            metadata.refusals.note(
                "chmod", error.message, by: caller, on: object.descriptor.rawValue, with: "EOPNOTSUPP")
            throw .opnotsupp
        }
    }

    /// Changes a size alone. The decision is made under the metadata lock, the call without it, because a large file may take long. A
    /// revocation in between comes after a call that has begun before.
    private func resize(_ id: NodeID, to size: UInt64, through handle: HandleID?, _ caller: Caller) throws(Errno) -> AttributeAnswer {
        let object = try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(id)
            try held.requireNoOtherChange(of: object)
            try permitTruncation(object, handle, caller)
            try metadata.clearSetIDUnlessKept(of: object, caller, holding: .reading)
            return object
        }
        do throws(Errno) {
            try held.makeCall(on: object, holding: .free) { () throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in
                    defer { kernel.invalidateContent(of: object.object) }
                    try Syscall.truncate(object.descriptor.rawValue, size: Int64(bitPattern: size))
                }
            }
            share.writableFiles.times.discard(object.object.key)
            return try share.lock.withReadLock { () throws(Errno) in kernel.attributesAfterChange(of: try loader.load(id)) }
        } catch {
            if error != .mayBeHeld, let node = object.node { kernel.invalidateAttributes(of: node) }
            throw error
        }
    }

    /// Whether the kernel clears set-id bits by itself: in the name of a caller that writes, truncates or changes the owner
    /// (docs/reference/authorization.md 6.7). Only these bits may differ. The request must contain the change, or the caller must have a
    /// writable handle.
    private func isIssuedByKernel(_ mode: UInt32, _ changes: SetAttributes, _ object: ObjectState, _ caller: Caller) -> Bool {
        guard !kernel.leavesSetIDToDaemon, object.facts.kind == .file else { return false }
        let current = UInt32(judge.posix.shownMode(object.facts).rawValue)
        guard mode & 0o7777 != current, (mode & 0o7777) | 0o6000 == current | 0o6000, mode & 0o6000 & ~current == 0 else {
            return false
        }
        if changes.size != nil || changes.uid != nil || changes.gid != nil { return true }
        guard changes.accessTime == nil, changes.modificationTime == nil, let node = object.node else { return false }
        return files.hasWritableFile(of: node, openedBy: caller.uid)
    }

    /// Whether the kernel sends the request before a write. chown(2) without ids looks the same, and must change nothing unless the caller
    /// has a writable handle (docs/reference/authorization.md 6.3). RELEASE follows close(2), so a closed handle may still count: then the bits go,
    /// which is less access.
    private func precedesWrite(_ changes: SetAttributes, to object: ObjectState, _ caller: Caller) -> Bool {
        guard changes.size == nil, changes.uid == nil, changes.gid == nil, let node = object.node else { return false }
        return files.hasWritableFile(of: node, openedBy: caller.uid)
    }

    /// Judges a truncation: by path the right to write, through a handle its access mode and the flags (docs/reference/authorization.md 2.2, 2.4).
    private func permitTruncation(_ object: ObjectState, _ handle: HandleID?, _ caller: Caller) throws(Errno) {
        guard let handle else { return try judge.permit(.truncate, Operands(object: object), caller, about: object) }
        let file = try files.file(handle)
        try judge.permit(.truncate, through: file, flags: object.facts.flags)
    }

    /// Whether a file that the caller has made and given away takes the present time (docs/reference/authorization.md Q4): touch(1) makes a file, sets its
    /// times, and closes it. The request names no handle.
    private func mayTouchHandedOver(_ object: ObjectState, _ caller: Caller) -> Bool {
        guard object.facts.owner != caller.uid, let node = object.node, let file = files.handedOver(node, by: caller.uid) else {
            return false
        }
        return (try? judge.permit(.touch, through: file, flags: object.facts.flags)) != nil
    }

    /// Makes the changes in an order that never leaves more access than the states before and after: set-id bits go before the owner
    /// changes, a new mode comes last.
    private func apply(
        _ changes: SetAttributes, _ times: RequestedTimes?, _ posix: PosixChange?, to object: ObjectState, _ caller: Caller
    ) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        if changes.uid != nil || changes.gid != nil {
            try metadata.changeIDs(of: object, uid: changes.uid, gid: changes.gid)
        }
        if let size = changes.size {
            if object.status.mode & 0o6000 != 0, !judge.keepsSetID(caller) { try metadata.clearSetID(of: object) }
            try held.makeCall(on: object) { () throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in
                    defer { kernel.invalidateContent(of: object.object) }
                    try Syscall.truncate(descriptor, size: Int64(bitPattern: size))
                }
            }
            share.writableFiles.times.discard(object.object.key)
        }
        if let posix {
            try metadata.apply(posix, to: object, caller)
        } else if let mode = changes.mode, !loader.tree.keepsFormatBits(on: object.status.device) {
            // FAT's only bit of the mode is its read-only bit, which stands for a flag. So chmod has no effect there, as chown has none.
            let stored = AttributeEffect.storedMode(FileMode(rawValue: UInt16(mode & 0o7777)), on: judge.volume)
            try held.makeCall(on: object) { () throws(Errno) in try Syscall.fchmod(descriptor, mode: UInt32(stored.rawValue)) }
        } else if changes.killSetID, object.status.mode & 0o6000 != 0, precedesWrite(changes, to: object, caller),
            !judge.keepsSetID(caller)
        {
            try metadata.clearSetID(of: object)
        }
        if let times {
            try held.makeCall(on: object) { () throws(Errno) in
                try Syscall.utimens(
                    descriptor, access: times.access.change, modification: times.modification.change)
            }
            // A time that a caller has set is never restored.
            if changes.modificationTime != nil { share.writableFiles.times.discard(object.object.key) }
        }
    }

    /// The times that the caller sets; nil if none. A truncation carries the kernel's own "now", which is no request.
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
    var areNow: Bool { access.kind == .now && modification.kind == .now }
}

private struct RequestedTime {
    var kind: TimeChange
    var change: TimeSetting

    init(_ time: SetAttributes.Time?) {
        switch time {
        case nil: (kind, change) = (.omit, .omit)
        case .now: (kind, change) = (.now, .now)
        case .at(let time):
            (kind, change) = (.chosen, .set(Timespec(sec: time.seconds, nsec: time.nanoseconds)))
        }
    }
}
