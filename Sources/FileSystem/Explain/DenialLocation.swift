import ACLFormats
import Authorization
import BackingStore
import ControlProtocol
import Identity
import LinuxSystem

/// The present location of an object that a denial was about.
enum DenialLocation {
    /// Names from the mount's root.
    case path([[UInt8]])
    /// The object, or the directory of the name, was removed.
    case gone
    /// No object was recorded, it cannot be found, or the client may not learn where it is.
    case unknown
}

extension BackingTree {
    /// The present path of the object, or of the directory of the denied name with that name appended. A path that does not lead to the
    /// object is discarded.
    func location(of denial: Denial) -> DenialLocation {
        guard let denied = denial.denied, let object = denied.object else { return .unknown }
        do throws(Errno) {
            // A descriptor in the cache would keep the blocks of a removed file.
            defer { forgetDescriptorIfRemoved(object) }
            let descriptor = try descriptor(of: object)
            let status = try Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync)
            if status.nlink == 0 { return .gone }
            guard let names = names(to: descriptor, status) else { return .unknown }
            let found = try self.object(at: names).status
            guard found.device == status.device, found.inode == status.inode else { return .unknown }
            return .path(names + (denied.name.map { [$0] } ?? []))
        } catch { return error == .noent ? .gone : .unknown }
    }
}

extension Explainer {
    /// The location that a client may learn: one that it could find by listing directories. The last name is the one that the request gave.
    /// A removed object is unknown to it: the directory, whose rights would decide, is not recorded.
    /// - Parameter credential: of the client; nil for one that may learn every location.
    func location(of denial: Denial, visibleTo credential: RequestCredential?) -> DenialLocation {
        let location = loader.tree.location(of: denial)
        guard let credential else { return location }
        guard case .path(var directories) = location else { return .unknown }
        if denial.denied?.name != nil { directories.removeLast() }
        return mayFind(directories, credential) ? location : .unknown
    }

    /// Whether the subject may list and search each directory of a path now. The name of the denied request does not count: a file may have
    /// several, it may have moved while it was open, and a request by descriptor needs none.
    private func mayFind(_ path: [[UInt8]], _ credential: RequestCredential) -> Bool {
        // Each name costs a walk, so deep paths are refused, as `explain` refuses them.
        guard path.count <= ControlPath.mostNames, mayReach(path, credential: credential) else { return false }
        return path.indices.allSatisfy { depth in
            let list = ExplainQuestion(.right(.list), path: Array(path.prefix(depth)))
            guard let answer = try? explain(list, credential: credential) else { return false }
            return answer.isAllowed
        }
    }
}
