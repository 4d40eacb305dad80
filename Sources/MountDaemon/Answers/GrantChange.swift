import ACLFileSystem
import LinuxSystem
import SandboxPolicy

/// A change of an application's grants on the mounts that it confines, in two steps. The first puts it in force on all of them and
/// waits for nobody. The second waits for each kernel, on all mounts at a time: whoever makes one of them slow delays no other.
extension MountHost {
    /// A mount on which a change is in force, as far as it asks.
    struct ChangedMount {
        var mountpoint: String
        var fileSystem: FileSystem
    }

    /// With the grants held, so that changes come to each mount in the order in which they are kept.
    func putInForce(_ files: [GrantFile], of bundle: String) -> [ChangedMount] {
        let concerned = confined.filter { $0.profile.bundle == bundle }
        for served in concerned { served.fileSystem.setGrants(GrantScope.grants(for: served.profile, on: served.tree, in: files)) }
        return concerned.map { ChangedMount(mountpoint: $0.mountpoint, fileSystem: $0.fileSystem) }
    }

    /// Without the grants held: others change theirs meanwhile, and views begin.
    /// - Returns: if a mount could not take back all that its kernel holds. The change is in force there all the same as far as
    ///   it asks.
    func takeBack(on mounts: [ChangedMount]) -> GrantProblem? {
        let outcomes = Monitor<[Int: Errno?]>([:])
        for (number, mount) in mounts.enumerated() {
            let fileSystem = mount.fileSystem
            @Sendable func takeBack() {
                var problem: Errno?
                do throws(Errno) { try fileSystem.takeBackAfterChange() } catch { problem = error }
                let outcome = problem
                outcomes.withLock { _ = $0.updateValue(outcome, forKey: number) }
            }
            do throws(Errno) {
                _ = try Thread.start(name: "aclfs-grants") { takeBack() }
            } catch { takeBack() }
        }
        // Each gives up by itself; this is for one that stands still on the way.
        let end = SystemTime.monotonic() + 10_000_000_000
        let isDone = outcomes.wait(until: end) { $0.count == mounts.count ? true : nil } == true
        let known = outcomes.withLock { $0 }
        let late = mounts.indices.compactMap { number -> (mountpoint: String, errno: Errno)? in
            guard let outcome = known[number] else { return isDone ? nil : (mounts[number].mountpoint, .timedout) }
            return outcome.map { (mounts[number].mountpoint, $0) }
        }
        guard let first = late.first else { return nil }
        let others = late.count > 1 ? " (and \(late.count - 1) more)" : ""
        return GrantProblem(
            errno: first.errno,
            message: "the mount on \(first.mountpoint)\(others) goes on taking back what its kernel holds: a listing there "
                + "is not read to its end (\(first.errno.text)); whatever the mount itself is asked follows the change")
    }
}
