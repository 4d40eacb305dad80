import BackingStore
import ControlProtocol
import Glibc
import LinuxSystem
import SandboxPolicy

/// A request about grants. Paths are names from the mount's root.
public enum GrantOrder: Sendable {
    case add(Grant)
    /// - Parameter below: includes grants for what is below the path.
    case remove(bundle: String, path: [[UInt8]], below: Bool)
    /// - Parameter from: the number of grants in earlier answers.
    case list(bundle: String?, from: Int)
}

extension ControlServer {
    /// Answers `grant-add`, `grant-remove` and `grant-list`. This resolves the path; the daemon keeps the grants of all its mounts.
    func grants(_ request: ReceivedRequest, _ peer: ControlSocket.Peer) throws(ControlFailure) -> any ControlAnswer {
        try requireOutside(peer)
        let order: GrantOrder
        switch request.command {
        case .grantAdd:
            let message = try read(request) { (request) throws(RequestProblem) in
                try GrantAddMessage(reading: request, at: SystemTime.now().sec)
            }
            var grant = Grant(
                bundle: message.bundle, path: message.path, isDirectory: try isDirectory(message.path), access: message.access,
                expires: message.expires)
            if message.follows { grant.object = try followedObject(of: grant) }
            // A client that grants on several paths, or asks for a grant that an older daemon does not know, checks first.
            if message.isCheck { return GrantAddAnswer(notes: nil, follows: message.follows) }
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

    /// Requires a client that is not confined. Processes of a view do not reach this socket; if one did, it would be in a user namespace of
    /// its own. Other commands accept an unknown namespace; this one does not.
    private func requireOutside(_ peer: ControlSocket.Peer) throws(ControlFailure) {
        // uid 0 is root in the daemon's namespace. An ordinary user's daemon may not inspect the namespaces of root's processes.
        if peer.uid == 0, geteuid() != 0 { return }
        guard peer.userNamespace == .same else {
            throw ControlFailure(
                .perm, "the daemon cannot determine whether the caller runs in a sandbox, and so answers no request about grants")
        }
    }

    /// The object at the path of a grant, if a grant can follow it.
    private func followedObject(of grant: Grant) throws(ControlFailure) -> FollowedObject {
        let tree = fileSystem.loader.tree
        guard tree.opensHandles else {
            throw ControlFailure(
                .opnotsupp,
                geteuid() == 0
                    ? "the backing file system has no file handles by which a grant could follow an object; grant the place instead"
                    : "only root's daemon may open file handles, by which a grant follows an object; grant the place instead")
        }
        var object: FollowedObject?
        do throws(Errno) {
            let found = try tree.object(at: grant.path).object.key
            let parent = grant.isDirectory ? nil : try tree.object(at: grant.path.dropLast()).object.key
            if found.device == tree.root.key.device { object = FollowedObject(found, isDirectory: grant.isDirectory, in: parent) }
        } catch { throw ControlFailure(error) }
        guard let object, fileSystem.mounts.followed.place(of: object, lastAt: grant.path, in: tree) == .at(grant.path) else {
            throw ControlFailure(
                .opnotsupp, "it is not on the file system of the directory that the mount serves, so a grant cannot follow it")
        }
        return object
    }

    /// Whether a path leads to a directory. It is resolved on the unconfined mount, because a view need not show what is granted to it.
    private func isDirectory(_ path: [[UInt8]]) throws(ControlFailure) -> Bool {
        let status: FileStatus
        do throws(Errno) { status = try fileSystem.loader.tree.object(at: path).status } catch {
            if error == .loop { throw ControlFailure(error, "a symbolic link is on the path; give the path that it leads to") }
            throw ControlFailure(error)
        }
        if status.isSymlink { throw ControlFailure(.inval, "a symbolic link; give the path that it leads to") }
        guard status.isDirectory || status.isRegular else {
            throw ControlFailure(.inval, "neither a file nor a directory: only these can be granted")
        }
        return status.isDirectory
    }
}
