import Authorization
import LinuxSystem
import Synchronization

/// Whether a file system stores the number of an owner that is no user (`ObjectFacts.notAnID`).
final class OwnerNumbers: Sendable {
    /// 0: not tried, 1: it does, 2: it does not.
    fileprivate let answer = Atomic<UInt8>(0)
}

extension BackingTree {
    /// Whether the number can be stored on a device. It is tried once, where a server might refuse it: bindfs stores a number from 2^31 on, says
    /// EIO, and then refuses every request of the object, its removal too.
    public func storesNotAnID(on device: UInt64) -> Bool {
        guard device == root.key.device, opensAsCaller(device: device) else { return true }
        let known = ownerNumbers.answer.load(ordering: .relaxed)
        if known != 0 { return known == 1 }
        guard let answer = try? tryNotAnID() else { return true }
        ownerNumbers.answer.store(answer ? 1 : 2, ordering: .relaxed)
        return answer
    }

    /// Tries it with a directory: of a file the kernel would not let the number be replaced again.
    /// - Throws: none can be made.
    private func tryNotAnID() throws(Errno) -> Bool {
        let name = Array(".aclfs-owner-\(UInt64.random(in: .min ... .max))".utf8)
        let top = rootDescriptor.rawValue
        try name.withCString { (name) throws(Errno) in try Syscall.mkdirat(top, name, mode: 0o700) }
        defer { try? name.withCString { (name) throws(Errno) in try Syscall.unlinkat(top, name, flags: AtFlag.removeDirectory) } }
        let made = SharedDescriptor(
            rawValue: try name.withCString { (name) throws(Errno) in
                try Syscall.openat(top, name, OpenFlag.path | OpenFlag.noFollow | OpenFlag.closeOnExec).release()
            })
        do throws(Errno) {
            try Syscall.fchown(made.rawValue, uid: ObjectFacts.notAnID, gid: .max)
            return try Syscall.statx(made.rawValue, flags: AtFlag.forceSync).uid == ObjectFacts.notAnID
        } catch {
            try? Syscall.fchown(made.rawValue, uid: FileSystemUser.owner, gid: .max)
            return false
        }
    }
}
