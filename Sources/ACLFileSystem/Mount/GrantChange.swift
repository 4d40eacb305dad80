import ACLFormats
import LinuxSystem
import SandboxPolicy

// What may pass on a confined mount changes: an administrator gives or takes back a grant.

extension FileSystem {
    /// What confines this mount.
    public var profile: SandboxProfile? { loader.view?.profile }

    /// Why nothing passes on this mount although its profile is in order: with its grants it cannot be compiled.
    public var closedBecause: String? {
        loader.view?.policy.fault.map { fault in
            "\(fault.description); with all its grants the profile cannot be kept, so nothing passes: remove some"
        }
    }

    /// The user's grants that count on this mount from now on; those of other applications are passed over. When this
    /// returns, whatever we are asked is answered by them; `invalidateAfterChange` ends what the kernel answers by itself.
    /// Open descriptors keep what they were given.
    public func setGrants(_ grants: [Grant]) {
        guard let view = loader.view else { return }
        // For writing: nobody stands between a look at the old policy and the note of a name.
        mounts.share.lock.withWriteLock { view.setGrants(grants) }
        if let closedBecause { report("\(escapedName(view.profile.name.utf8)): \(closedBecause)") }
        kernel.cache.wakeClock()
    }

    /// As `KernelView.invalidateAfterChange`.
    public func invalidateAfterChange() throws(Errno) { try kernel.invalidateAfterChange() }

    /// Both, for one mount.
    public func changeGrants(_ grants: [Grant]) throws(Errno) {
        setGrants(grants)
        try invalidateAfterChange()
    }
}
