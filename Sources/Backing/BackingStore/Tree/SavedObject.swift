import Authorization
import LinuxSystem
import Synchronization

/// What another process needs to find an object of the backing directory again.
public struct SavedObject: Equatable, Sendable {
    public var inode: UInt64
    public var handle: FileHandle?
    public var kind: ObjectKind
    /// A descriptor that stays open: the object could not be opened by its handle. -1: none is needed.
    public var descriptor: Int32
    public var isOvermounted: Bool
    public var hasLostNames: Bool

    public init(inode: UInt64, handle: FileHandle?, kind: ObjectKind, descriptor: Int32, isOvermounted: Bool, hasLostNames: Bool) {
        (self.inode, self.handle, self.kind, self.descriptor) = (inode, handle, kind, descriptor)
        (self.isOvermounted, self.hasLostNames) = (isOvermounted, hasLostNames)
    }
}

extension BackingObject {
    /// As of `SavedObject`, of an object that has a name.
    /// - Parameter device: of the tree's root.
    /// - Returns: nil: another process could not find it with what this one knows.
    public func savedDescriptor(on device: UInt64) -> Int32? {
        guard key.device == device else { return nil }
        switch reopening {
        case .name: return nil
        case .pinned(let held): return held.rawValue
        case .handle: return -1
        }
    }
}

extension BackingTree {
    /// - Parameter object: of the root's file system.
    /// - Returns: nil: another process could not find it with what this one knows.
    public func save(_ object: BackingObject) -> SavedObject? {
        guard object.key.device == root.key.device else { return nil }
        var descriptor: Int32 = -1
        switch object.reopening {
        case .name: return nil
        case .pinned(let held): descriptor = held.rawValue
        case .handle:
            // One without a name is opened by its handle only as long as somebody has it open.
            if let open = cache.find(object), (try? Syscall.statx(open.rawValue, flags: AtFlag.dontSync))?.nlink == 0 {
                descriptor = open.rawValue
            }
        }
        return SavedObject(
            inode: object.key.inode, handle: object.key.handle, kind: object.kind, descriptor: descriptor,
            isOvermounted: object.isOvermounted.load(ordering: .relaxed), hasLostNames: object.hasLostNames.load(ordering: .relaxed))
    }

    /// - Parameters:
    ///   - saved: by another process, of the same tree.
    ///   - held: the descriptor that it names.
    /// - Returns: nil: it is not of this tree, or its descriptor is of another object.
    public func restore(_ saved: SavedObject, _ held: SharedDescriptor?) -> BackingObject? {
        var reopening = Reopening.handle
        if let held {
            guard let status = try? Syscall.statx(held.rawValue, flags: AtFlag.dontSync), status.device == root.key.device,
                status.inode == saved.inode, ObjectKind(typeBits: status.mode) == saved.kind
            else { return nil }
            reopening = .pinned(held)
        } else if saved.handle == nil || handleMount == nil {
            return nil
        }
        let object = BackingObject(
            key: ObjectKey(device: root.key.device, inode: saved.inode, handle: saved.handle), kind: saved.kind, reopening: reopening)
        object.isOvermounted.store(saved.isOvermounted, ordering: .relaxed)
        object.hasLostNames.store(saved.hasLostNames, ordering: .relaxed)
        return object
    }

    /// Whether objects of other file systems were found: of those mounted below the root.
    public var hasOtherFileSystems: Bool { knownDevices.contains { $0 != root.key.device } }
}
