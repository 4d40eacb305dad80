import ACLFileSystem
import LinuxSystem
import SandboxPolicy

/// Applies a change of an application's grants to all mounts that its profile confines. The first step changes the decisions of the
/// daemon and waits for nothing. The second invalidates the kernel's caches, on all mounts in parallel: a slow one delays no other.
extension MountHost {
    /// A mount whose daemon decides by the change already.
    struct ChangedMount {
        var mountpoint: String
        var fileSystem: FileSystem
    }

    /// Applies the change to the daemon's decisions. Call with the grants locked, so that mounts see changes in the stored order.
    func apply(_ files: [GrantFile], of bundle: String) -> [ChangedMount] {
        let concerned = confined.filter { $0.profile.bundle == bundle }
        for served in concerned {
            served.fileSystem.setGrants(GrantScope.grants(for: served.profile, on: served.tree, followed, in: files))
        }
        return concerned.map { ChangedMount(mountpoint: $0.mountpoint, fileSystem: $0.fileSystem) }
    }

    /// Invalidates what the kernel has cached. Call without the lock: other changes and new views go on meanwhile.
    /// - Returns: the problem if a mount still invalidates after 10 seconds. Its daemon decides by the change nevertheless.
    func invalidate(on mounts: [ChangedMount]) -> GrantProblem? {
        let outcomes = Monitor<[Int: Errno?]>([:])
        for (number, mount) in mounts.enumerated() {
            let fileSystem = mount.fileSystem
            @Sendable func invalidate() {
                var problem: Errno?
                do throws(Errno) { try fileSystem.invalidateAfterChange() } catch { problem = error }
                let outcome = problem
                outcomes.withLock { _ = $0.updateValue(outcome, forKey: number) }
            }
            do throws(Errno) {
                _ = try Thread.start(name: "aclfs-grants") { invalidate() }
            } catch { invalidate() }
        }
        // Each invalidation has a timeout of its own. This deadline is for one that hangs elsewhere.
        let end = SystemTime.monotonic() + 10_000_000_000
        let isDone = outcomes.wait(until: end) { $0.count == mounts.count ? true : nil } == true
        let known = outcomes.withLock { $0 }
        let unfinished = mounts.indices.compactMap { number -> (mountpoint: String, errno: Errno)? in
            guard let outcome = known[number] else { return isDone ? nil : (mounts[number].mountpoint, .timedout) }
            return outcome.map { (mounts[number].mountpoint, $0) }
        }
        guard let first = unfinished.first else { return nil }
        let others = unfinished.count > 1 ? " (and \(unfinished.count - 1) more)" : ""
        return GrantProblem(
            errno: first.errno,
            message: "the mount on \(first.mountpoint)\(others) decides by the change, but its kernel still has older names cached: "
                + "a program there has not read a directory listing to its end (\(first.errno.text))")
    }
}
