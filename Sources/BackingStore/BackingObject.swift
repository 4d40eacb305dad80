import Authorization
import LinuxSystem
import Synchronization

/// What makes an object of the backing directory itself and no other: device, inode number and, where
/// the file system has handles, the handle, whose generation tells a reused inode number apart.
public struct ObjectKey: Hashable, Sendable {
    public let device: UInt64
    public let inode: UInt64
    public let handle: FileHandle?

    public func hash(into hasher: inout Hasher) {
        // Objects that differ in the rest alone are hardly ever there together.
        hasher.combine(inode)
    }

    public func _rawHashValue(seed: Int) -> Int { NumberHash.spread(inode, seed: seed) }
}

/// An object of the backing directory. It is addressed by its handle; by its last name where the daemon may not open
/// handles, and only if its handle says that it is the same; or by a descriptor that is kept. Never by a path.
public final class BackingObject: Sendable {
    public let key: ObjectKey
    public let kind: ObjectKind
    let wayBack: WayBack
    /// Something is mounted on this directory that is no part of the tree: it shows nothing and takes nothing (I7).
    public let isCovered = Atomic<Bool>(false)

    /// It may be an open descriptor as long as it is known.
    public var mayHoldDescriptor: Bool {
        switch wayBack {
        case .handle: false
        case .name, .pinned: true
        }
    }

    init(key: ObjectKey, kind: ObjectKind, wayBack: WayBack) {
        (self.key, self.kind, self.wayBack) = (key, kind, wayBack)
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

    /// The type bits of a mode, as st_mode carries them.
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
