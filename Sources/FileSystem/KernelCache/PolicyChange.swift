import ACLFormats
import FuseSession
import LinuxSystem
import SandboxPolicy
import Synchronization

// The policy of a confined mount changes: an administrator adds or removes a grant, or a grant expires.

extension KernelView {
    /// Invalidates what the kernel holds by the old policy. When this returns, no call that starts later succeeds by a removed grant.
    ///
    /// Never call it on a thread that answers requests: it waits for listings that the kernel has not used yet.
    /// - Throws: `timedout` if a caller keeps such a listing from being used. Every request is then judged by the new policy, and the
    ///   clock's thread goes on invalidating.
    func invalidateAfterChange() throws(Errno) {
        guard let view = loader.view else { return }
        awaitFinishedInvalidations()
        do throws(Errno) { try invalidateEverything() } catch {
            view.restoreExpiry()
            cache.wakeClock()
            throw error
        }
    }

    /// Invalidates what was exposed under a grant that has expired. Call on the clock's thread.
    func invalidateEndedGrants() {
        guard let view = loader.view, view.takeExpiry() else { return }
        // A short bound: the clock's other deadlines wait meanwhile.
        do { try invalidateEverything(milliseconds: 50) } catch { view.restoreExpiry() }
    }

    /// Invalidates all that the kernel holds of this mount: a barrier, then the bump, then attributes (R1, R4, R12).
    private func invalidateEverything(milliseconds: UInt64 = 5000) throws(Errno) {
        share.lock.withWriteLock { cache.suspend(.policyChange) }
        let listed = loader.nodes.all.filter { $0.unusedListings.load(ordering: .sequentiallyConsistent) > 0 }
        if !listed.isEmpty {
            do throws(Errno) { try notifications.awaitListings(of: listed.map { $0.id }, milliseconds: milliseconds) } catch {
                // What takes no lock of the kernel is invalidated even so, for the mount's other callers.
                cache.invalidateAllEntries()
                for node in loader.nodes.all { cache.invalidateAttributes(of: node.id) }
                throw error
            }
        }
        cache.invalidateAllEntries()
        for node in loader.nodes.all { cache.invalidateAttributes(of: node.id) }
        cache.resume(.policyChange)
    }
}
