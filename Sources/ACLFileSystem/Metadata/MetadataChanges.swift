import ACLFormats
import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import MountOptions

/// Whether the daemon may give objects to others.
var runsAsRoot: Bool { geteuid() == 0 }

/// Changes what is stored of an object, once for all operations that ask for such a change: by `setattr`, by an attribute, by `ioctl`.
/// The caller holds the metadata lock through `changing`, or says how it is held.
final class MetadataChanges: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let handles: HandleTable
    let options: MountOptions

    init(loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, handles: HandleTable, options: MountOptions)
    {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.handles, self.options) = (
            loader, judge, kernel, held, share, handles, options
        )
    }
}

extension MetadataChanges {
    /// Any chown that names an id clears both set-id bits, also root's and on every kind (docs/authorization.md 6.3). On a volume
    /// that ignores ownership the change itself is accepted and discarded (Q1).
    func changeIDs(of object: ObjectState, uid: UInt32?, gid: UInt32?) throws(Errno) {
        try held.makeCall(on: object) { () throws(Errno) in try makeIDCalls(of: object, uid: uid, gid: gid) }
    }

    private func makeIDCalls(of object: ObjectState, uid: UInt32?, gid: UInt32?) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        let mode = AttributeEffect.modeAfterChown(object.facts, uid: uid, gid: gid)
        if mode != object.facts.mode { try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue)) }
        if judge.volume.ignoresOwnership { return try removeCapabilitiesOfFile(object) }
        // An owner that uid does not imply ends with the uid that it went with.
        let before = try loader.tree.record(descriptor)
        var record = before
        if uid != nil { record.ownerGUID = nil }
        if gid != nil { record.groupGUID = nil }
        if record != before { try loader.tree.write(record, to: descriptor) }
        do { try Syscall.fchown(descriptor, uid: uid ?? .max, gid: gid ?? .max) } catch {
            // No quota for the new owner, say: everything stays as it was.
            if record != before { try? loader.tree.write(before, to: descriptor) }
            throw error
        }
        // The backing may clear or, on directories, keep bits in its own way.
        if object.facts.kind != .symlink { try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue)) }
    }

    func changeFlags(_ object: ObjectState, to requested: FileFlags, _ caller: Caller) throws(Errno) {
        // Judged as it is shown: what clears a backup key through the flag is a change, too.
        var visible = object.facts
        visible.flags = try markedFlags(object)
        var requested = requested
        // Shown because of where it is, so that it comes with every change of another flag.
        if object.location.isLeftOutOfBackups, !visible.flags.contains(.noDump) { requested.subtract(.noDump) }
        try judge.permit(.chflags(requested), Operands(object: object).replacingFacts(with: visible), caller, about: object)
        let flags = AttributeEffect.flags(after: requested, on: visible)
        if flags == visible.flags { return }
        var record = try loader.tree.record(object.descriptor.rawValue)
        record.flags = flags
        try changeRecord(of: object, to: record, after: object.facts, caller)
        if !flags.contains(.noDump) { try removeStoredMarks(object) }
    }

    func changeACL(_ object: ObjectState, to acl: ACL?, _ caller: Caller) throws(Errno) {
        try judge.permit(.setACL(acl), Operands(object: object), caller, about: object)
        if acl == object.facts.acl { return }
        var record = try loader.tree.record(object.descriptor.rawValue)
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
            try held.makeCall(on: object) { () throws(Errno) in
                try allocateBlocks(for: caller) { () throws(Errno) in try loader.tree.write(record, to: object.descriptor.rawValue) }
            }
        } catch {
            if error != .mayBeHeld { kernel.invalidate(object, after: facts) }
            throw error
        }
        kernel.invalidate(object, after: facts)
    }

    /// - Returns: whether there were any.
    @discardableResult
    func clearSetID(of object: ObjectState, holding hold: MetadataHold = .writing) throws(Errno) -> Bool {
        let mode = object.status.mode
        guard mode & 0o6000 != 0, object.status.isRegular else { return false }
        try held.makeCall(on: object, holding: hold) { () throws(Errno) in
            try Syscall.fchmod(object.descriptor.rawValue, mode: mode & 0o1777)
        }
        return true
    }

    /// Before a truncation by anybody but root.
    func clearSetIDUnlessRoot(of object: ObjectState, _ caller: Caller, holding hold: MetadataHold) throws(Errno) {
        guard caller.uid != 0, try clearSetID(of: object, holding: hold) else { return }
        if let node = object.node { kernel.invalidateAttributes(of: node) }
    }

    func storeXattr(
        _ name: [UInt8], _ value: UnsafeRawBufferPointer, _ flags: Int32, _ object: ObjectState, _ caller: Caller
    ) throws(Errno) {
        defer { kernel.invalidateElsewhere(object.object) }
        let descriptor = object.descriptor.rawValue
        try held.makeCall(on: object) { () throws(Errno) in
            try allocateBlocks(for: caller) { () throws(Errno) in
                try loader.tree.keepingRoom(besides: name, size: value.count, flags: flags, on: descriptor, object.status) {
                    () throws(Errno) in
                    try name.withCName { (name) throws(Errno) in
                        try Syscall.setxattr(.any(descriptor), name, value, flags: flags)
                    }
                }
            }
        }
    }

    func removeXattr(_ name: [UInt8], _ object: ObjectState) throws(Errno) {
        defer { kernel.invalidateElsewhere(object.object) }
        try held.makeCall(on: object) { () throws(Errno) in
            try name.withCName { (name) throws(Errno) in
                try Syscall.removexattr(.any(object.descriptor.rawValue), name)
            }
        }
    }
}
