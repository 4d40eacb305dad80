import LinuxSystem

/// An open directory with its descriptor.
final class OpenDirectory: Sendable {
    let node: Node
    let descriptor: SharedDescriptor
    /// Held while a listing moves the descriptor's position.
    let position = Lock(())
    let listing: UnusedListing
    private let charge: HandleQuota.Charge

    init(node: Node, descriptor: SharedDescriptor, _ charge: HandleQuota.Charge, cache: KernelCache) {
        (self.node, self.descriptor, self.charge) = (node, descriptor, charge)
        listing = UnusedListing(of: node, cache)
    }
}
