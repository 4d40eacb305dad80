import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// The places to hide, as the daemons of all mounts report them. Daemons are asked before the namespaces exist.
struct SandboxRunPlaces {
    private(set) var all: SandboxPlaces
    /// The directories of control sockets.
    let sockets: [SandboxPlaces.Place]
    /// Devices of other daemons' mounts that show neither the share nor grants.
    private var unrelated: Set<UInt64> = []
    private var round = MountRound()
    private var seen = SandboxMounts()

    /// - Parameter own: the places that the share's daemon reported.
    /// - Throws: a place cannot be found, or cannot be hidden.
    init(_ own: SandboxPlaces) throws(SandboxRunFailure) {
        all = own
        all.stores += try SandboxRunStores.places(besides: own)
        sockets = try SandboxRunSockets.places(apartFrom: own)
        do throws(Errno) { try seen.read() } catch { throw SandboxRunFailure("cannot read /proc/self/mountinfo", error) }
        var asked = all
        // No daemon can compare a closed directory with its own places. The caller has no file below it.
        asked.stores = (all.stores + sockets).filter { !$0.isClosed }
        let others = Dictionary(grouping: Self.mounts(), by: \.device)
        for (number, entries) in others {
            guard let device = DeviceNumber.parse(number), !all.mounts.contains(where: { $0.device == device })
            else { continue }
            if askWhetherShown(entries, asked) {
                all.mounts.append(.init(device: device, isSame: false))
            } else {
                unrelated.insert(device)
            }
        }
    }

    /// - Throws: a directory above the places cannot be read.
    func closedDirectories() throws(SandboxRunFailure) -> SandboxClosedDirectories {
        do throws(Errno) { return try SandboxClosedDirectories(all, kept: all.stores + sockets) } catch {
            throw SandboxRunFailure("cannot examine the directories above the paths to hide", error)
        }
    }

    private static func mounts() -> [MountEntry] { MountTable.entries().filter { $0.type == "fuse.aclfs" } }

    /// - Parameter newest: the places that the share's daemon reported when it made the view.
    /// - Returns: these and all earlier ones.
    /// - Throws: another mount appeared meanwhile.
    func all(with newest: SandboxPlaces) throws(SandboxRunFailure) -> SandboxPlaces {
        var places = newest
        places.backing += all.backing.filter { !newest.backing.contains($0) }
        places.stores += all.stores.filter { !newest.stores.contains($0) }
        places.mounts += all.mounts.filter { old in !newest.mounts.contains { $0.device == old.device } }
        // No daemon has been asked about a mount that appeared meanwhile.
        for entry in Self.mounts() {
            guard let device = DeviceNumber.parse(entry.device), !unrelated.contains(device),
                !places.mounts.contains(where: { $0.device == device })
            else { continue }
            guard entry.userID ?? 0 != geteuid() || SandboxRunView.isTemporary(entry) else {
                throw SandboxRunFailure("\(entry.path) was mounted while the sandbox was made: try again")
            }
            places.mounts.append(.init(device: device, isSame: false))
        }
        return places
    }

    /// Asks the daemon of a mount whether it shows one of the places.
    /// - Parameter entries: the table entries of one mount.
    /// - Returns: false only if the daemon denies it. Hiding the mount needs no answer.
    private mutating func askWhetherShown(_ entries: [MountEntry], _ asked: SandboxPlaces) -> Bool {
        for other in entries {
            let (owner, asking) = (other.userID ?? 0, geteuid())
            // Another user's daemon answers root only. Root asks it only if the mount admits other users.
            guard !other.isOfAnotherUser || asking == 0 && other.superOptions.contains("allow_other") else { return true }
            guard let top = top(of: other) else { continue }
            var shown: SharedDescriptor?
            if asking != 0, asking != owner {
                // A daemon answers a caller that reaches the mount.
                guard other.root == "/" else { continue }
                shown = top
            }
            let question = ShowsMessage(places: asked)
            do throws(ControlError) {
                let answer =
                    other.isOfAnotherUser
                    ? try round.ask(other) { (daemon) throws(ControlError) in try daemon.ask(question) }
                    : try SandboxRunQuestion(device: other.device, owner: owner, timeout: 2000)
                        .ask(question, with: shown.map { [$0.rawValue] } ?? []).answer
                // An earlier version does not report grants and controls.
                let answers = [answer.shows, answer.stores, answer.controls]
                if !answers.contains(nil) { return answers.contains(true) }
            } catch {
                // Another user's daemon is asked once. Its mount is hidden unless it denies, also if it is busy.
                if !error.isReached || other.isOfAnotherUser { return true }
            }
        }
        return true
    }

    /// - Returns: nil if the mount is hidden, or lies behind another user's mount.
    private mutating func top(of entry: MountEntry) -> SharedDescriptor? {
        guard let mount = seen.table.first(where: { $0.id == entry.id }) else { return nil }
        switch try? SandboxWalk(mount, [], among: &seen, uid: geteuid()).end {
        case .visible(let top): return top
        default: return nil
        }
    }
}
