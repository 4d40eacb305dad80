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

    /// - Returns: the directory and its ancestors, each as device and inode number.
    package static func ancestors(_ directory: Int32) -> [String] {
        var found: [String] = []
        // As far as the caller may search them.
        try? Syscall.visitAncestors(of: directory) { status in
            found.append("\(status.device):\(status.inode)")
            return found.count < 4096
        }
        return found
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
