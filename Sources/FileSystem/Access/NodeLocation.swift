import BackingStore
import SandboxPolicy

/// What is known of the location of one node.
struct NodeLocation {
    struct Name {
        var parent: BackingObject
        var name: [UInt8]

        func isThis(_ name: [UInt8], in parent: BackingObject) -> Bool {
            // Where one tree lies in another, the key of the inner root has a file handle in only one of the two. So only device and
            // inode numbers are compared.
            self.name == name && self.parent.key.device == parent.key.device
                && self.parent.key.inode == parent.key.inode
        }
    }

    /// The zone of a node, and until when it counts.
    struct CachedZone {
        var policy: CompiledPolicy
        /// The share's count of moved directories when the zone was found.
        var moves: UInt64
        /// Monotonic nanoseconds.
        var expiry: UInt64
        var zone: ZoneID?
    }

    /// The names of a file in the zone of this node, as far as they were looked up. Empty for a directory.
    var names: [Name] = []
    /// The last name, or for a file without a name the directory in which it was made.
    var last: Name?
    var cachedZone: CachedZone?

    /// Further names replace the oldest. A file whose names are all unknown is denied until the next look-up.
    static let mostNames = 16

    mutating func add(_ name: Name) {
        last = name
        if names.contains(where: { $0.isThis(name.name, in: name.parent) }) { return }
        if names.count == Self.mostNames { names.removeFirst() }
        names.append(name)
    }
}
