import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// What the daemons of all mounts told that is to be covered, before there were namespaces.
struct SandboxRunPlaces {
    private(set) var all: SandboxPlaces
    /// Where control sockets lie.
    let sockets: [SandboxPlaces.Place]
    /// Mounts of other daemons that show nothing of the share, nor of what is kept.
    private var unrelated: Set<UInt64> = []
    private var round = MountRound()
    private var seen = SandboxMounts()

    /// - Parameter own: what the share's daemon told.
    init(_ own: SandboxPlaces) throws(SandboxRunFailure) {
        all = own
        all.stores += try SandboxRunStores.places(besides: own)
        sockets = try SandboxRunSockets.places(apartFrom: own)
        do throws(Errno) { try seen.read() } catch { throw SandboxRunFailure("/proc/self/mountinfo", error) }
        var asked = all
        // A door is no place that another daemon could compare. Behind it the caller has nothing, or it would be his.
        asked.stores = (all.stores + sockets).filter { !$0.isClosed }
        let others = Dictionary(grouping: Self.mounts(), by: \.device)
        for (number, entries) in others {
            guard let device = DeviceNumber.parse(number), !all.mounts.contains(where: { $0.device == device })
            else { continue }
            if mayShow(entries, asked) {
                all.mounts.append(.init(device: device, isSame: false))
            } else {
                unrelated.insert(device)
            }
        }
    }

    func doors() throws(SandboxRunFailure) -> SandboxDoors {
        do throws(Errno) { return try SandboxDoors(all, kept: all.stores + sockets) } catch {
            throw SandboxRunFailure("cannot look at the directories above what has to be covered", error)
        }
    }

    private static func mounts() -> [MountEntry] { MountTable.entries().filter { $0.type == "fuse.aclfs" } }

    /// - Parameter newest: what the share's daemon told at last.
    func all(with newest: SandboxPlaces) throws(SandboxRunFailure) -> SandboxPlaces {
        var places = newest
        places.backing += all.backing.filter { !newest.backing.contains($0) }
        places.stores += all.stores.filter { !newest.stores.contains($0) }
        places.mounts += all.mounts.filter { old in !newest.mounts.contains { $0.device == old.device } }
        // What was mounted meanwhile nobody has been asked about.
        for entry in Self.mounts() {
            guard let device = DeviceNumber.parse(entry.device), !unrelated.contains(device),
                !places.mounts.contains(where: { $0.device == device })
            else { continue }
            guard entry.userID ?? 0 != geteuid() || SandboxRunView.isTemporary(entry) else {
                throw SandboxRunFailure("\(entry.path) was mounted meanwhile; try again")
            }
            places.mounts.append(.init(device: device, isSame: false))
        }
        return places
    }

    /// A daemon that does not say no may show it; then its mount is covered, which asks nothing of it.
    /// - Parameter entries: of one mount, at all places where it stands.
    private mutating func mayShow(_ entries: [MountEntry], _ asked: SandboxPlaces) -> Bool {
        for other in entries {
            let (owner, asking) = (other.userID ?? 0, geteuid())
            // To others than root he tells nothing, and need not be reached by them at all; root does without what they keep
            // from him.
            guard !other.isStrangers || asking == 0 && other.superOptions.contains("allow_other") else { return true }
            guard let top = top(of: other) else { continue }
            var shown: SharedDescriptor?
            if asking != 0, asking != owner {
                // As `places` is told: to who reaches the mount.
                guard other.root == "/" else { continue }
                shown = top
            }
            let members: [JSON.Member] = [.init("places", asked.json)]
            do throws(ControlError) {
                let answer =
                    other.isStrangers
                    ? try round.ask(other) { (daemon) throws(ControlError) in try daemon.ask("shows", members) }
                    : try SandboxRunQuestion(device: other.device, owner: owner, patience: 2000)
                        .ask("shows", members, with: shown.map { [$0.rawValue] } ?? []).result
                // An earlier version does not look for what is kept.
                let answers = ["shows", "stores", "controls"].map { answer[$0]?.bool }
                if !answers.contains(nil) { return answers.contains(true) }
            } catch {
                // A stranger is asked once: whatever he says but no, and be it that he is busy, his mount is covered.
                if !error.isReached || other.isStrangers { return true }
            }
        }
        return true
    }

    /// nil where it is not seen, or behind what somebody else serves.
    private mutating func top(of entry: MountEntry) -> SharedDescriptor? {
        guard let mount = seen.table.first(where: { $0.id == entry.id }) else { return nil }
        switch try? SandboxWalk(mount, [], among: &seen, uid: geteuid()).end {
        case .visible(let top): return top
        default: return nil
        }
    }
}
