import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// The aclfs mounts of this mount namespace: whether each answers. For a user who is not root those of others count only if they do not.
enum MountChecks {
    static func all() -> [Finding] {
        let mounts = MountRound.mounts()
        var round = MountRound(timeout: 2000)
        return mounts.compactMap { mount in
            let isOfOthers = geteuid() != 0 && mount.userID != geteuid()
            let place = escapedName(mount.path.utf8)
            if MountServer.isDead(mount) {
                return .problem(
                    place, "its daemon has died, so each request fails with \"Transport endpoint is not connected\"",
                    do: "mount \(place) heals it if fstab has it; aclfs unmount \(place) removes it")
            }
            do throws(ControlError) {
                _ = try round.ask(mount) { (daemon) throws(ControlError) in try daemon.ask(StatusMessage()) }
                return isOfOthers ? nil : .fine(place, "an aclfs mount, which answers")
            } catch {
                // The daemon tells others nothing, which is no fault.
                if isOfOthers, !error.isTimeout { return nil }
                return .note(place, "its daemon gives no status: \(error.message)", do: "aclfs status \(place) as the user who mounted")
            }
        }
    }
}
