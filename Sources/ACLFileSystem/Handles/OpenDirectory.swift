import LinuxSystem
import Synchronization

/// An open directory with its descriptor.
final class OpenDirectory: Sendable {
    let node: Node
    let descriptor: SharedDescriptor
    /// The descriptor's position, locked while a listing moves it; nil: unknown. Unknown at first: Btrfs lists the names of open(2) until the
    /// descriptor is moved.
    let position = Lock<Int64?>(nil)
    let listing: UnusedListing
    /// The directory had been listed when it was opened. Only then its objects are worth a watch: `rm -r` lists a tree once.
    let wasListedBefore: Bool
    private let charge: HandleQuota.Charge

    init(node: Node, descriptor: SharedDescriptor, _ charge: HandleQuota.Charge, cache: KernelCache) {
        (self.node, self.descriptor, self.charge) = (node, descriptor, charge)
        listing = UnusedListing(of: node, cache)
        wasListedBefore = node.lastListed.load(ordering: .relaxed) != 0
    }
}
