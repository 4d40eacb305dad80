import FuseSession
import LinuxSystem

/// The last READDIRPLUS reply of a handle, as long as it may wait to be used by the kernel (R5). Counted in the directory's
/// node.
final class UnusedListing: Sendable {
    /// What all of a mount show together; beyond that objects are left out of listings.
    static let capacity = ExposedEntries.capacity

    private let node: Node
    private let cache: KernelCache
    private struct State {
        var isOutstanding = false
        /// When it was begun.
        var epoch: UInt64 = 0
        var names = ExposedEntries()
        /// Its names are being taken back singly. That waits for the directory's lock, so until the kernel has used it.
        var isInvalidated = false
    }
    private let state = Lock(State())

    init(of node: Node, _ cache: KernelCache) { (self.node, self.cache) = (node, cache) }
    deinit { markUsed() }

    /// A new one is about to be made; what was shown before has been used.
    func begin() {
        state.withLock { state in
            if !state.isOutstanding { state.epoch = cache.beginListing(of: node) }
            state.isOutstanding = true
        }
    }

    func append(_ name: UnsafePointer<CChar>, _ child: NodeID) {
        state.withLock { state in
            let before = state.names.size
            state.names.append(name, child, in: node.id)
            cache.noteUnused(bytes: state.names.size - before)
        }
    }

    /// What the kernel may yet use, to be taken back singly.
    func takeUnused() -> ExposedEntries {
        state.withLock { state in
            state.isInvalidated = true
            return state.names
        }
    }

    /// What was shown before has been used.
    func markUsed() {
        state.withLock { state in
            if state.isOutstanding {
                cache.markListingUsed(of: node, showing: state.names, since: state.epoch, isInvalidated: state.isInvalidated)
            }
            state.isOutstanding = false
            state.isInvalidated = false
            state.names.removeAll()
        }
    }
}
