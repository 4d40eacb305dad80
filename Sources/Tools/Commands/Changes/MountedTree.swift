import ACLFormats
import Authorization
import BackingStore
import LinuxSystem
import ToolSupport

/// A directory or another object on a mount. The daemon judges each change by the rights of the caller.
struct MountedTree: ChangeableTree {
    let path: [UInt8]
    let top: SharedDescriptor
    let status: FileStatus
    let place: UndoHeader.Place
    let isMounted = true

    /// - Parameters:
    ///   - operand: the path of the object.
    ///   - followsLink: whether, unless another user owns it, it may be a symlink.
    /// - Throws: it cannot be opened.
    /// - Returns: nil if it lies on no mount.
    init?(_ operand: [UInt8], followsLink: Bool = true) throws(CommandFailure) {
        do throws(Errno) {
            let files = LinuxFiles()
            top = followsLink ? try files.openOperand(operand) : try files.open(operand, followsLink: false)
            status = try Syscall.statx(top.rawValue)
            guard let mount = Self.mount(of: status) else { return nil }
            place = .mount(source: mount.source)
            path = try files.absolutePath(of: top)
        } catch { throw CommandFailure("\(escapedName(operand)): \(OfflineTree.reason(error))") }
    }

    /// - Returns: the mount that an object lies on.
    static func mount(of status: FileStatus) -> MountEntry? {
        let device = DeviceNumber.text(status.device)
        return MountTable.entries().last { $0.device == device && $0.type == "fuse.aclfs" }
    }

    func requireChangeable(_ warn: (String) -> Void) {
        if let warning = LinuxFiles().warningOfNoEffect(on: top, path, entries: true) { warn(warning) }
    }

    func state(
        of node: SharedDescriptor, _ status: FileStatus, owners: Bool, flags: Bool, _ tools: TreeTools
    ) throws(AttributeFailure) -> TreeState {
        let list = try tools.files.listToChange(of: node, names: tools.names)
        var state = TreeState(mode: UInt16(truncatingIfNeeded: status.mode) & TreeState.permissionBits, owners: nil, store: .list(list))
        if flags { state.flags = try tools.files.flags(of: node) }
        guard owners else { return state }
        state.mode = UInt16(truncatingIfNeeded: status.mode) & 0o7777
        state.owners = try self.owners(of: node, status, tools)
        return state
    }

    private func owners(of node: SharedDescriptor, _ status: FileStatus, _ tools: TreeTools) throws(AttributeFailure) -> Owners {
        var owners = Owners(uid: status.uid, gid: status.gid)
        if status.uid == ObjectFacts.notAnID { owners.owner = try identity(ownerAttribute, of: node, tools) }
        if status.gid == ObjectFacts.notAnID { owners.group = try identity(Self.groupName, of: node, tools) }
        return owners
    }

    private static let groupName = "system.aclfs.group"
    /// No call changes an object with these, not even root's.
    private static let binding = FileFlags.immutable.union(.appendOnly)

    private func identity(_ name: String, of node: SharedDescriptor, _ tools: TreeTools) throws(AttributeFailure) -> GUID? {
        let value: [UInt8]?
        do { value = try tools.files.attribute(name, of: node) } catch { throw .system(error) }
        guard let value else { return nil }
        guard let guid = GUID(uuidText: String(decoding: value, as: UTF8.self)) else { throw .text("\(name) is not a UUID") }
        return guid
    }

    func change(
        _ node: SharedDescriptor, from old: TreeState, to new: TreeState, _ status: FileStatus, setsID: Bool, _ tools: TreeTools
    ) throws(AttributeFailure) -> UInt16 {
        guard case .list(let list) = new.store, case .list(let present) = old.store else { throw .text("no state of a mount") }
        let binding = old.flags.map { $0.intersection(Self.binding) } ?? []
        var left: UInt16 = 0
        let lease = new != old && !binding.isEmpty && status.isRegular ? try keepFromWriting(node) : nil
        defer { withExtendedLifetime(lease) {} }
        do throws(AttributeFailure) {
            if let flags = old.flags, new != old, !binding.isEmpty {
                try lift(binding, from: flags, of: node, status, tools)
            }
            // The new owner gets no more than both modes give. A chown clears the set-id bits.
            let between = old.owners == new.owners ? old.mode : old.mode & new.mode & ~TreeState.setIDBits
            let otherBits = new.owners == nil ? UInt16(truncatingIfNeeded: status.mode) & 0o7000 : 0
            if between != old.mode, !status.isSymlink { left = try setMode(of: node, to: otherBits | between, old.owners, status) }
            if let owners = new.owners, owners != old.owners {
                do throws(AttributeFailure) { try set(owners, of: node, tools) } catch {
                    throw refusal(error, of: .chown, as: Self.shown(owners, status), node, tools)
                }
            }
            if list != present { try tools.files.exchangeACL(of: node, from: present, to: list) }
            if between != new.mode, !status.isSymlink {
                left = try setMode(of: node, to: otherBits | new.mode, new.owners, status, setsID: setsID)
            }
            if let owners = new.owners, owners != old.owners { try require(owners, of: node, tools) }
            // They may forbid every other change.
            if let flags = new.flags, flags != old.flags || !binding.isEmpty {
                do throws(AttributeFailure) {
                    try tools.files.changeFlags(of: node, from: (old.flags ?? []).subtracting(binding), to: flags)
                } catch {
                    throw refusal(error, of: .chflags, as: "the flags \(FileFlagsText.shown(flags))", node, tools)
                }
            }
        } catch {
            restore(node, old, new, status, tools)
            throw failure(error, node, status, tools)
        }
        return left
    }

    private func lift(
        _ binding: FileFlags, from flags: FileFlags, of node: SharedDescriptor, _ status: FileStatus, _ tools: TreeTools
    ) throws(AttributeFailure) {
        guard status.isRegular else { return try tools.files.changeFlags(of: node, from: flags, to: flags.subtracting(binding)) }
        do throws(AttributeFailure) { try tools.files.liftFlags(of: node, from: flags, binding) } catch {
            guard case .system(.txtbsy) = error else { throw error }
            throw .refused(
                "its flags are not lifted while the tree is mounted twice, or aclfs sandbox run shows it: the file could be opened there for "
                    + "writing meanwhile; unmount the other mount, or use --offline")
        }
    }

    /// An immutable file is none while it is changed. Until its flags are back, who opens it for writing waits, and is refused by them then.
    /// - Returns: nil where the kernel has no leases for the mount, or not for this caller.
    private func keepFromWriting(_ node: SharedDescriptor) throws(AttributeFailure) -> SharedDescriptor? {
        // An open that is being refused counts as one for writing for a moment.
        for _ in 0..<50 {
            do { return try Syscall.keepFromWriting(node.rawValue) } catch {
                if error != .again { return nil }
                SystemTime.sleep(milliseconds: 2)
            }
        }
        throw .refused("its flags are not lifted while it is open for writing")
    }

    /// A refused call in words: of several that an object needs, the error does not say which one.
    private func refusal(
        _ failure: AttributeFailure, of call: OperationWord, as what: String, _ node: SharedDescriptor, _ tools: TreeTools
    ) -> AttributeFailure {
        guard case .system(let error) = failure, error == .perm || error == .acces else { return failure }
        return .refused("\(what): \(tools.files.message(error, of: call, on: node, path))")
    }

    /// The owner that an object should get, or the group if the owner stays.
    private static func shown(_ owners: Owners, _ status: FileStatus) -> String {
        if owners.owner == nil, owners.uid == status.uid {
            return "the group \(owners.group?.uuidText ?? "\(owners.gid)")"
        }
        return "the owner \(owners.owner?.uuidText ?? "\(owners.uid)")"
    }

    private func set(_ owners: Owners, of node: SharedDescriptor, _ tools: TreeTools) throws(AttributeFailure) {
        do throws(Errno) {
            let (uid, gid) = (owners.owner == nil ? owners.uid : .max, owners.group == nil ? owners.gid : .max)
            if uid != .max || gid != .max { try Syscall.fchown(node.rawValue, uid: uid, gid: gid) }
            if let owner = owners.owner { try tools.files.setAttribute(ownerAttribute, of: node, to: Array(owner.uuidText.utf8)) }
            if let group = owners.group { try tools.files.setAttribute(Self.groupName, of: node, to: Array(group.uuidText.utf8)) }
        } catch { throw .system(error) }
    }

    /// A volume that ignores ownership accepts a chown, and changes nothing.
    private func require(_ owners: Owners, of node: SharedDescriptor, _ tools: TreeTools) throws(AttributeFailure) {
        let after: FileStatus
        do { after = try Syscall.statx(node.rawValue) } catch { throw .system(error) }
        guard try self.owners(of: node, after, tools) == owners else {
            throw .noEffect("the mount ignores ownership: owner and group stayed as they were")
        }
    }

    private func setMode(
        of node: SharedDescriptor, to mode: UInt16, _ owners: Owners?, _ status: FileStatus, setsID: Bool = false
    ) throws(AttributeFailure) -> UInt16 {
        var claim = SetIDClaim(uid: owners?.uid ?? status.uid, gid: owners?.gid ?? status.gid)
        if setsID { claim.asked = mode & ModeWriting.setIDBits }
        do { return try ModeWriting.set(mode, of: node, claim) } catch { throw .system(error) }
    }

    /// Restores what the calls of a change may have changed, as far as the system allows.
    private func restore(_ node: SharedDescriptor, _ old: TreeState, _ new: TreeState, _ status: FileStatus, _ tools: TreeTools) {
        func now() -> FileStatus? { try? Syscall.statx(node.rawValue, mask: StatMask.basic, flags: AtFlag.forceSync) }
        func hasOwners(_ owners: Owners?) -> Bool {
            guard let owners, let now = now() else { return owners == nil }
            return (try? self.owners(of: node, now, tools)) == owners
        }
        // Each chown clears set-id bits.
        if let owners = old.owners, !hasOwners(owners) { try? set(owners, of: node, tools) }
        // The list of another program stays.
        if case .list(let list) = old.store, case .list(let changed) = new.store, changed != list {
            try? tools.files.exchangeACL(of: node, from: changed, to: list)
        }
        // Another owner has no use of the old mode.
        if !status.isSymlink, old.mode != new.mode || old.owners != new.owners, now()?.mode != status.mode, hasOwners(old.owners) {
            _ = try? setMode(of: node, to: UInt16(truncatingIfNeeded: status.mode) & 0o7777, old.owners, status)
        }
        if let flags = old.flags, new != old {
            let touched = flags.symmetricDifference(new.flags ?? flags).union(flags.intersection(Self.binding))
            try? tools.files.changeFlags(of: node, from: flags.symmetricDifference(touched), to: flags)
        }
    }

    func message(_ failure: AttributeFailure, isChange: Bool, _ node: SharedDescriptor, _ status: FileStatus, _ tools: TreeTools) -> String
    {
        tools.files.message(
            failure, of: isChange ? .setacl : .stat, on: node, path, storedOn: isChange ? ObjectKind(typeBits: status.mode) : nil)
    }
}
