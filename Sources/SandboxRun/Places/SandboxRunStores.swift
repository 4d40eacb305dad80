import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// Where the caller's grants are kept: by his environment, by his account, and by the daemons of other mounts of his, each of which
/// may have been started in another environment.
enum SandboxRunStores {
    /// - Parameter share: what its own daemon told.
    static func places(besides share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        try byEnvironment(besides: share) + byAccount(besides: share) + ofOtherDaemons(besides: share)
    }

    private static func byEnvironment(besides share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        // Without HOME no daemon that is started like this command keeps any.
        guard let path = try? GrantPlace.wanted() else { return [] }
        return try wall(path, besides: share)
    }

    /// Where daemons keep them that are started as people log in. It is done without where it cannot be covered to stay and the
    /// environment names another place.
    private static func byAccount(besides share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        guard let path = GrantPlace.usual, path != (try? GrantPlace.wanted()) else { return [] }
        return try wall(path, besides: share, isOptional: GrantPlace.isNamed).map { place in
            var place = place
            place.isOptional = GrantPlace.isNamed
            return place
        }
    }

    /// - Parameter isOptional: where nobody answers who could keep them there, it is done without.
    private static func wall(
        _ path: String, besides share: SandboxPlaces, isOptional: Bool = false
    ) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        do throws(Errno) {
            let place = try GrantPlace(at: path)
            let device = try Syscall.statx(place.base.rawValue, flags: AtFlag.dontSync).device
            // What lies on the share itself is closed in the view, or is seen as the profile says.
            if share.mounts.contains(where: { $0.device == device }) { return [] }
            return try place.hidingPlace().map { [$0] } ?? []
        } catch {
            if isOptional, error.isOfDeadServer { return [] }
            // Where he may not go, as in the home of who became this user, no daemon of his keeps any as long as it stays closed.
            if error == .acces, let door = try SandboxRunDoor.place(on: path, of: "grants are kept") { return [door] }
            if error == .notdir || error == .loop, GrantPlace.isBarred(path) { return [] }
            if let obstacle = GrantPlace.obstacle(on: path) {
                throw SandboxRunFailure(
                    "\(obstacle), so that what keeps the grants, \(escapedName(path.utf8)), can be neither made nor covered: move "
                        + "it away")
            }
            throw SandboxRunFailure(
                "nobody can say where \(escapedName(path.utf8)), which keeps the grants, has to be covered", error)
        }
    }

    /// One that does not answer may keep them anywhere.
    private static func ofOtherDaemons(besides share: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        var stores: [SandboxPlaces.Place] = []
        var answered = Set(share.mounts.map { DeviceNumber.text($0.device) })
        func ask(_ device: String) throws(ControlError) {
            if answered.contains(device) { return }
            let answer = try SandboxRunQuestion(device: device, owner: geteuid(), patience: 10_000).ask("places").result
            guard let told = SandboxPlaces(answer), answer["stores"] != nil else {
                throw ControlError("its daemon's answer is not understood; is it another version?", code: Errno.inval.name)
            }
            stores += told.stores
            answered.formUnion(told.mounts.map { DeviceNumber.text($0.device) })
            answered.insert(device)
        }
        for mount in ownMounts() {
            // A mount is seen a moment before its daemon can be asked, and a moment longer.
            var patience = 50
            while true {
                do throws(ControlError) { try ask(mount.device) } catch {
                    if !error.isReached {
                        if isGone(mount) { break }
                        if patience > 0 {
                            patience -= 1
                            SystemTime.sleep(milliseconds: 20)
                            continue
                        }
                        // It died, and what stands on its mount hides that.
                        if error.isStaleSocket { break }
                    }
                    throw failure("\(mount.path): the daemon of this mount of yours", error)
                }
                break
            }
        }
        // One may serve another mount namespace and keep its grants here.
        var unread: (path: String, error: Errno)?
        let devices = ControlPlace.devices(of: geteuid()) { unread = ($0, $1) }
        if let unread {
            throw SandboxRunFailure(
                "\(escapedName(unread.path.utf8)), where control sockets of yours lie, cannot be read, so that nobody can say which daemons "
                    + "of yours keep grants: let it be open to you and to nobody else (chmod 700)", unread.error)
        }
        for device in devices {
            do throws(ControlError) { try ask(device) } catch {
                // A socket may be left over from a mount that has gone.
                if error.isReached { throw failure("a daemon of yours, of the mount \(device),", error) }
            }
        }
        return stores
    }

    private static func ownMounts() -> [MountEntry] {
        MountTable.entries().filter {
            $0.type == "fuse.aclfs" && ($0.userID ?? 0) == geteuid() && !SandboxRunView.isTemporary($0)
        }
    }

    /// Or dead: then it keeps grants no more.
    private static func isGone(_ mount: MountEntry) -> Bool {
        !ownMounts().contains { $0.device == mount.device } || MountServer.isDead(mount)
    }

    private static func failure(_ who: String, _ error: ControlError) -> SandboxRunFailure {
        SandboxRunFailure(
            "\(who) does not say where it keeps grants, which the command must not change (\(error.message)); let it go on, or "
                + "unmount it")
    }
}
