import FuseSession
import LinuxSystem
import Synchronization

/// The last READDIRPLUS reply of a handle, until the kernel has used it (R5). The node of the directory counts it.
final class UnusedListing: Sendable {
    /// The bytes of all unused listings of a mount. Beyond that, listings have no objects.
    static let capacity = ExposedEntries.capacity

    private let node: Node
    private let cache: KernelCache
    private struct State {
        var isOutstanding = false
        /// The epoch in which the listing was begun.
        var epoch: UInt64 = 0
        var names = ExposedEntries()
        /// Another process has made it.
        var hasUnknownNames = false
        /// Its entries are being invalidated singly, which waits for the directory's lock and so until the kernel has used the
        /// listing.
        var isInvalidated = false
    }
    private let state = Lock(State())

    init(of node: Node, _ cache: KernelCache) { (self.node, self.cache) = (node, cache) }
    deinit { markUsed() }

    /// Notes that a new listing is about to be made.
    func begin() {
        state.withLock { state in
            if !state.isOutstanding { state.epoch = cache.beginListing(of: node) }
            state.isOutstanding = true
        }
    }

    /// Another process may have made a listing that the kernel has not used yet.
    func assumeOne() {
        state.withLock { state in
            _ = cache.beginListing(of: node)
            (state.isOutstanding, state.hasUnknownNames, state.epoch) = (true, true, 0)
        }
    }

    func append(_ name: UnsafePointer<CChar>, _ child: NodeID) {
        state.withLock { state in
            let before = state.names.size
            state.names.append(name, child, in: node.id)
            node.exposure.noteListedObject()
            cache.noteUnused(bytes: state.names.size - before)
        }
    }

    /// The entries that the kernel may still use, to be invalidated singly.
    func takeUnused() -> ExposedEntries {
        state.withLock { state in
            state.isInvalidated = true
            return state.names
        }
    }

    /// Notes that the kernel has used the listing.
    func markUsed() {
        state.withLock { state in
            if state.isOutstanding {
                cache.markListingUsed(
                    of: node, showing: state.names, since: state.epoch, isInvalidated: state.isInvalidated,
                    hasMore: state.hasUnknownNames)
            }
            state.isOutstanding = false
            state.hasUnknownNames = false
            state.isInvalidated = false
            state.names.removeAll()
        }
    }
}
