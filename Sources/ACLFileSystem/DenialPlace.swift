import ACLFormats
import Authorization
import BackingStore
import Identity
import LinuxSystem

/// Where that which was refused stands when somebody asks.
enum DenialPlace {
    /// Names from the mount's top.
    case path([[UInt8]])
    /// The object, or the directory of the name, was removed.
    case gone
    /// Nothing was kept, it cannot be found, or he who asks may not know where it is.
    case unknown
}

extension FileSystem {
    /// The path of an object is the one by which the kernel found it, or where it was moved; the last name, if there was
    /// one, is the one that was asked for. The path is told only if it leads to the object.
    /// - Parameter credential: of whoever asks, if he may not know everything: an object may have been moved to where he
    ///   sees nothing.
    func place(of denial: Denial, seenBy credential: RequestCredential?) -> DenialPlace {
        guard let subject = denial.subject, let object = subject.object else { return .unknown }
        var path: [[UInt8]] = []
        do throws(Errno) {
            // What was removed and is open somewhere must not be kept by this question.
            defer { tree.forgetDescriptorIfRemoved(object) }
            let descriptor = try tree.descriptor(of: object)
            let status = try Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync)
            if status.nlink == 0 { return .gone }
            guard let names = tree.names(to: descriptor, status) else { return .unknown }
            let found = try tree.object(at: names).status
            guard found.device == status.device, found.inode == status.inode else { return .unknown }
            path = names
        } catch { return error == .noent ? .gone : .unknown }
        if let credential, !mayKnow(path, since: denial.time, credential) { return .unknown }
        return .path(path + (subject.name.map { [$0] } ?? []))
    }
}

extension FileSystem {
    /// Whether each name of a path is one that somebody could list now, or one that led him there: in a directory that he
    /// may only search it must have stood when he was refused.
    private func mayKnow(_ path: [[UInt8]], since time: Int64, _ credential: RequestCredential) -> Bool {
        guard mayReach(path, credential: credential) else { return false }
        return path.indices.allSatisfy { depth in
            let directory = Array(path.prefix(depth))
            let list = ExplainRequest(.right(.list), path: directory)
            if let answer = try? explain(list, credential: credential), answer.isAllowed { return true }
            guard let above = try? tree.object(at: directory).status,
                let object = try? tree.object(at: Array(path.prefix(depth + 1))).status
            else { return false }
            // A file of several names may have been refused under another one.
            return above.ctime.sec < time && (object.isDirectory || object.nlink == 1)
        }
    }
}

extension DenialPlace {
    var members: [JSON.Member] {
        switch self {
        case .path(let names): [JSON.path(Array(names.joined(separator: [0x2F])))]
        case .gone: [.init("gone", .bool(true))]
        case .unknown: []
        }
    }
}
