import BackingStore
import ControlProtocol
import Glibc
import LinuxSystem
import SandboxPolicy

/// What a client wants of the grants; paths are names from the mount's top.
public enum GrantOrder: Sendable {
    case add(Grant)
    /// - Parameter below: those for what lies below the path, too.
    case remove(bundle: String, path: [[UInt8]], below: Bool)
    /// - Parameter from: how many were told in earlier answers.
    case list(bundle: String?, from: Int)
}

extension ControlServer {
    /// The daemon keeps them for all its mounts; here is found what is meant.
    func grants(_ request: ReceivedRequest, _ peer: ControlSocket.Peer) throws(ControlFailure) -> any ControlAnswer {
        try requireOutside(peer)
        let order: GrantOrder
        switch request.command {
        case .grantAdd:
            let message = try read(request) { (request) throws(RequestProblem) in
                try GrantAddMessage(reading: request, at: SystemTime.now().sec)
            }
            let grant = Grant(
                bundle: message.bundle, path: message.path, isDirectory: try isDirectory(message.path), access: message.access,
                expires: message.expires)
            // Who grants at several places wants to know first whether it can be done at all of them.
            if message.isCheck { return GrantAddAnswer(notes: nil) }
            order = .add(grant)
        case .grantRemove:
            let message = try read(request, GrantRemoveMessage.init(reading:))
            order = .remove(bundle: message.bundle, path: message.path, below: message.isBelow)
        default:
            let message = try read(request, GrantListMessage.init(reading:))
            order = .list(bundle: message.bundle, from: message.from)
        }
        switch facts.grants(order, peer.uid) {
        case .done(let answer), .handed(let answer, _): return answer
        case .failed(let error, let message): throw ControlFailure(error, message)
        case .notMine: throw ControlFailure(.opnotsupp, "this daemon keeps no grants")
        }
    }

    /// Who is confined grants nothing. A view's own processes do not reach this socket; if one does all the same, it is
    /// in a user namespace of its own. For other commands it is enough that nothing speaks for that; here it must be known.
    private func requireOutside(_ peer: ControlSocket.Peer) throws(ControlFailure) {
        // Root here is root of our own namespace; an ordinary user's daemon may not look at its processes.
        if peer.uid == 0, geteuid() != 0 { return }
        guard peer.userNamespace == .ours else {
            throw ControlFailure(.perm, "whether the caller runs in a sandbox cannot be told, so nothing can be granted")
        }
    }

    /// As whoever is not confined sees it: a view of the same tree need not show what is granted to it.
    private func isDirectory(_ path: [[UInt8]]) throws(ControlFailure) -> Bool {
        let status: FileStatus
        do throws(Errno) { status = try fileSystem.tree.object(at: path).status } catch {
            if error == .loop { throw ControlFailure(error, "a symbolic link is on the way; name the place that it leads to") }
            throw ControlFailure(error)
        }
        if status.isSymlink { throw ControlFailure(.inval, "a symbolic link; name what it leads to") }
        guard status.isDirectory || status.isRegular else {
            throw ControlFailure(.inval, "neither a file nor a directory: only these can be granted")
        }
        return status.isDirectory
    }
}
