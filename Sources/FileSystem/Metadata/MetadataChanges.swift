import ACLFormats
import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import SandboxPolicy

/// Whether the daemon may change the owner of objects.
var runsAsRoot: Bool { geteuid() == 0 }

/// Changes what is stored of an object, for all requests that ask for it: SETATTR, SETXATTR, IOCTL.
///
/// The calling operation holds the metadata lock through `withMetadataLocked`, or says how it is held.
final class MetadataChanges: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let files: OpenFiles
    let options: MountOptions
    let synchronous: SynchronousRule
    let refusals: ValueRefusals
    let listOutcomes = ListOutcomes()

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, files: OpenFiles, options: MountOptions,
        synchronous: SynchronousRule, refusals: ValueRefusals
    ) {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.files, self.options, self.synchronous, self.refusals) = (
            loader, judge, kernel, held, share, files, options, synchronous, refusals
        )
    }
}

extension MetadataChanges {
    /// Changes owner and group by number. A chown that names an id clears both set-id bits, for root too and on every kind
    /// (docs/reference/authorization.md 6.3). A volume that ignores ownership accepts and discards the change itself (Q1).
    func changeIDs(of object: ObjectState, uid: UInt32?, gid: UInt32?) throws(Errno) {
        try held.makeCall(on: object) { () throws(Errno) in try makeIDCalls(of: object, uid: uid, gid: gid) }
    }

    private func makeIDCalls(of object: ObjectState, uid: UInt32?, gid: UInt32?) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        let mode = AttributeEffect.modeAfterChown(object.facts, uid: uid, gid: gid)
        if mode != object.facts.mode { try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue)) }
        if judge.volume.ignoresOwnership { return try removeCapabilitiesOfFile(object) }
        // A stored identity belongs to the number that it was set with.
        let before = try loader.tree.record(descriptor)
        var record = before
        if uid != nil { record.ownerGUID = nil }
        if gid != nil { record.groupGUID = nil }
        if record != before { try loader.tree.write(record, to: descriptor) }
        do { try changeNumbers(of: object, uid: uid, gid: gid) } catch {
            // For example, the new owner has no quota: restore the record.
            if record != before { try? loader.tree.write(before, to: descriptor) }
            throw error
        }
        // The backing file system may have cleared other bits, or kept some of a directory.
        if object.facts.kind != .symlink { try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue)) }
    }

    /// - Parameter isExcluded: the location excludes the object from backups (`isExcludedByLocation`).
    func changeFlags(_ object: ObjectState, to requested: FileFlags, isExcluded: Bool, _ caller: Caller) throws(Errno) {
        // Judge the flags that callers read: clearing a backup mark through the flag is a change, too.
        var visible = object.facts
        visible.flags = try markedFlags(object)
        var requested = requested
        // Callers read UF_NODUMP because of the location, so they send it with every change of another flag.
        if requested.contains(.noDump), !visible.flags.contains(.noDump), isExcluded { requested.subtract(.noDump) }
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

    /// Stores a record, and invalidates the kernel's caches even if that fails.
    func changeRecord(of object: ObjectState, to record: MetadataRecord, after facts: ObjectFacts, _ caller: Caller) throws(Errno) {
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

    /// Clears the set-id bits of a file.
    /// - Returns: true if there were any.
    @discardableResult
    func clearSetID(of object: ObjectState, holding hold: MetadataHold = .writing) throws(Errno) -> Bool {
        let mode = object.status.mode
        guard mode & 0o6000 != 0, object.status.isRegular else { return false }
        try held.makeCall(on: object, holding: hold) { () throws(Errno) in
            try Syscall.fchmod(object.descriptor.rawValue, mode: mode & 0o1777)
        }
        return true
    }

    /// Clears the set-id bits of a file before a change of its content, unless the caller's changes leave them.
    func clearSetIDUnlessKept(of object: ObjectState, _ caller: Caller, holding hold: MetadataHold) throws(Errno) {
        guard object.status.mode & 0o6000 != 0, !judge.keepsSetID(caller), try clearSetID(of: object, holding: hold) else { return }
        if let node = object.node { kernel.invalidateAttributes(of: node) }
    }

    func storeXattr(
        _ name: [UInt8], _ value: UnsafeRawBufferPointer, _ flags: Int32, _ object: ObjectState, _ caller: Caller
    ) throws(Errno) {
        defer { noteChange(of: name, object) }
        let descriptor = object.descriptor.rawValue
        try held.makeCall(on: object) { () throws(Errno) in
            try allocateBlocks(for: caller) { () throws(Errno) in
                try loader.tree.changingAttribute(of: descriptor) { () throws(Errno) in
                    try loader.tree.keepingRoom(
                        besides: name, size: value.count, flags: flags, entries: options.listRoom, on: descriptor, object.status
                    ) { () throws(Errno) in
                        try name.withCName { (name) throws(Errno) in
                            try Syscall.setxattr(.any(descriptor), name, value, flags: flags)
                        }
                    }
                }
            }
        }
    }

    private func noteChange(of name: [UInt8], _ object: ObjectState) {
        if name.elementsEqual(DeclaredLayout.attributeName.utf8) { share.exclusions.noteLayoutChange() }
        kernel.invalidateElsewhere(object.object)
    }

    func removeXattr(_ name: [UInt8], _ object: ObjectState) throws(Errno) {
        defer { noteChange(of: name, object) }
        try held.makeCall(on: object) { () throws(Errno) in
            try loader.tree.changingAttribute(of: object.descriptor.rawValue) { () throws(Errno) in
                try name.withCName { (name) throws(Errno) in
                    try Syscall.removexattr(.any(object.descriptor.rawValue), name)
                }
            }
        }
    }
}
