import ACLFormats
import Authorization
import LinuxSystem
import Synchronization

/// An object found under its name, with what was read of it at that moment.
public struct ResolvedObject {
    public let object: BackingObject
    /// O_PATH.
    public let descriptor: SharedDescriptor
    public let status: FileStatus
    /// What belongs to this status, if it was read on the way.
    fileprivate(set) var stored: StoredFacts?
}

/// The backing directory: everything below it is reached by descriptor, or by a directory's descriptor
/// and one name, so that no name, symlink or race leads out of it (invariant I7).
public final class BackingTree: Sendable {
    public let root: BackingObject
    /// Where the record of an object is kept: `trusted.aclfs` or `user.aclfs`.
    public let metadataName: String
    let cache: ObjectCache
    let changeTimes = ChangeTimes()
    let attributeSpaces = AttributeSpaces()
    let damagedRecords: DamagedRecords
    let ownersAccess = OwnersAccess()
    let recordLocks: RecordLocks
    /// For each file system of the tree one real descriptor: what open_by_handle_at(2) asks for. nil where it is refused.
    private let mounts = Lock<[UInt64: SharedDescriptor?]>([:])
    private let rootDescriptor: SharedDescriptor
    private let followsMounts: Bool
    /// The root's file system as if nothing were mounted below it; nil without the privilege to make one.
    private let bareRoot: SharedDescriptor?

    /// - Parameter directory: a real (not O_PATH) descriptor of the backing directory.
    /// - Parameter report: is given one line about each object whose record cannot be read.
    /// - Throws: `notdir` if it is none, `opnotsupp` if the file system keeps no attributes under `metadataName`.
    public init(
        directory: consuming OwnedDescriptor, metadataName: String, descriptorBudget: Int, followsMounts: Bool = true,
        report: @escaping @Sendable (String) -> Void
    ) throws(Errno) {
        let shared = SharedDescriptor(directory)
        let status = try Syscall.statx(shared.rawValue)
        guard status.isDirectory else { throw .notdir }
        rootDescriptor = shared
        self.metadataName = metadataName
        damagedRecords = DamagedRecords(metadataName: metadataName, report: report)
        recordLocks = RecordLocks(report: report)
        self.followsMounts = followsMounts
        bareRoot = Self.bareRoot(of: shared)
        cache = ObjectCache(capacity: descriptorBudget)
        // With its handle, so that it is the same object in the tree of a directory above.
        let handle = try Self.handle(of: shared.rawValue)
        root = BackingObject(
            key: ObjectKey(device: status.device, inode: status.inode, handle: handle), kind: .directory,
            wayBack: .pinned(shared))
        if let handle { opensHandles(of: status.device, trying: handle, shared) }
        cache.insert(shared, for: root)
        // Learns the kind of file system, which `sharedFileSystem` answers from.
        _ = changeTimes.areOthers(status.device, shared)
    }

    /// Whether records can be stored here: tries to read one.
    public static func supportsMetadata(_ name: String, on directory: Int32) -> Bool {
        do {
            _ = try Syscall.getxattr(.any(directory), name, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
            return true
        } catch { return error == .nodata }
    }

    /// A descriptor (O_PATH unless pinned otherwise) of the object.
    /// - Throws: `noent` if it no longer exists.
    public func descriptor(of object: BackingObject) throws(Errno) -> SharedDescriptor {
        if let descriptor = atHand(object) { return descriptor }
        if case .name(let known) = object.wayBack { return try openByName(object, known) }
        guard let handle = object.key.handle, let mount = mounts.withLock({ $0[object.key.device] ?? nil }) else {
            throw .io
        }
        do {
            let descriptor = SharedDescriptor(
                try Syscall.openByHandle(mount.rawValue, handle, OpenFlag.path | OpenFlag.noFollow))
            cache.insert(descriptor, for: object)
            return descriptor
        } catch {
            // ESTALE would make the kernel repeat the walk with rules that ours do not cover (docs/coherence.md R9).
            throw error == .stale ? .noent : error
        }
    }

    /// The same if it is open: never waits for a disk.
    public func atHand(_ object: BackingObject) -> SharedDescriptor? {
        if let descriptor = cache.find(object) { return descriptor }
        guard case .pinned(let descriptor) = object.wayBack else { return nil }
        // The root's record has its place there, which others may have taken.
        if object === root { cache.insert(descriptor, for: object) }
        return descriptor
    }

    /// What a name in a directory means now. Symbolic links are not followed.
    /// - Parameter parent: the directory's status.
    public func resolve(
        _ name: UnsafePointer<CChar>, in directory: SharedDescriptor, _ parent: FileStatus
    ) throws(Errno) -> ResolvedObject {
        if isDotName(name) { throw .inval }
        // DONT_SYNC: an aclfs mount answers from what the kernel has, without a request to its daemon.
        let seen = try Syscall.statxAt(
            directory.rawValue, name, flags: AtFlag.symlinkNoFollow | AtFlag.noAutomount | AtFlag.dontSync)
        if let known = kept(seen, below: parent) {
            known.object.isCovered.store(false, ordering: .relaxed)
            var found = ResolvedObject(object: known.object, descriptor: known.descriptor, status: seen)
            found.stored = currentFacts(found, of: name, in: directory)
            return found
        }
        let descriptor = SharedDescriptor(
            try Syscall.openat(directory.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
        let status = try Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync)
        if try leadsOut(status, of: parent) {
            let found = try adopt(covered(name, in: directory))
            found.object.isCovered.store(true, ordering: .relaxed)
            return found
        }
        var found = try adopt(descriptor, status)
        // Read by its name only if the name means the same as a moment ago.
        if seen.device == status.device, seen.inode == status.inode {
            found.stored = currentFacts(found, of: name, in: directory)
        }
        return found
    }

    /// An object whose descriptor is held is known by its number, where numbers can be trusted.
    private func kept(
        _ status: FileStatus, below parent: FileStatus
    ) -> (object: BackingObject, descriptor: SharedDescriptor)? {
        guard status.device == parent.device, followsMounts || status.mountID == parent.mountID,
            status.device != root.key.device || status.inode != root.key.inode,
            let found = cache.object(device: status.device, inode: status.inode),
            !changeTimes.areOthers(status.device, found.descriptor)
        else { return nil }
        return found
    }

    /// Whether a name crossed into a mount that is no part of the tree: any at all with `nocrossmounts`,
    /// and always one of aclfs, our own first: asking it would be asking ourselves (invariant I7).
    private func leadsOut(_ there: FileStatus, of here: FileStatus) throws(Errno) -> Bool {
        // Subvolumes of Btrfs have devices of their own and lie in one mount.
        if here.mountID == there.mountID, there.mountID != 0 || here.device == there.device { return false }
        guard followsMounts else { return true }
        // Part of the same file system may be mounted here, too.
        return here.device != there.device && MountedFileSystems.isOurs(there)
    }

    /// The directory that a mount covers. Without the privilege to look below it, nothing is there.
    private func covered(
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
    /// - Parameter stored: with it, if it was created.
    public func adopt(_ descriptor: SharedDescriptor, stored: StoredFacts? = nil) throws(Errno) -> ResolvedObject {
        var found = try adopt(descriptor, Syscall.statx(descriptor.rawValue))
        found.stored = stored
        if let stored { assume(stored, of: found) }
        return found
    }

    private func adopt(_ descriptor: SharedDescriptor, _ seen: FileStatus) throws(Errno) -> ResolvedObject {
        var status = seen
        // Another machine may know better than what was seen without asking it.
        if changeTimes.areOthers(status.device, descriptor) { status = try Syscall.statx(descriptor.rawValue) }
        if status.device == root.key.device, status.inode == root.key.inode {
            return ResolvedObject(object: root, descriptor: descriptor, status: status)
        }
        let handle = try Self.handle(of: descriptor.rawValue)
        let object = BackingObject(
            key: ObjectKey(device: status.device, inode: status.inode, handle: handle),
            kind: ObjectKind(typeBits: status.mode), wayBack: wayBack(to: handle, descriptor, status))
        if case .pinned = object.wayBack {} else { cache.insert(descriptor, for: object) }
        return ResolvedObject(object: object, descriptor: descriptor, status: status)
    }

    private func wayBack(to handle: FileHandle?, _ descriptor: SharedDescriptor, _ status: FileStatus) -> WayBack {
        guard let handle else { return .pinned(descriptor) }
        if let mount = mounts.withLock({ $0[status.device] }) { return mount == nil ? .name(KnownName()) : .handle }
        var mount = rootDescriptor
        if status.device != root.key.device {
            // The first object of a file system mounted below: only a directory can stand for the mount.
            guard status.isDirectory,
                let real = try? Syscall.reopen(
                    descriptor.rawValue, OpenFlag.readOnly | OpenFlag.directory | OpenFlag.nonBlock)
            else { return .pinned(descriptor) }
            mount = SharedDescriptor(real)
        }
        switch opensHandles(of: status.device, trying: handle, mount) {
        case true?: return .handle
        case false?: return .name(KnownName())
        case nil: return .pinned(descriptor)
        }
    }

    /// - Parameter mount: a real descriptor of a directory there.
    /// - Returns: nil if it cannot be told now.
    @discardableResult
    private func opensHandles(of device: UInt64, trying handle: FileHandle, _ mount: SharedDescriptor) -> Bool? {
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

    /// Drops all cached descriptors. What is mounted is seen from the mount by which an object was found, which may be
    /// another than that of the tree, or gone.
    public func forgetDescriptors() { cache.removeAll() }

    /// Drops a cached descriptor, so that a removed object's space is given back.
    public func forgetDescriptor(of object: BackingObject) { cache.remove(object) }

    /// The same where it is not known whether the object was removed.
    /// - Returns: whether its descriptor is still kept.
    @discardableResult
    public func forgetDescriptorIfRemoved(_ object: BackingObject) -> Bool {
        guard let descriptor = cache.find(object) else { return false }
        // What cannot be told of need not be kept either.
        if let status = try? Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync), status.nlink > 0 { return true }
        cache.remove(object)
        return false
    }

    /// The number shown for an object: its inode number, made unique across file systems of the tree.
    public func shownInode(device: UInt64, inode: UInt64) -> UInt64 {
        if device == root.key.device { return inode }
        return inode ^ (device &* 0x9E37_79B9_7F4A_7C15) | 1 << 63
    }

    private func isDotName(_ name: UnsafePointer<CChar>) -> Bool {
        guard name[0] == 0x2E else { return name[0] == 0 }
        return name[1] == 0 || name[1] == 0x2E && name[2] == 0
    }
}
