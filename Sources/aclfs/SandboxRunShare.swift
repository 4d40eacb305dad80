import ACLFormats
import FuseSession
import Glibc
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// The share that a command is confined on, and the conversation with its daemon.
struct SandboxRunShare {
    let entry: MountEntry
    var mountpoint: String { entry.path }

    /// - Parameter path: of its mount point; nil for the share around the working directory, or the only one.
    init(_ path: [UInt8]?) throws(SandboxRunFailure) {
        entry = try Self.entry(path)
        let owner = entry.userID ?? 0
        guard owner == 0 || owner == geteuid() else {
            throw SandboxRunFailure(
                "\(entry.path) is the mount of user \(owner), whose daemon cannot make mounts for others; only that user can "
                    + "confine a command on it")
        }
    }

    /// A connection for each question: a daemon ends one that is silent for a second.
    static func ask(
        _ entry: MountEntry, _ command: String, _ members: [JSON.Member] = [], with descriptors: [Int32] = []
    ) throws(SandboxRunFailure) -> (result: JSON, descriptors: [SharedDescriptor]) {
        // A daemon hears eight clients of a user at a time, and turns others away.
        for pause: UInt32 in [20, 50, 100, 200, 400, 800, 0] {
            do throws(ControlError) {
                return try ControlClient(device: entry.device, owner: entry.userID ?? 0)
                    .askForDescriptors(command, members, with: descriptors)
            } catch {
                let mayHearLater = error.code == nil || error.code == Errno.again.name
                guard mayHearLater, pause > 0 else { throw SandboxRunFailure("\(entry.path): \(error.message)") }
                SystemTime.sleep(milliseconds: pause)
            }
        }
        throw SandboxRunFailure("\(entry.path): its daemon has too many clients")
    }

    private static func entry(_ path: [UInt8]?) throws(SandboxRunFailure) -> MountEntry {
        if let path {
            let location: MountLocation
            do throws(ControlError) { location = try MountLocation(path, isFollowed: true) } catch {
                throw SandboxRunFailure(error.message)
            }
            guard location.path.isEmpty, location.entry.root == "/" else {
                throw SandboxRunFailure("\(escapedName(path)): not a mount point of the whole share (\(location.entry.path) may be)")
            }
            return location.entry
        }
        if let here = try? MountLocation([0x2E], isFollowed: true), here.entry.root == "/" { return here.entry }
        let all = MountTable.entries().filter { $0.type == "fuse.aclfs" && $0.root == "/" && !$0.keepsOut(geteuid()) }
        var shown = all.filter { entry in MountTable.entry(at: entry.path)?.id == entry.id }
        // One share at two places is one.
        if Set(shown.map { $0.device }).count == 1 { shown = Array(shown.prefix(1)) }
        guard shown.count == 1 else {
            throw SandboxRunFailure(
                shown.isEmpty
                    ? "no aclfs mount is seen here"
                    : "several aclfs mounts are seen here; say which with --mount: " + shown.map { $0.path }.joined(separator: ", "))
        }
        return shown[0]
    }

    /// What is to be covered, mounts by other daemons of what lies in the same backing directory included.
    func places() throws(SandboxRunFailure) -> SandboxPlaces {
        let top = try top()
        return try places(try Self.ask(entry, "places", with: [top.rawValue]).result)
    }

    func places(with view: SandboxRunView) throws(SandboxRunFailure) -> SandboxPlaces { try places(view.places) }

    private func places(_ answer: JSON) throws(SandboxRunFailure) -> SandboxPlaces {
        guard var places = SandboxPlaces(answer), answer["stores"] != nil else {
            throw SandboxRunFailure("\(entry.path): its daemon's answer is not understood; is it another version?")
        }
        let others = Dictionary(grouping: MountTable.entries().filter { $0.type == "fuse.aclfs" }, by: \.device)
        for (number, entries) in others {
            guard let device = DeviceNumber.parse(number), !places.mounts.contains(where: { $0.device == device })
            else { continue }
            if Self.mayShow(entries, places) { places.mounts.append(.init(device: device, isSame: false)) }
        }
        places.stores += try stores(besides: places)
        return places
    }

    /// Where the caller's grants are kept by his environment, and by the daemons of other mounts of his.
    private func stores(besides places: SandboxPlaces) throws(SandboxRunFailure) -> [SandboxPlaces.Place] {
        var stores: [SandboxPlaces.Place] = []
        // Without HOME no daemon that is started like this command keeps any.
        if let own = try? GrantPlace.prepare() {
            do throws(Errno) {
                let device = try Syscall.statx(own.base.rawValue, flags: AtFlag.dontSync).device
                // What lies on the share itself is closed in the view, or is seen as the profile says.
                if !places.mounts.contains(where: { $0.device == device }), let wall = try own.wall() { stores.append(wall) }
            } catch {
                throw SandboxRunFailure("nobody can say where \(own.path), which keeps the grants, has to be covered", error)
            }
        }
        for other in MountTable.entries()
        where other.type == "fuse.aclfs" && other.device != entry.device && (other.userID ?? 0) == geteuid() {
            guard let client = try? ControlClient(device: other.device, owner: geteuid(), patience: 2000),
                let answer = try? client.ask("places"), let told = SandboxPlaces(answer)
            else { continue }
            stores += told.stores
        }
        return stores
    }

    /// A daemon that does not say no may show it; then its mount is covered, which asks nothing of it.
    /// - Parameter entries: of one mount, at all places where it stands.
    private static func mayShow(_ entries: [MountEntry], _ places: SandboxPlaces) -> Bool {
        for other in entries {
            let (owner, asking) = (other.userID ?? 0, geteuid())
            // Whoever keeps others out, root among them, need not be reached by them at all.
            guard owner == 0 || owner == asking || other.superOptions.contains("allow_other") else { return true }
            // Nor is a walk through somebody else's mount.
            if (try? MountInfo.ofThisProcess())?.strangersMount(above: other.id, uid: asking) != nil { return true }
            var shown: SharedDescriptor?
            if asking != 0, asking != owner {
                // As `places` is told: to who reaches the mount.
                guard other.root == "/",
                    let top = try? Syscall.open(other.path, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow)
                else { continue }
                shown = SharedDescriptor(top)
            }
            guard let client = try? ControlClient(device: other.device, owner: owner, patience: 2000) else { return true }
            let answer = try? client.ask(
                "shows", [.init("places", places.json)], with: shown.map { [$0.rawValue] } ?? [])
            if let shows = answer?["shows"]?.bool { return shows }
        }
        return true
    }

    /// Who has it reaches the mount, which the daemon wants to see.
    private func top() throws(SandboxRunFailure) -> SharedDescriptor {
        do throws(Errno) {
            return SharedDescriptor(try Syscall.open(mountpoint, OpenFlag.path | OpenFlag.directory))
        } catch { throw SandboxRunFailure(mountpoint, error) }
    }

    func view(_ profile: SandboxProfile) throws(SandboxRunFailure) -> SandboxRunView {
        let top = try top()
        return entry.userID ?? 0 == 0
            ? try SandboxRunView.made(by: entry, profile, top)
            : try SandboxRunView.own(entry, profile, top)
    }
}
