import LinuxSystem

/// An open directory and where its descriptor stands.
final class OpenDirectory: Sendable {
    let node: Node
    let descriptor: SharedDescriptor
    /// Held while a listing moves the descriptor's position.
    let position = Lock(())
    let listing: UnusedListing
    private let portion: HandleQuota.Portion

    init(node: Node, descriptor: SharedDescriptor, _ portion: HandleQuota.Portion, cache: KernelCache) {
        (self.node, self.descriptor, self.portion) = (node, descriptor, portion)
        listing = UnusedListing(of: node, cache)
    }
}
