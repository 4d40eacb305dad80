import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// The directories of the caller's grants: by the environment, by the account, and by the daemons of the caller's other mounts, which
/// may have started in another environment.
enum SandboxRunStores {
    /// - Parameter share: the places that its daemon reported.
    /// - Throws: a directory can be neither made nor hidden, or a daemon does not answer.
    static func places(besides share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        try byEnvironment(besides: share) + byAccount(besides: share) + ofOtherDaemons(besides: share)
    }

    private static func byEnvironment(besides share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        // Without HOME a daemon of this environment keeps no grants.
        guard let path = try? GrantPlace.wanted() else { return [] }
        return try hidingPlaces(path, besides: share)
    }

    /// The directory of daemons that start at login. It is optional if the environment names another one: then it stays exposed where
    /// an overmount would not stay.
    private static func byAccount(besides share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        guard let path = GrantPlace.usual, path != (try? GrantPlace.wanted()) else { return [] }
        return try hidingPlaces(path, besides: share, isOptional: GrantPlace.isNamed).map { place in
            var place = place
            place.isOptional = GrantPlace.isNamed
            return place
        }
    }

    /// - Parameter isOptional: whether to leave out a path whose server is dead.
    /// - Returns: the directory to hide, or a closed one above it; empty if there is none.
    private static func hidingPlaces(
        _ path: String, besides share: SandboxPlaces, isOptional: Bool = false
    ) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        do throws(Errno) {
            let place = try GrantPlace(at: path)
            let device = try Syscall.statx(place.base.rawValue, flags: AtFlag.dontSync).device
            // On the share itself the profile governs it.
            if share.mounts.contains(where: { $0.device == device }) { return [] }
            return try place.hidingPlace().map { [$0] } ?? []
        } catch {
            if isOptional, error.isOfDeadServer { return [] }
            // Below a closed directory, such as another user's home after su, no daemon of the caller keeps grants.
            if error == .acces, let closed = try SandboxRunClosedDirectory.place(on: path, of: "grants are kept") { return [closed] }
            if error == .notdir || error == .loop, GrantPlace.isBarred(path) { return [] }
            if let obstacle = GrantPlace.obstacle(on: path) {
                throw SandboxRunFailure(
                    "\(obstacle), so the directory of grants \(escapedName(path.utf8)) can be neither made nor hidden: move it away")
            }
            throw SandboxRunFailure(
                "cannot make or open the directory of grants \(escapedName(path.utf8)), which must be hidden", error)
        }
    }

    /// - Throws: a daemon does not answer. It could keep grants anywhere.
    private static func ofOtherDaemons(besides share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        var stores: [SandboxPlaces.Place] = []
        var answered = Set(share.mounts.map { DeviceNumber.text($0.device) })
        func ask(_ device: String) throws(ControlError) {
            if answered.contains(device) { return }
            let answer = try SandboxRunQuestion(device: device, owner: geteuid(), timeout: 10_000).ask(PlacesMessage()).answer
            guard let told = answer.placesWithStores else {
                throw ControlError(ControlError.notUnderstood, code: Errno.inval.name)
            }
            stores += told.stores
            answered.formUnion(told.mounts.map { DeviceNumber.text($0.device) })
            answered.insert(device)
        }
        for mount in ownMounts() {
            // The mount table shows a mount a moment before its daemon answers, and a moment after it has ended.
            var retries = 50
            while true {
                do throws(ControlError) { try ask(mount.device) } catch {
                    if !error.isReached {
                        if isGone(mount) { break }
                        if retries > 0 {
                            retries -= 1
                            SystemTime.sleep(milliseconds: 20)
                            continue
                        }
                        // The daemon died, and another mount hides its own.
                        if error.isStaleSocket { break }
                    }
                    throw failure("\(mount.path): the daemon of this mount", error)
                }
                break
            }
        }
        // A daemon may serve another mount namespace and keep its grants here.
        var unread: (path: String, error: Errno)?
        let devices = ControlPlace.devices(of: geteuid()) { unread = ($0, $1) }
        if let unread {
            throw SandboxRunFailure(
                "\(escapedName(unread.path.utf8)), where control sockets of your daemons lie, must be readable by you and writable by no "
                    + "other user (chmod 700), so that the grants of these daemons are found", unread.error)
        }
        for device in devices {
            do throws(ControlError) { try ask(device) } catch {
                // A socket may be left over from a mount that has ended.
                if error.isReached { throw failure("your daemon of the mount with device number \(device)", error) }
            }
        }
        return stores
    }

    private static func ownMounts() -> [MountEntry] {
        MountTable.entries().filter {
            $0.type == "fuse.aclfs" && ($0.userID ?? 0) == geteuid() && !SandboxRunView.isTemporary($0)
        }
    }

    /// Whether a mount has ended or its daemon has died: then it keeps no grants.
    private static func isGone(_ mount: MountEntry) -> Bool {
        !ownMounts().contains { $0.device == mount.device } || MountServer.isDead(mount)
    }

    private static func failure(_ who: String, _ error: ControlError) -> SandboxRunFailure {
        SandboxRunFailure(
            "\(who) does not say where it keeps grants, which must be hidden (\(error.message)): continue the daemon if it is stopped, "
                + "or unmount")
    }
}
