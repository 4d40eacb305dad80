import LinuxSystem
import Synchronization

/// An open directory with its descriptor.
final class OpenDirectory: Sendable {
    let node: Node
    let descriptor: SharedDescriptor
    /// Locked while a listing moves it.
    let position: Lock<ListingPosition>
    let listing: UnusedListing
    /// The directory had been listed when it was opened. Only then its objects are worth a watch: `rm -r` lists a tree once.
    let wasListedBefore: Bool
    private let charge: HandleQuota.Charge

    init(
        node: Node, descriptor: SharedDescriptor, _ position: ListingPosition, _ charge: HandleQuota.Charge, cache: KernelCache
    ) {
        (self.node, self.descriptor, self.charge) = (node, descriptor, charge)
        self.position = Lock(position)
        listing = UnusedListing(of: node, cache)
        wasListedBefore = node.lastListed.load(ordering: .relaxed) != 0
    }
}
