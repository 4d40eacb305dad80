import ACLFormats
import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem

extension FileSystem {
    /// Whether the daemon may give objects to others.
    var runsAsRoot: Bool { geteuid() == 0 }

    /// SETATTR while nothing else changes the file.
    func changeUndisturbed(_ id: NodeID, _ changes: SetAttributes, _ caller: Caller) throws(Errno) -> ShownAttributes {
        func perform() throws(Errno) -> ShownAttributes {
            try undisturbed(id, caller, changes) { () throws(Errno) in try change(id, changes, caller) }
        }
        if let shown = try unlessHeld(caller, perform) { return shown }
        return try changingHeld(id, caller) { [self] () throws(Errno) in
            try undisturbed(id, caller, changes) { () throws(Errno) in try change(id, changes, caller) }
        }
    }

    /// SETATTR in all combinations: everything is judged before anything is done, so that a request that
    /// fails has changed nothing.
    func change(_ id: NodeID, _ changes: SetAttributes, _ caller: Caller) throws(Errno) -> ShownAttributes {
        if let size = changes.size, changes.mode == nil, changes.uid == nil, changes.gid == nil {
            return try resize(id, to: size, through: changes.handle, caller)
        }
        return try changing(id, record: changes.uid != nil || changes.gid != nil) { () throws(Errno) in
            let object = try load(id)
            try requireNoOtherChange(of: object)
            let nodes = Operands(object: object)
            let times = requestedTimes(changes)
            if let mode = changes.mode, !isKernelsOwn(mode, changes, object, caller) {
                try judge.permit(.chmod(FileMode(rawValue: UInt16(mode & 0o7777))), nodes, caller, about: object)
            }
            if changes.uid != nil || changes.gid != nil {
                try judge.permit(.chown(uid: changes.uid, gid: changes.gid), nodes, caller, about: object)
            }
            if changes.size != nil { try permitTruncation(object, changes.handle, caller) }
            if let times {
                try judge.permit(
                    .setTimes(access: times.access.kind, modification: times.modification.kind), nodes, caller, about: object)
            }
            // The kernel will ask for this name without a lock, whatever the change was (R10).
            if changes.mode != nil, object.facts.kind == .directory { object.node?.revalidation.mark() }
            do throws(Errno) {
                try apply(changes, times, to: object, caller)
                let after = try reload(object, keepsRecord: changes.uid == nil && changes.gid == nil)
                invalidate(object, after: after.facts, repliesWithAttributes: true)
                return shownAfterChange(after)
            } catch {
                // It may be half done.
                if error != .mayBeHeld { invalidate(object, after: nil) }
                throw error
            }
        }
    }

    /// A size alone. Decided under the lock on the object that is then cut, outside it: a large file may take long, and
    /// whoever takes the right away meanwhile is behind a call that began before.
    private func resize(
        _ id: NodeID, to size: UInt64, through handle: HandleID?, _ caller: Caller
    ) throws(Errno) -> ShownAttributes {
        let object = try metadataLock.withReadLock { () throws(Errno) in
            let object = try load(id)
            try requireNoOtherChange(of: object)
            try permitTruncation(object, handle, caller)
            try clearSetID(object, caller, holding: .reading)
            return object
        }
        do throws(Errno) {
            try acting(on: object, holding: .free) { () throws(Errno) in
                try spending(for: caller) { () throws(Errno) in
                    defer { share.contentChanged(object.object, through: self) }
                    try Syscall.truncate(object.descriptor.rawValue, size: Int64(bitPattern: size))
                }
            }
            share.growing.times.leaveMoved(object.object.key)
            return try metadataLock.withReadLock { () throws(Errno) in shownAfterChange(try load(id)) }
        } catch {
            if error != .mayBeHeld, let node = object.node { invalidateAttributes(of: node) }
            throw error
        }
    }

    /// Kernels that do not leave set-id bits to us clear them by a SETATTR of their own, in the name of whoever writes,
    /// truncates or changes the owner (docs/authorization.md 6.7). Nothing but these bits may differ, and the act that they
    /// go with must be in the request or in reach of a handle of his.
    private func isKernelsOwn(
        _ mode: UInt32, _ changes: SetAttributes, _ object: ObjectState, _ caller: Caller
    ) -> Bool {
        guard !kernelLeavesSetID, object.facts.kind == .file else { return false }
        let now = UInt32(object.facts.mode.rawValue)
        guard mode & 0o7777 != now, (mode & 0o7777) | 0o6000 == now | 0o6000, mode & 0o6000 & ~now == 0 else {
            return false
        }
        if changes.size != nil || changes.uid != nil || changes.gid != nil { return true }
        guard changes.accessTime == nil, changes.modificationTime == nil, let node = object.node else { return false }
        return handles.hasWritableFile(of: node, openedBy: caller.uid)
    }

    /// The kernel's request before somebody writes names nothing, and chown(2) without ids looks the same: who holds no
    /// handle to write through changes nothing by it, as on macOS (docs/authorization.md 6.3). RELEASE comes behind close(2), so a file
    /// that was closed a moment ago may count as open still: then the bits go, which is less access.
    private func isBeforeWriting(_ changes: SetAttributes, to object: ObjectState, _ caller: Caller) -> Bool {
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
            try changeOwner(of: object, uid: changes.uid, gid: changes.gid)
        }
        if let size = changes.size {
            if caller.uid != 0 { try clearSetID(of: object) }
            try acting(on: object) { () throws(Errno) in
                try spending(for: caller) { () throws(Errno) in
                    defer { share.contentChanged(object.object, through: self) }
                    try Syscall.truncate(descriptor, size: Int64(bitPattern: size))
                }
            }
            share.growing.times.leaveMoved(object.object.key)
        }
        if let mode = changes.mode {
            let stored = AttributeEffect.storedMode(FileMode(rawValue: UInt16(mode & 0o7777)), on: volume)
            try acting(on: object) { () throws(Errno) in try Syscall.fchmod(descriptor, mode: UInt32(stored.rawValue)) }
        } else if changes.killSetID, caller.uid != 0, isBeforeWriting(changes, to: object, caller) {
            try clearSetID(of: object)
        }
        if let times {
            try acting(on: object) { () throws(Errno) in
                try Syscall.utimens(
                    descriptor, access: times.access.change, modification: times.modification.change)
            }
            // What somebody sets stays, whatever he set it to.
            if changes.modificationTime != nil { share.growing.times.leaveMoved(object.object.key) }
        }
    }

    /// Any chown that names an id clears both set-id bits, also root's and on every kind (6.3). On a volume
    /// that ignores ownership the change itself is accepted and discarded (Q1).
    func changeOwner(of object: ObjectState, uid: UInt32?, gid: UInt32?) throws(Errno) {
        try acting(on: object) { () throws(Errno) in try changeOwnerAlone(of: object, uid: uid, gid: gid) }
    }

    private func changeOwnerAlone(of object: ObjectState, uid: UInt32?, gid: UInt32?) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        let mode = AttributeEffect.modeAfterChown(object.facts, uid: uid, gid: gid)
        if mode != object.facts.mode { try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue)) }
        if volume.ignoresOwnership { return try dropCapabilitiesWithoutOwner(object) }
        // An owner that uid does not imply ends with the uid that it went with.
        let before = try tree.record(descriptor)
        var record = before
        if uid != nil { record.ownerGUID = nil }
        if gid != nil { record.groupGUID = nil }
        if record != before { try tree.write(record, to: descriptor) }
        do { try Syscall.fchown(descriptor, uid: uid ?? .max, gid: gid ?? .max) } catch {
            // No quota for the new owner, say: everything stays as it was.
            if record != before { try? tree.write(before, to: descriptor) }
            throw error
        }
        // The backing may clear or, on directories, keep bits in its own way.
        if object.facts.kind != .symlink { try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue)) }
    }

    /// A truncation carries the kernel's own "now", which nobody asked for.
    private func requestedTimes(_ changes: SetAttributes) -> RequestedTimes? {
        if changes.size != nil { return nil }
        if changes.accessTime == nil, changes.modificationTime == nil { return nil }
        return RequestedTimes(
            access: RequestedTime(changes.accessTime), modification: RequestedTime(changes.modificationTime))
    }

    func changeFlags(_ object: ObjectState, to requested: FileFlags, _ caller: Caller) throws(Errno) {
        // Judged as it is shown: what clears a backup key through the flag is a change, too.
        var shown = object.facts
        shown.flags = try markedFlags(object)
        var requested = requested
        // Shown because of where it is, so that it comes with every change of another flag.
        if object.location.isLeftOutOfBackups, !shown.flags.contains(.noDump) { requested.subtract(.noDump) }
        try judge.permit(.chflags(requested), Operands(object: object).with(shown), caller, about: object)
        let flags = AttributeEffect.flags(after: requested, on: shown)
        if flags == shown.flags { return }
        var record = try tree.record(object.descriptor.rawValue)
        record.flags = flags
        try changeRecord(of: object, to: record, after: object.facts, caller)
        if !flags.contains(.noDump) { try dropBackupMarks(object) }
    }

    func changeACL(_ object: ObjectState, to acl: ACL?, _ caller: Caller) throws(Errno) {
        try judge.permit(.setACL(acl), Operands(object: object), caller, about: object)
        if acl == object.facts.acl { return }
        var record = try tree.record(object.descriptor.rawValue)
        record.acl = acl
        var after = object.facts
        after.acl = acl
        try changeRecord(of: object, to: record, after: after, caller)
    }

    /// Stores a record and tells the kernel, whether it could be stored or not.
    func changeRecord(
        of object: ObjectState, to record: MetadataRecord, after facts: ObjectFacts, _ caller: Caller
    ) throws(Errno) {
        do throws(Errno) {
            try acting(on: object) { () throws(Errno) in
                try spending(for: caller) { () throws(Errno) in try tree.write(record, to: object.descriptor.rawValue) }
            }
        } catch {
            if error != .mayBeHeld { invalidate(object, after: facts) }
            throw error
        }
        invalidate(object, after: facts)
    }
}

private struct RequestedTimes {
    var access: RequestedTime
    var modification: RequestedTime
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
