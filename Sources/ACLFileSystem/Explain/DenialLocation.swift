import ACLFormats
import Authorization
import BackingStore
import Identity
import LinuxSystem

/// Where that which was refused stands when somebody asks.
enum DenialLocation {
    /// Names from the mount's top.
    case path([[UInt8]])
    /// The object, or the directory of the name, was removed.
    case gone
    /// Nothing was kept, it cannot be found, or he who asks may not know where it is.
    case unknown
}

extension BackingTree {
    /// The path by which the object stands now, or the directory of the name; the last name, if there was one, is the one
    /// that was asked for. The path is told only if it leads there.
    func location(of denial: Denial) -> DenialLocation {
        guard let subject = denial.subject, let object = subject.object else { return .unknown }
        do throws(Errno) {
            // What was removed and is open somewhere must not be kept by this question.
            defer { forgetDescriptorIfRemoved(object) }
            let descriptor = try descriptor(of: object)
            let status = try Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync)
            if status.nlink == 0 { return .gone }
            guard let names = names(to: descriptor, status) else { return .unknown }
            let found = try self.object(at: names).status
            guard found.device == status.device, found.inode == status.inode else { return .unknown }
            return .path(names + (subject.name.map { [$0] } ?? []))
        } catch { return error == .noent ? .gone : .unknown }
    }
}

extension Explainer {
    /// - Parameter credential: of a caller who may not know everything. What is told could be found out by listing directories; the
    ///   last name of a request the caller gave. Whether something was removed is not told: where it stood, and so who may know
    ///   that, is not kept.
    func location(of denial: Denial, visibleTo credential: RequestCredential?) -> DenialLocation {
        let location = loader.tree.location(of: denial)
        guard let credential else { return location }
        guard case .path(var directories) = location else { return .unknown }
        if denial.subject?.name != nil { directories.removeLast() }
        return mayFind(directories, credential) ? location : .unknown
    }

    /// Whether each name of a path stands in a directory that somebody may list and search now. Which name led him there
    /// does not count: a file may have others, it may have been moved while he held it open, and what a descriptor is used
    /// for needs no name.
    private func mayFind(_ path: [[UInt8]], _ credential: RequestCredential) -> Bool {
        // Deeper ones would take a walk for each name; `explain` knows none of them either.
        guard path.count <= ExplainRequest.maximumNames, mayReach(path, credential: credential) else { return false }
        return path.indices.allSatisfy { depth in
            let list = ExplainRequest(.right(.list), path: Array(path.prefix(depth)))
            guard let answer = try? explain(list, credential: credential) else { return false }
            return answer.isAllowed
        }
    }
}

extension DenialLocation {
    var members: [JSON.Member] {
        switch self {
        case .path(let names): [JSON.path(Array(names.joined(separator: [0x2F])))]
        case .gone: [.init("gone", .bool(true))]
        case .unknown: []
        }
    }
}
