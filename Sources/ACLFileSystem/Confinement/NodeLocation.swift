import BackingStore
import SandboxPolicy

/// Where one node stands, as far as it was found out.
struct NodeLocation {
    struct Name {
        var parent: BackingObject
        var name: [UInt8]

        func isThis(_ name: [UInt8], in parent: BackingObject) -> Bool {
            // Of trees one inside the other only one knows the inner root by its handle.
            self.name == name && self.parent.key.device == parent.key.device
                && self.parent.key.inode == parent.key.inode
        }
    }

    /// What was found out, and how long it may be believed.
    struct CachedZone {
        var policy: CompiledPolicy
        /// Of the share: how many directories had moved.
        var moves: UInt64
        /// Monotonic nanoseconds.
        var expiry: UInt64
        var zone: ZoneID?
    }

    /// Of what is no directory: the names by which it was found in this zone.
    var names: [Name] = []
    /// Its last name, or the directory that it was made in without one.
    var last: Name?
    var cachedZone: CachedZone?

    /// More names than these are not kept; a file that loses all of them is refused until it is looked up again.
    static let mostNames = 16

    mutating func add(_ name: Name) {
        last = name
        if names.contains(where: { $0.isThis(name.name, in: name.parent) }) { return }
        if names.count == Self.mostNames { names.removeFirst() }
        names.append(name)
    }
}
