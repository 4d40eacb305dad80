import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import WireFormats

// docs/reference/posix-acl.md: list and mode of a POSIX ACL change together.
extension MetadataChanges {
    /// Judges both changes, makes them, and invalidates the kernel's caches.
    func changePosix(_ object: ObjectState, to change: PosixChange, _ caller: Caller) throws(Errno) {
        var change = change
        let operands = Operands(object: object)
        // Linux takes it also where the mode stays as it is.
        let losesSetGroup = change.mode.contains(.setGroup) && change.acl != object.facts.acl
        if change.mode != object.facts.mode || change.dropsOwn || change.dropsOwnDefault || losesSetGroup {
            // Linux takes the set-gid bit from a caller outside the group, and so may this call.
            let withoutSetGroup = change.mode.subtracting(.setGroup)
            if withoutSetGroup != change.mode, !judge.decide(.chmod(change.mode), operands, caller).isAllowed {
                change.mode = withoutSetGroup
            }
            try judge.permit(.chmod(change.mode), operands, caller, about: object)
        }
        try judge.permit(.setACL(change.acl), operands, caller, about: object)
        var after = object.facts
        (after.acl, after.mode) = (change.acl, change.mode)
        if change.dropsOwn { after.posixACL = nil }
        do throws(Errno) { try apply(change, to: object, caller) } catch {
            if error != .mayBeHeld { kernel.invalidate(object, after: nil) }
            throw error
        }
        kernel.invalidate(object, after: after)
    }

    /// Makes a change that has been judged. At each point there is no more access than before or after it.
    func apply(_ change: PosixChange, to object: ObjectState, _ caller: Caller) throws(Errno) {
        try held.makeCall(on: object) { () throws(Errno) in
            try allocateBlocks(for: caller) { () throws(Errno) in try makeCalls(for: change, on: object) }
        }
    }

    private func makeCalls(for change: PosixChange, on object: ObjectState) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        let (old, new) = (object.facts.mode, AttributeEffect.storedMode(change.mode, on: judge.volume))
        var least = old.intersection(new)
        // Without its own POSIX ACL the object has neither mask nor denies for those it names until the list is stored.
        if change.dropsOwn { least.formIntersection(Self.modeWithout(object.facts.posixACL.flatMap { PosixList($0, mode: old) })) }
        if least != old { try Syscall.fchmod(descriptor, mode: UInt32(least.rawValue)) }
        var isAsBefore = true
        do throws(Errno) {
            let own = change.dropsOwn ? try loader.tree.takePosixACL(from: descriptor, isDefault: false) : nil
            do throws(Errno) {
                try storeList(change, on: object)
                if new != least { try Syscall.fchmod(descriptor, mode: UInt32(new.rawValue)) }
            } catch {
                if let own { isAsBefore = (try? loader.tree.restorePosixACL(own, to: descriptor)) != nil }
                throw error
            }
        } catch {
            // Without its POSIX ACL the old mode would give more than before.
            if isAsBefore { restore(old, of: object) }
            throw error
        }
    }

    /// The bits with which no caller has more without a POSIX ACL than with it: a caller that it names counts as the owning group or others then.
    private static func modeWithout(_ list: PosixList?) -> FileMode {
        guard let list else { return FileMode(rawValue: 0o7700) }
        let named = (list.users + list.groups).reduce(7) { $0 & $1.permissions & list.classBits }
        return FileMode(rawValue: 0o7700 | (list.group & list.classBits & named) << 3 | list.other & named)
    }

    /// Restores a mode. A new owner does not get set-id bits of the old one.
    private func restore(_ mode: FileMode, of object: ObjectState) {
        let descriptor = object.descriptor.rawValue
        guard let status = try? Syscall.statx(descriptor) else { return }
        let isOwned = (status.uid, status.gid) == (object.status.uid, object.status.gid)
        let restored = isOwned ? mode : mode.subtracting([.setUser, .setGroup])
        try? Syscall.fchmod(descriptor, mode: UInt32(restored.rawValue))
    }

    /// Stores the list. The backing directory's own default ACL goes after it.
    private func storeList(_ change: PosixChange, on object: ObjectState) throws(Errno) {
        let descriptor = object.descriptor.rawValue
        let before = try loader.tree.record(descriptor)
        var record = before
        record.acl = change.acl
        if record != before { try loader.tree.write(record, to: descriptor) }
        guard change.dropsOwnDefault else { return }
        do throws(Errno) { _ = try loader.tree.takePosixACL(from: descriptor, isDefault: true) } catch {
            if record != before { try? loader.tree.write(before, to: descriptor) }
            throw error
        }
    }
}
