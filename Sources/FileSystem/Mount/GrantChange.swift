import ACLFormats
import LinuxSystem
import SandboxPolicy

// The policy of a confined mount changes: an administrator adds or removes a grant.

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
