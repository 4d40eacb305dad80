import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// The aclfs mounts of this mount namespace: whether each answers. For a user who is not root those of others count only if they do not.
enum MountChecks {
    static func all() -> [Finding] {
        let mounts = MountRound.mounts()
        var round = MountRound(timeout: 2000, ownTimeout: 5000)
        return mounts.compactMap { mount in
            let isOfOthers = geteuid() != 0 && mount.userID != geteuid()
            let (place, word) = (escapedName(mount.path.utf8), shellWord(mount.path))
            do throws(ControlError) {
                let status = try round.ask(mount) { (daemon) throws(ControlError) in try daemon.ask(StatusMessage()) }
                if let ignoring = ignoring(status.options, place) { return ignoring }
                return isOfOthers ? nil : .fine(place, "an aclfs mount, which answers")
            } catch {
                // A daemon that is stopped would answer no request to the mount either.
                if error.isTimeout, !mount.isOfAnotherUser {
                    return .problem(place, "its daemon does not answer", do: "aclfs unmount -f \(word) ends it, and its callers get errors")
                }
                if !error.isTimeout, MountServer.isDead(mount) {
                    return .problem(
                        place, "its daemon has died, so each request fails with \"Transport endpoint is not connected\"",
                        do: "mount \(word) heals it if fstab has it; aclfs unmount \(word) removes it")
                }
                // The daemon tells others nothing, which is no fault.
                if isOfOthers, !error.isTimeout { return nil }
                return .note(place, "its daemon gives no status: \(error.message)", do: "aclfs status \(word) as the user who mounted")
            }
        }
    }

    private static func ignoring(_ options: [String], _ place: String) -> Finding? {
        let words = IgnoredRulesWarning.words.filter(options.contains)
        if words.isEmpty { return nil }
        return .note(
            place, "an aclfs mount with \(words.map { "\($0): \(IgnoredRulesWarning.meaning(of: $0))" }.joined(separator: "; "))",
            do: "to enforce permissions there, mount it without noacl and noowners (docs/reference/mounting.md)")
    }
}
