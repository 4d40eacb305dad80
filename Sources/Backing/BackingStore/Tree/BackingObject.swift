import Authorization
import LinuxSystem
import Synchronization

/// The identity of an object of the backing directory: device, inode number and, where the file system has handles, the handle. The
/// handle's generation differs when an inode number is reused.
public struct ObjectKey: Hashable, Sendable {
    public let device: UInt64
    public let inode: UInt64
    public let handle: FileHandle?

    public init(device: UInt64, inode: UInt64, handle: FileHandle?) { (self.device, self.inode, self.handle) = (device, inode, handle) }

    public func hash(into hasher: inout Hasher) {
        // Objects that differ only in the rest are rarely in one table.
        hasher.combine(inode)
    }

    public func _rawHashValue(seed: Int) -> Int { NumberHash.spread(inode, seed: seed) }
}

/// An object of the backing directory. It is opened by its handle. Where the daemon may not open handles, it is opened by its last
/// name, and its handle is compared. Or a descriptor stays open. It is never opened by a path.
public final class BackingObject: Sendable {
    public let key: ObjectKey
    public let kind: ObjectKind
    let reopening: Reopening
    /// A mount that does not belong to the tree is on this directory: it appears empty and accepts nothing (I7).
    public let isOvermounted = Atomic<Bool>(false)
    /// A request found it without a name.
    public let hasLostNames = Atomic<Bool>(false)

    /// Whether a descriptor of the object may stay open as long as the kernel knows it.
    public var mayHoldDescriptor: Bool {
        switch reopening {
        case .handle: false
        case .name, .pinned: true
        }
    }

    init(key: ObjectKey, kind: ObjectKind, reopening: Reopening) {
        (self.key, self.kind, self.reopening) = (key, kind, reopening)
    }
}

extension ObjectKind {
    /// The kind in the type bits of a mode.
    public init(typeBits mode: UInt32) {
        switch mode & 0o170000 {
        case 0o040000: self = .directory
        case 0o120000: self = .symlink
        case 0o010000: self = .fifo
        case 0o140000: self = .socket
        case 0o020000: self = .characterDevice
        case 0o060000: self = .blockDevice
        default: self = .file
        }
    }

    /// The type bits of a mode, as in st_mode.
    public var typeBits: UInt32 {
        switch self {
        case .file: 0o100000
        case .directory: 0o040000
        case .symlink: 0o120000
        case .fifo: 0o010000
        case .socket: 0o140000
        case .characterDevice: 0o020000
        case .blockDevice: 0o060000
        }
    }
}
