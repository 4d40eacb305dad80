import ACLFormats
import FuseSession
import LinuxSystem
import SandboxPolicy
import Synchronization

// What may pass on a confined mount changes: an administrator gives or takes back a grant, or a grant ends.

extension KernelView {
    /// When this returns, no call that starts later succeeds by a grant that was gone before.
    ///
    /// Never from a thread that answers requests: it waits for listings that the kernel has not used yet.
    /// - Throws: `timedout` if somebody keeps such a listing from being used. The change is in force then wherever we are
    ///   asked, and the clock's thread goes on taking back what the kernel holds.
    func invalidateAfterChange() throws(Errno) {
        guard let view = loader.view else { return }
        awaitSettledMounts()
        do throws(Errno) { try invalidateEverything() } catch {
            view.repeatExpiry()
            cache.wakeClock()
            throw error
        }
    }

    /// On the clock's thread: what was handed out under a grant that has ended is taken back.
    func invalidateEndedGrants() {
        guard let view = loader.view, view.takeExpiry() else { return }
        // Not long: the clock has other things to do.
        do { try invalidateEverything(milliseconds: 50) } catch { view.repeatExpiry() }
    }

    /// All that the kernel holds of this mount: after the change a barrier, then the bump, then attributes (R1, R4, R12).
    private func invalidateEverything(milliseconds: UInt64 = 5000) throws(Errno) {
        share.lock.withWriteLock { cache.suspend(.policyChange) }
        let listed = loader.nodes.all.filter { $0.unusedListings.load(ordering: .sequentiallyConsistent) > 0 }
        if !listed.isEmpty {
            do throws(Errno) { try notifications.awaitListings(of: listed.map { $0.id }, milliseconds: milliseconds) } catch {
                // What takes no lock of the kernel goes at once, for whoever else uses the mount.
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
