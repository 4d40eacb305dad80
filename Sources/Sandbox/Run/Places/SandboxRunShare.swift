import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// The share that a command is confined on, and the questions to its daemon.
struct SandboxRunShare {
    let entry: MountEntry
    var mountpoint: String { entry.path }

    /// - Parameter path: of its mount point; nil for the share of the working directory, or the only one.
    /// - Throws: there is no such share, more than one, or another user's.
    init(_ path: [UInt8]?) throws(SandboxRunFailure) {
        entry = try Self.entry(path)
        let owner = entry.userID ?? 0
        guard owner == 0 || owner == geteuid() else {
            throw SandboxRunFailure(
                "\(Self.name(entry)) is the mount of user \(owner), whose daemon cannot make mounts for others; only that user can "
                    + "confine a command on it")
        }
        // Another mount on the path would answer for the share.
        _ = try top()
    }

    private static func name(_ entry: MountEntry) -> String { escapedName(entry.path.utf8) }

    /// Asks the share's own daemon.
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
        // Only its own user can confine a command on a user's mount.
        let all = MountTable.entries().filter {
            $0.type == "fuse.aclfs" && $0.root == "/" && !$0.refuses(geteuid()) && !$0.isOfAnotherUser
        }
        var shown = all.filter { entry in MountTable.entry(at: entry.path)?.id == entry.id }
        // A share with two mount points is one share.
        if Set(shown.map { $0.device }).count == 1 { shown = Array(shown.prefix(1)) }
        if shown.count > 1 { shown.removeAll(where: isConfined) }
        guard shown.count == 1 else {
            throw SandboxRunFailure(
                shown.isEmpty
                    ? "no aclfs mount that root or you mounted is visible here"
                    : "several aclfs mounts are visible here; choose one with --mount: "
                        + shown.map { Self.name($0) }.joined(separator: ", "))
        }
        return shown[0]
    }

    /// - Returns: for the message, the mount point that shows the whole share, if there is one here.
    private static func advice(_ part: MountEntry) -> String {
        let whole = MountTable.entries().first { entry in
            entry.device == part.device && entry.root == "/" && MountTable.entry(at: entry.path)?.id == entry.id
        }
        return whole.map { "; use --mount \(name($0))" } ?? ", which is not mounted in this mount namespace"
    }

    /// Whether a mount is a view, on which no command can be confined.
    private static func isConfined(_ entry: MountEntry) -> Bool {
        guard let top = try? Syscall.open(entry.path, OpenFlag.path | OpenFlag.directory),
            let told = try? ask(entry, PlacesMessage(), with: [top.rawValue])
        else { return false }
        return told.answer.isConfined
    }

    /// - Returns: the places to hide, including those of other daemons' mounts.
    /// - Throws: a daemon does not answer. Call before the namespaces exist: afterwards no daemon answers.
    func places() throws(SandboxRunFailure) -> SandboxRunPlaces {
        let top = try top()
        let own = try places(try Self.ask(entry, PlacesMessage(), with: [top.rawValue]).answer)
        return try SandboxRunPlaces(own)
    }

    /// - Parameters:
    ///   - view: with the places that the daemon reported when it made the view.
    ///   - earlier: the places of before.
    /// - Returns: both together.
    func places(with view: SandboxRunView, _ earlier: SandboxRunPlaces) throws(SandboxRunFailure) -> SandboxPlaces {
        try earlier.all(with: try places(view.places))
    }

    private func places(_ answer: PlacesAnswer) throws(SandboxRunFailure) -> SandboxPlaces {
        guard let places = answer.placesWithStores else {
            throw SandboxRunFailure("\(Self.name(entry)): \(ControlError.notUnderstood)")
        }
        return places
    }

    /// - Returns: the top of the mount. It proves to the daemon that the caller reaches the mount.
    private func top() throws(SandboxRunFailure) -> SharedDescriptor {
        let top: SharedDescriptor
        let number: UInt64
        do throws(Errno) {
            top = SharedDescriptor(try Syscall.open(mountpoint, OpenFlag.path | OpenFlag.directory))
            number = try Syscall.mountID(of: top.rawValue)
        } catch { throw SandboxRunFailure(Self.name(entry), error) }
        // Another mount may hide a path of the mount table.
        guard MountTable.entries().contains(where: { $0.id == number && $0.device == entry.device }) else {
            throw SandboxRunFailure("\(Self.name(entry)) is hidden by another mount: the path does not lead to the share")
        }
        return top
    }

    /// - Returns: a new view of the share, not attached yet.
    func view(_ profile: SandboxProfile) throws(SandboxRunFailure) -> SandboxRunView {
        let top = try top()
        return entry.userID ?? 0 == 0
            ? try SandboxRunView.made(by: entry, profile, top)
            : try SandboxRunView.own(entry, profile, top)
    }
}
