import BackingStore
import LinuxSystem
import Synchronization

/// The mounts on objects of this mount. The kernel detaches them at a bump of the epoch, and when the daemon refuses to revalidate a name on
/// the path to them (docs/internals/coherence.md "The price of a bump").
final class MountsBelow: Sendable {
    private struct NameOnPath: Hashable {
        var device: UInt64
        var inode: UInt64
        var name: [UInt8]
    }

    private let isNonEmpty = Atomic<Bool>(false)
    private let names = Lock<Set<NameOnPath>>([])

    var exist: Bool { isNonEmpty.load(ordering: .relaxed) }

    /// Whether the path to such a mount contains this name.
    func areReached(by name: UnsafePointer<CChar>, in directory: BackingObject) -> Bool {
        guard exist else { return false }
        let key = NameOnPath(device: directory.key.device, inode: directory.key.inode, name: Array(name.bytes))
        return names.withLock { $0.contains(key) }
    }

    /// Replaces what is known by the state of the mount table.
    /// - Parameters:
    ///   - table: all mounts of the namespace.
    ///   - device: of this mount.
    ///   - others: the names to mounts in other namespaces.
    ///   - tree: of this mount, to resolve the paths.
    func update(_ table: [MountInfo], device: UInt64, others: [[[UInt8]]] = [], tree: BackingTree) {
        var found: Set<NameOnPath> = []
        var count = 0
        for path in Self.paths(in: table, device: device) + others {
            count += 1
            var directory = tree.root
            for name in path {
                found.insert(NameOnPath(device: directory.key.device, inode: directory.key.inode, name: name))
                guard let next = try? Self.child(name, of: directory, tree) else { break }
                directory = next
            }
        }
        names.withLock { $0 = found }
        isNonEmpty.store(count > 0, ordering: .relaxed)
    }

    private static func child(_ name: [UInt8], of directory: BackingObject, _ tree: BackingTree) throws(Errno) -> BackingObject {
        let descriptor = try tree.descriptor(of: directory)
        return try name.withCName { (name) throws(Errno) in
            try tree.resolve(name, in: descriptor, Syscall.statx(descriptor.rawValue)).object
        }
    }

    /// The names from this mount's root to each mount directly on this file system, also where it is bound elsewhere. A mount on the
    /// root itself depends on no name.
    static func paths(in table: [MountInfo], device: UInt64) -> [[[UInt8]]] {
        var own: [UInt64: MountInfo] = [:]
        for mount in table where mount.device == device { own[mount.id] = mount }
        return table.compactMap { mount in
            own[mount.parent].flatMap { names(at: mount.path, on: $0.path, $0.root) }
        }
    }

    /// The names from a file system's root to a mount on it; nil if it is on the root itself.
    /// - Parameters:
    ///   - path: of the mount.
    ///   - host: the path of the mount that it is on.
    ///   - root: of the latter, in its file system.
    static func names(at path: [UInt8], on host: [UInt8], _ root: [UInt8]) -> [[UInt8]]? {
        guard path.starts(with: host) else { return nil }
        let components = (root + path.dropFirst(host == [0x2F] ? 0 : host.count)).split(separator: 0x2F).map { Array($0) }
        return components.isEmpty ? nil : components
    }
}
