import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem

// A list and a mode that one request sets (docs/reference/nfs4.md).
extension MetadataChanges {
    /// Changes list and mode of an object. Both changes are judged before either is made.
    /// - Parameters:
    ///   - acl: the new list; nil = none.
    ///   - permissions: the bits 0777 of the new mode, by the rules of chmod; nil = the mode stays. Set-id and sticky bits stay.
    func changeACL(_ object: ObjectState, to acl: ACL?, permissions: UInt16?, _ caller: Caller) throws(Errno) {
        let facts = object.facts
        var mode = permissions.map { FileMode(rawValue: facts.mode.rawValue & 0o7000 | $0 & 0o777) } ?? facts.mode
        if mode == facts.mode { return try changeACL(object, to: acl, caller) }
        mode = FileMode(rawValue: UInt16(grantedMode(UInt32(mode.rawValue), of: object, caller)))
        // Linux has no way to change the mode of a symlink.
        if facts.kind == .symlink { throw .opnotsupp }
        try judge.permit(.setACL(acl), Operands(object: object), caller, about: object)
        try judge.permit(.chmod(mode), Operands(object: object), caller, about: object)
        kernel.prepareModeChange(of: object)
        do throws(Errno) {
            let stored = AttributeEffect.storedMode(mode, on: judge.volume)
            try held.makeCall(on: object) { () throws(Errno) in try makeCalls(for: object, acl, stored, caller) }
            kernel.invalidate(object, after: try loader.reload(object, keepsRecord: false).facts)
        } catch {
            if error != .mayBeHeld { kernel.invalidate(object, after: nil) }
            throw error
        }
    }

    /// Between the calls each class has only what the mode gives it before and after, so that a crash or a failure leaves no more access
    /// than one of these two states. A failure undoes what was done, as far as possible.
    private func makeCalls(for object: ObjectState, _ acl: ACL?, _ mode: FileMode, _ caller: Caller) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        let before = object.facts.mode
        let between = mode.intersection(before)
        func set(_ mode: FileMode) throws(Errno) { try Syscall.fchmod(descriptor, mode: UInt32(mode.rawValue)) }
        func store(_ record: MetadataRecord) throws(Errno) {
            try allocateBlocks(for: caller) { () throws(Errno) in try loader.tree.write(record, to: descriptor) }
        }
        let old = acl == object.facts.acl ? nil : try loader.tree.record(descriptor)
        if between != before { try set(between) }
        if let old {
            var new = old
            new.acl = acl
            do { try store(new) } catch {
                if between != before { try? set(before) }
                throw error
            }
        }
        if mode == between { return }
        do { try set(mode) } catch {
            // With the new list the old mode may grant more than either state: it comes back only after the old list.
            if let old, (try? store(old)) == nil { throw error }
            if between != before { try? set(before) }
            throw error
        }
    }
}
