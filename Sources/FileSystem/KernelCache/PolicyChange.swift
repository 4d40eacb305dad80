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
        do throws(Errno) { try exposeByNewPolicy() } catch {
            view.restoreExpiry()
            cache.wakeClock()
            throw error
        }
    }

    /// Invalidates what was exposed under a grant that has expired. Call on the clock's thread.
    func invalidateEndedGrants() {
        guard let view = loader.view, view.takeExpiry() else { return }
        // A short bound: the clock's other deadlines wait meanwhile.
        do { try exposeByNewPolicy(milliseconds: 50) } catch { view.restoreExpiry() }
    }

    private func exposeByNewPolicy(milliseconds: UInt64 = 5000) throws(Errno) {
        try invalidateEverything(during: .policyChange, milliseconds: milliseconds)
        cache.resume(.policyChange)
    }
}

extension FileSystem {
    /// The profile that confines this mount; nil if none does.
    public var profile: SandboxProfile? { loader.view?.profile }

    /// Why nothing is allowed on this mount: the profile cannot be compiled with its grants. nil if it can.
    public var closedBecause: String? {
        loader.view?.policy.fault.map { fault in
            "\(fault.description); the profile cannot be compiled with all its grants, so nothing is allowed: remove some grants"
        }
    }

    /// Replaces the grants of this mount. From its return on, every request is judged by them; `invalidateAfterChange` then invalidates
    /// what the kernel holds. Open descriptors keep what was granted.
    /// - Parameter grants: of the user; those for other applications are ignored.
    public func setGrants(_ grants: [Grant]) {
        guard let view = loader.view else { return }
        // For writing: no request is between a decision by the old policy and the note of its entry.
        mounts.share.lock.withWriteLock { view.setGrants(grants) }
        if let closedBecause { report("\(escapedName(view.profile.name.utf8)): \(closedBecause)") }
        kernel.cache.wakeClock()
    }

    /// Invalidates what the kernel holds by the old policy, as `KernelView.invalidateAfterChange`.
    /// - Throws: `timedout` if a caller keeps a listing from being used.
    public func invalidateAfterChange() throws(Errno) { try kernel.invalidateAfterChange() }

    /// Replaces the grants and invalidates what the kernel holds by the old ones.
    /// - Parameter grants: as for `setGrants`.
    /// - Throws: as `invalidateAfterChange`.
    public func changeGrants(_ grants: [Grant]) throws(Errno) {
        setGrants(grants)
        try invalidateAfterChange()
    }
}
