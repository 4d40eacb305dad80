import ACLFormats
import Authorization
import LinuxSystem
import Synchronization

/// An object that was found by its name, with its status at that moment.
public struct ResolvedObject {
    public let object: BackingObject
    /// O_PATH.
    public let descriptor: SharedDescriptor
    public let status: FileStatus
    /// The stored facts of this status, if they were read too.
    fileprivate(set) var stored: StoredFacts?
}

/// The backing directory. Everything below it is opened by descriptor, or by a directory's descriptor and one name, so that no
/// name, symlink or race leads out of it (invariant I7).
public final class BackingTree: Sendable {
    public let root: BackingObject
    /// The attribute of an object's record: `trusted.aclfs` or `user.aclfs`.
    public let metadataName: String
    let cache: ObjectCache
    let changeTimes = ChangeTimes()
    let attributeSpaces = AttributeSpaces()
    let damagedRecords: DamagedRecords
    let ownersAccess = OwnersAccess()
    let ownerNumbers = OwnerNumbers()
    let recordLocks: RecordLocks
    /// A real descriptor of each file system of the tree, for open_by_handle_at(2); nil where the call is refused.
    private let mounts = Lock<[UInt64: SharedDescriptor?]>([:])
    let rootDescriptor: SharedDescriptor
    private let followsMounts: Bool
    /// Whether flags are bits of the root's file system, which keeps no records. A change of them moves no ctime, so that they are not cached.
    let keepsFormatBits: Bool
    private let shownInodes: ShownInodes
    /// The root's file system without the mounts below it; nil without the privilege to clone a mount.
    private let bareRoot: SharedDescriptor?

    /// - Parameters:
    ///   - directory: a real descriptor (not O_PATH) of the backing directory.
    ///   - metadataName: the attribute of records.
    ///   - descriptorBudget: number of descriptors that the cache may keep open.
    ///   - followsMounts: false = mounts below the directory are not part of the tree (`nocrossmounts`).
    ///   - report: receives one line about each object with a record that cannot be read.
    /// - Throws: `notdir` if it is not a directory, `opnotsupp` if the file system has no such attributes.
    public init(
        directory: consuming OwnedDescriptor, metadataName: String, descriptorBudget: Int, followsMounts: Bool = true,
        report: @escaping @Sendable (String) -> Void
    ) throws(Errno) {
        let shared = SharedDescriptor(directory)
        let status = try Syscall.statx(shared.rawValue)
        guard status.isDirectory else { throw .notdir }
        rootDescriptor = shared
        shownInodes = ShownInodes(root: status.device, try Syscall.fstatvfs(shared.rawValue))
        self.metadataName = metadataName
        damagedRecords = DamagedRecords(metadataName: metadataName, report: report)
        recordLocks = RecordLocks(report: report)
        self.followsMounts = followsMounts
        keepsFormatBits = !Self.supportsMetadata(metadataName, on: shared.rawValue) && FormatBits.areKept(by: shared.rawValue)
        bareRoot = Self.bareRoot(of: shared)
        cache = ObjectCache(capacity: descriptorBudget)
        // With its handle, so that it equals the object in the tree of a directory above.
        let handle = try Self.handle(of: shared.rawValue)
        root = BackingObject(
            key: ObjectKey(device: status.device, inode: status.inode, handle: handle), kind: .directory,
            reopening: .pinned(shared))
        if let handle { probeHandles(of: status.device, trying: handle, shared) }
        cache.insert(shared, for: root)
        // Looks up the type of the file system, which `sharedFileSystem` returns.
        _ = changeTimes.mayChangeElsewhere(status.device, shared)
    }

    /// Whether records can be stored here. It tries to read one, and whether root may write it: root of a user namespace has no attribute
    /// `trusted.*`, and reads each as absent.
    public static func supportsMetadata(_ name: String, on directory: Int32) -> Bool {
        do {
            _ = try Syscall.getxattr(.any(directory), name, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
            return true
        } catch {
            guard error == .nodata else { return false }
            return !name.hasPrefix("trusted.") || mayWriteTrusted(directory)
        }
    }

    private static func mayWriteTrusted(_ directory: Int32) -> Bool {
        let probe = "trusted.aclfs.probe"
        do throws(Errno) {
            // Replaces what is not there, which changes nothing.
            try Syscall.setxattr(.any(directory), probe, [0], flags: XattrFlag.replace)
            try? Syscall.removexattr(.any(directory), probe)
            return true
        } catch {
            switch error {
            case .perm, .acces, .opnotsupp: return false
            case .rofs: return FileSystemUser.rootIsTheHosts
            default: return true
            }
        }
    }

    /// Whether the root's file system stores records.
    public var storesRecords: Bool { Self.supportsMetadata(metadataName, on: rootDescriptor.rawValue) }

    /// A descriptor of the object (O_PATH, unless it was pinned with another).
    /// - Throws: `noent` if the object no longer exists.
    public func descriptor(of object: BackingObject) throws(Errno) -> SharedDescriptor {
        if let descriptor = openDescriptor(of: object) { return descriptor }
        if case .name(let known) = object.reopening { return try openByName(object, known) }
        guard let handle = object.key.handle, let mount = mounts.withLock({ $0[object.key.device] ?? nil }) else {
            throw .io
        }
        do {
            let descriptor = SharedDescriptor(
                try Syscall.openByHandle(mount.rawValue, handle, OpenFlag.path | OpenFlag.noFollow))
            cache.insert(descriptor, for: object)
            return descriptor
        } catch {
            // With ESTALE the kernel would repeat the walk without its caches (docs/internals/coherence.md R9).
            throw error == .stale ? .noent : error
        }
    }

    /// The file systems of which objects were found.
    var knownDevices: [UInt64] { mounts.withLock { Array($0.keys) } }

    /// A descriptor of the root's file system with which handles are opened; nil where the kernel refuses that.
    var handleMount: SharedDescriptor? { mounts.withLock { $0[root.key.device] ?? nil } }

    /// The descriptor of the object if it is open. Never waits for a disk.
    public func openDescriptor(of object: BackingObject) -> SharedDescriptor? {
        if let descriptor = cache.find(object) { return descriptor }
        guard case .pinned(let descriptor) = object.reopening else { return nil }
        // Another object may have taken the root's slot, which also keeps its record.
        if object === root { cache.insert(descriptor, for: object) }
        return descriptor
    }

    /// Whether a descriptor of the object is cached.
    public func hasDescriptor(of object: BackingObject) -> Bool { cache.find(object) != nil }

    /// Looks up a name in a directory. Symbolic links are not followed.
    /// - Parameters:
    ///   - name: the name.
    ///   - directory: its directory.
    ///   - parent: the directory's status.
    public func resolve(
        _ name: UnsafePointer<CChar>, in directory: SharedDescriptor, _ parent: FileStatus
    ) throws(Errno) -> ResolvedObject {
        if isDotName(name) { throw .inval }
        // DONT_SYNC: for an aclfs mount the kernel answers from its caches, without a request to the daemon.
        let seen = try Syscall.statxAt(
            directory.rawValue, name, flags: AtFlag.symlinkNoFollow | AtFlag.noAutomount | AtFlag.dontSync)
        if let known = kept(seen, below: parent) {
            known.object.isOvermounted.store(false, ordering: .relaxed)
            var found = ResolvedObject(object: known.object, descriptor: known.descriptor, status: seen)
            found.stored = currentFacts(found, of: name, in: directory)
            return found
        }
        let descriptor = SharedDescriptor(
            try Syscall.openat(directory.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
        let status = try Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync)
        if try leavesTree(status, from: parent) {
            let found = try adopt(overmountedDirectory(name, in: directory))
            found.object.isOvermounted.store(true, ordering: .relaxed)
            return found
        }
        // The device number may be that of a file system that has gone.
        if status.device != parent.device, status.isDirectory { shownInodes.note(status.device, descriptor, isTop: true) }
        var found = try adopt(descriptor, status)
        // The record is read by name only if the name still refers to the same object.
        if seen.device == status.device, seen.inode == status.inode {
            found.stored = currentFacts(found, of: name, in: directory)
        }
        return found
    }

    /// An object with an open descriptor is identified by its number, where numbers are reliable.
    private func kept(
        _ status: FileStatus, below parent: FileStatus
    ) -> (object: BackingObject, descriptor: SharedDescriptor)? {
        guard status.device == parent.device, followsMounts || status.mountID == parent.mountID,
            status.device != root.key.device || status.inode != root.key.inode,
            let found = cache.object(device: status.device, inode: status.inode),
            !changeTimes.mayChangeElsewhere(status.device, found.descriptor)
        else { return nil }
        return found
    }

    /// Whether a name leads into a mount that does not belong to the tree: any mount with `nocrossmounts`, and always one of aclfs.
    /// The daemon would send itself a request (invariant I7).
    func leavesTree(_ found: FileStatus, from parent: FileStatus) throws(Errno) -> Bool {
        // Subvolumes of Btrfs have their own devices within one mount.
        if parent.mountID == found.mountID, found.mountID != 0 || parent.device == found.device { return false }
        guard followsMounts else { return true }
        // A directory of the same file system may be mounted here, too.
        return parent.device != found.device && MountedFileSystems.all.isAclfs(found)
    }

    /// The directory below a mount. Without the privilege for `bareRoot` it is denied.
    private func overmountedDirectory(
        _ name: UnsafePointer<CChar>, in directory: SharedDescriptor
    ) throws(Errno) -> SharedDescriptor {
        guard let bareRoot else { throw .acces }
        let status = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync)
        let isRoot = status.inode == root.key.inode && status.device == root.key.device
        guard status.device == root.key.device else { throw .acces }
        let parent: SharedDescriptor
        if isRoot {
            parent = bareRoot
        } else {
            let mount = try Syscall.reopen(bareRoot.rawValue, OpenFlag.readOnly | OpenFlag.directory)
            let handle = try Syscall.nameToHandle(directory.rawValue)
            parent = SharedDescriptor(try Syscall.openByHandle(mount.rawValue, handle, OpenFlag.path))
        }
        return SharedDescriptor(try Syscall.openat(parent.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
    }

    private static func bareRoot(of directory: SharedDescriptor) -> SharedDescriptor? {
        do { return SharedDescriptor(try Syscall.cloneMount(directory.rawValue)) } catch { return nil }
    }

    /// Makes an object of a descriptor that was just opened or created.
    /// - Parameters:
    ///   - descriptor: the object.
    ///   - stored: the facts that were stored with it, if it was created.
    public func adopt(_ descriptor: SharedDescriptor, stored: StoredFacts? = nil) throws(Errno) -> ResolvedObject {
        var found = try adopt(descriptor, Syscall.statx(descriptor.rawValue))
        found.stored = stored
        if let stored { assume(stored, of: found) }
        return found
    }

    private func adopt(_ descriptor: SharedDescriptor, _ seen: FileStatus) throws(Errno) -> ResolvedObject {
        var status = seen
        // With DONT_SYNC the kernel may have answered from a stale cache: ask the other machine.
        if changeTimes.mayChangeElsewhere(status.device, descriptor) { status = try Syscall.statx(descriptor.rawValue) }
        if status.device == root.key.device, status.inode == root.key.inode {
            return ResolvedObject(object: root, descriptor: descriptor, status: status)
        }
        if status.device != root.key.device { shownInodes.note(status.device, descriptor, isTop: false) }
        let handle = try Self.handle(of: descriptor.rawValue)
        let object = BackingObject(
            key: ObjectKey(device: status.device, inode: status.inode, handle: handle),
            kind: ObjectKind(typeBits: status.mode), reopening: reopening(of: handle, descriptor, status))
        if case .pinned = object.reopening {} else { cache.insert(descriptor, for: object) }
        return ResolvedObject(object: object, descriptor: descriptor, status: status)
    }

    private func reopening(of handle: FileHandle?, _ descriptor: SharedDescriptor, _ status: FileStatus) -> Reopening {
        guard let handle else { return .pinned(descriptor) }
        if let mount = mounts.withLock({ $0[status.device] }) { return mount == nil ? .name(KnownName()) : .handle }
        var mount = rootDescriptor
        if status.device != root.key.device {
            // The first object of a file system mounted below: only a directory can represent the mount.
            guard status.isDirectory,
                let real = try? Syscall.reopen(
                    descriptor.rawValue, OpenFlag.readOnly | OpenFlag.directory | OpenFlag.nonBlock)
            else { return .pinned(descriptor) }
            mount = SharedDescriptor(real)
        }
        switch probeHandles(of: status.device, trying: handle, mount) {
        case true?: return .handle
        case false?: return .name(KnownName())
        case nil: return .pinned(descriptor)
        }
    }

    /// Tries a handle, and stores whether the file system opens handles.
    /// - Parameters:
    ///   - device: the file system.
    ///   - handle: of an object on it.
    ///   - mount: a real descriptor of a directory on it.
    /// - Returns: whether it opens handles.
    /// - Returns: nil if it cannot be told now.
    @discardableResult
    private func probeHandles(of device: UInt64, trying handle: FileHandle, _ mount: SharedDescriptor) -> Bool? {
        var isOpened = true
        do throws(Errno) { _ = try Syscall.openByHandle(mount.rawValue, handle, OpenFlag.path) } catch {
            if Self.mayPass(error) { return nil }
            isOpened = false
        }
        mounts.withLock { $0[device] = .some(isOpened ? mount : nil) }
        return isOpened
    }

    /// nil where there are none. An object whose handle cannot be had for a reason that passes would be taken for another object.
    static func handle(of descriptor: Int32) throws(Errno) -> FileHandle? {
        do throws(Errno) { return try Syscall.nameToHandle(descriptor) } catch {
            if mayPass(error) { throw error == .stale ? .noent : error }
            return nil
        }
    }

    /// Whether an error says nothing about what a file system can do.
    private static func mayPass(_ error: Errno) -> Bool {
        switch error {
        case .io, .nomem, .mfile, .nfile, .intr, .again, .timedout, .stale: true
        default: false
        }
    }

    /// Drops all descriptors from the cache. A descriptor sees the mounts of the mount by which it was opened, which may be
    /// another one now, or detached.
    public func forgetDescriptors() { cache.removeAll() }

    /// Removes a descriptor from the cache, so that the file system frees a removed object.
    public func forgetDescriptor(of object: BackingObject) { cache.remove(object) }

    /// The same if the object was removed.
    /// - Returns: whether its descriptor is still in the cache.
    @discardableResult
    public func forgetDescriptorIfRemoved(_ object: BackingObject) -> Bool {
        guard let descriptor = cache.find(object) else { return false }
        // Without a status the descriptor is not kept either.
        if let status = try? Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync), status.nlink > 0 { return true }
        cache.remove(object)
        return false
    }

    /// Whether copy_file_range(2) between files of this device has no other effect than reading and writing. false if that is unknown.
    public func copiesBytes(device: UInt64) -> Bool { changeTimes.copiesBytes(device) }

    /// What positions in an open directory are.
    public func directoryCookies(of directory: BackingObject, _ descriptor: SharedDescriptor) -> DirectoryCookies {
        changeTimes.directoryCookies(directory.key.device, descriptor)
    }

    /// The inode number in replies: one for each object of all file systems of the tree.
    public func shownInode(device: UInt64, inode: UInt64) -> UInt64 {
        if device == root.key.device, inode < ShownInodes.leastOfOthers { return inode }
        return shownInodes.numbers(of: device).shown(inode)
    }

    /// The inode numbers of one file system in replies: for many objects on it.
    public func shownNumbers(ofDevice device: UInt64) -> ShownNumbers { shownInodes.numbers(of: device) }

    private func isDotName(_ name: UnsafePointer<CChar>) -> Bool {
        guard name[0] == 0x2E else { return name[0] == 0 }
        return name[1] == 0 || name[1] == 0x2E && name[2] == 0
    }
}
