import ACLFormats
import ControlProtocol
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
                "\(Self.name(entry)) is the mount of user \(owner), whose daemon cannot make mounts for others; only that user can "
                    + "confine a command on it")
        }
        // Whatever else is asked of the path would be answered by what stands there.
        _ = try top()
    }

    private static func name(_ entry: MountEntry) -> String { escapedName(entry.path.utf8) }

    /// A question to the share's own daemon.
    static func ask<Request: ControlRequest>(
        _ entry: MountEntry, _ request: Request, with descriptors: [Int32] = [], mayTake: Bool = false
    ) throws(SandboxRunFailure) -> (answer: Request.Answer, descriptors: [SharedDescriptor]) {
        do throws(ControlError) {
            return try SandboxRunQuestion(device: entry.device, owner: entry.userID ?? 0)
                .ask(request, with: descriptors, mayTake: mayTake)
        } catch { throw SandboxRunFailure("\(name(entry)): \(error.message)") }
    }

    private static func entry(_ path: [UInt8]?) throws(SandboxRunFailure) -> MountEntry {
        if let path {
            let location: MountLocation
            do throws(ControlError) { location = try MountLocation(path, isFollowed: true) } catch {
                throw SandboxRunFailure(error.message)
            }
            guard location.path.isEmpty, location.entry.root == "/" else {
                throw SandboxRunFailure("\(escapedName(path)): not a mount point of the whole share" + advice(location.entry))
            }
            return location.entry
        }
        if let here = try? MountLocation([0x2E], isFollowed: true), here.entry.root == "/" { return here.entry }
        // On a stranger's only he could confine anything.
        let all = MountTable.entries().filter {
            $0.type == "fuse.aclfs" && $0.root == "/" && !$0.keepsOut(geteuid()) && !$0.isStrangers
        }
        var shown = all.filter { entry in MountTable.entry(at: entry.path)?.id == entry.id }
        // One share at two places is one.
        if Set(shown.map { $0.device }).count == 1 { shown = Array(shown.prefix(1)) }
        if shown.count > 1 { shown.removeAll(where: isConfined) }
        guard shown.count == 1 else {
            throw SandboxRunFailure(
                shown.isEmpty
                    ? "no aclfs mount of root's or your own is seen here"
                    : "several aclfs mounts are seen here; say which with --mount: " + shown.map { Self.name($0) }.joined(separator: ", "))
        }
        return shown[0]
    }

    /// Where the whole of what a mount shows may be named, if it is mounted here.
    private static func advice(_ part: MountEntry) -> String {
        let whole = MountTable.entries().first { entry in
            entry.device == part.device && entry.root == "/" && MountTable.entry(at: entry.path)?.id == entry.id
        }
        return whole.map { " (\(name($0)) may be)" } ?? "; that is mounted nowhere here"
    }

    /// A view is no share that a command could be confined on.
    private static func isConfined(_ entry: MountEntry) -> Bool {
        guard let top = try? Syscall.open(entry.path, OpenFlag.path | OpenFlag.directory),
            let told = try? ask(entry, PlacesMessage(), with: [top.rawValue])
        else { return false }
        return told.answer.isConfined
    }

    /// What is to be covered, mounts by other daemons of what lies in the same backing directory included. All of them are
    /// asked now: once there are namespaces of our own, no daemon tells anything.
    func places() throws(SandboxRunFailure) -> SandboxRunPlaces {
        let top = try top()
        let own = try places(try Self.ask(entry, PlacesMessage(), with: [top.rawValue]).answer)
        return try SandboxRunPlaces(own)
    }

    /// As above, with what the daemon told when it made the view.
    func places(with view: SandboxRunView, _ told: SandboxRunPlaces) throws(SandboxRunFailure) -> SandboxPlaces {
        try told.all(with: try places(view.places))
    }

    private func places(_ answer: PlacesAnswer) throws(SandboxRunFailure) -> SandboxPlaces {
        guard let places = SandboxPlaces(answer) else {
            throw SandboxRunFailure("\(Self.name(entry)): its daemon's answer is not understood; is it another version?")
        }
        return places
    }

    /// Who has it reaches the mount, which the daemon wants to see.
    private func top() throws(SandboxRunFailure) -> SharedDescriptor {
        let top: SharedDescriptor
        let number: UInt64
        do throws(Errno) {
            top = SharedDescriptor(try Syscall.open(mountpoint, OpenFlag.path | OpenFlag.directory))
            number = try Syscall.mountID(of: top.rawValue)
        } catch { throw SandboxRunFailure(Self.name(entry), error) }
        // The mount table names mounts by paths where they need not be seen.
        guard MountTable.entries().contains(where: { $0.id == number && $0.device == entry.device }) else {
            throw SandboxRunFailure("\(Self.name(entry)) is hidden by what is mounted above it: that path leads to something else")
        }
        return top
    }

    func view(_ profile: SandboxProfile) throws(SandboxRunFailure) -> SandboxRunView {
        let top = try top()
        return entry.userID ?? 0 == 0
            ? try SandboxRunView.made(by: entry, profile, top)
            : try SandboxRunView.own(entry, profile, top)
    }
}
