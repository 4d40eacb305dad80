import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// Whether a daemon serves a directory, or one inside or around it.
package final class ServedDirectory: Sendable {
    private let path: String
    private let question: ServesMessage
    /// Daemons that did not answer: each is waited for once.
    private let silent = Lock<Set<String>>([])

    /// - Parameters:
    ///   - directory: a descriptor of it.
    ///   - path: its real path.
    package init(_ directory: Int32, path: String) {
        self.path = path
        question = ServesMessage(ancestors: Self.ancestors(directory))
    }

    /// - Returns: the directory and its ancestors, each as device and inode number: those of its path, and those that it has in its file
    ///   system, as far as a mount shows them.
    package static func ancestors(_ directory: Int32) -> [String] {
        var found: [String] = []
        var tops: Set<UInt64> = []
        guard let start = try? Syscall.dup(directory) else { return [] }
        var starts = [SharedDescriptor(start)]
        while let next = starts.popLast() {
            // As far as the caller may search them.
            try? Syscall.visitOpenAncestors(of: next.rawValue) { node, status in
                let identity = "\(status.device):\(status.inode)"
                if !found.contains(identity) { found.append(identity) }
                if status.isMountRoot, let mount = try? Syscall.mountID(of: node.rawValue), tops.insert(mount).inserted {
                    starts += wholes(of: node, status, mount)
                }
                return found.count < 4096
            }
        }
        return found
    }

    /// The same directory on other mounts that show more of its file system. `..` of the top of a bind mount leads out of that.
    private static func wholes(of top: SharedDescriptor, _ status: FileStatus, _ mount: UInt64) -> [SharedDescriptor] {
        let mounts = MountTable.entries()
        guard let own = mounts.first(where: { $0.id == mount }), own.root != "/" else { return [] }
        let served = mounts.filter { $0.type.hasPrefix("fuse") && $0.path != "/" }
        var roots: Set<String> = []
        return mounts.compactMap { other in
            guard other.device == own.device, other.root != own.root, MountPath.isInside(own.root, other.root), !roots.contains(other.root),
                // Its daemon may be this one, or one that hangs.
                !served.contains(where: { MountPath.isInside(other.path, $0.path) })
            else { return nil }
            let names = String(decoding: Array(own.root.utf8.dropFirst(other.root == "/" ? 1 : other.root.utf8.count + 1)), as: UTF8.self)
            guard let above = try? Syscall.open(other.path, OpenFlag.path | OpenFlag.directory),
                (try? Syscall.mountID(of: above.rawValue)) == other.id,
                let node = try? Syscall.openBeneath(above.rawValue, names, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow),
                let found = try? Syscall.statx(node.rawValue), (found.device, found.inode) == (status.device, status.inode)
            else { return nil }
            roots.insert(other.root)
            return SharedDescriptor(node)
        }
    }

    /// Asks the daemons of the caller; for root, those of all users with a mount.
    /// - Parameter warn: called for each daemon that does not answer.
    /// - Returns: why the directory cannot be changed without a daemon; nil if none serves it.
    package func obstacle(_ warn: (String) -> Void) -> String? {
        let mounts = MountTable.entries().filter { $0.type == "fuse.aclfs" }
        // Of a mount of another user too, as far as this mount namespace shows it.
        if let mount = mounts.first(where: { isRelated($0.source) }) {
            let what = MountPath.isInside(path, mount.source) ? "it" : "\(mount.source) in it"
            return "\(what) is mounted at \(mount.path); \(Self.remedy)"
        }
        var owners = [geteuid()]
        if geteuid() == 0 { owners += Set(mounts.compactMap(\.userID)).subtracting(owners).sorted() }
        for owner in owners {
            for device in ControlPlace.devices(of: owner) where !silent.withLock({ $0.contains(device) }) {
                do throws(ControlError) {
                    switch try service(device, owner) {
                    case .here: return "\(Self.obstacle); \(Self.remedy)"
                    case .elsewhere:
                        return "\(Self.obstacle), for processes in another mount namespace, such as a container; unmount it there first"
                    case nil: break
                    }
                } catch {
                    // No process listens at a socket that an ended daemon left.
                    guard error.isReached else { continue }
                    silent.withLock { _ = $0.insert(device) }
                    // One user's daemon that hangs must not keep others from their trees. What its mount shows is examined above.
                    let places = mounts.filter { $0.device == device }.map(\.path)
                    if places.isEmpty {
                        warn("a daemon of user \(owner) does not say whether it serves \(path): \(error.message)")
                    }
                }
            }
        }
        return nil
    }

    private static let obstacle = "a daemon serves it, or a directory inside or around it"
    private static let remedy = "unmount it first (aclfs status has the mounts)"

    /// A daemon whose last mount has just ended answers until it ends itself: it has this long, in milliseconds.
    private static let ending: UInt32 = 2000

    private enum Service {
        case here
        /// In another mount namespace.
        case elsewhere
    }

    /// - Returns: where a daemon has the mount by which it serves the directory; nil if it does not.
    private func service(_ device: String, _ owner: UInt32) throws(ControlError) -> Service? {
        for _ in 0..<Self.ending / 50 {
            let client = try ControlClient(device: device, owner: owner, timeout: 1000)
            guard try client.ask(question).serves else { return nil }
            if MountTable.entries().contains(where: { $0.device == device }) { return .here }
            SystemTime.sleep(milliseconds: 50)
        }
        return .elsewhere
    }

    private func isRelated(_ source: String) -> Bool {
        source.hasPrefix("/") && (MountPath.isInside(source, path) || MountPath.isInside(path, source))
    }
}
