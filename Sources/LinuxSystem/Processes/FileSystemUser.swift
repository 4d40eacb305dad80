import CLinux
import Glibc
import Synchronization

/// As whom file systems see a thread of root's daemon when it spends space.
///
/// ext4, f2fs and UBIFS keep blocks for user 0 and go by the thread's file-system user id (fsuid), not by its
/// capabilities. So the daemon's threads have another fsuid, keep their capabilities, and become 0 only while
/// they act for root. The id is the kernel's per thread; new threads inherit it.
public enum FileSystemUser {
    /// Ids that no account has, best first: −2; and 65535, −1 in 16 bits, which never is an account either but
    /// exists in containers and id-mapped mounts that end there.
    public static let candidates: [UInt32] = [0xFFFF_FFFE, 0xFFFF]

    /// 0 = not restricted. Written before the threads start.
    private static let restricted = Atomic<UInt32>(0)

    /// The id of threads that do not act for root; nil if all are 0.
    public static var restrictedID: UInt32? {
        let id = restricted.load(ordering: .relaxed)
        return id == 0 ? nil : id
    }

    /// Takes on one of the candidates; threads started from here on have it too. To be called before any of
    /// them is. Errors: perm without CAP_SETPCAP or CAP_SETUID, inval if the id does not exist in this user namespace.
    public static func restrict(to id: UInt32) throws(Errno) {
        try value(aclfs_keep_capabilities())
        // A reserve can be a group's (ext4's resgid). Where groups cannot be left, in some user namespaces, none is.
        _ = aclfs_leave_groups()
        _ = aclfs_setfsuid(id)
        // The kernel says nothing when it refuses.
        guard current == id else { throw Syscall.hasCapability(Capability.setUserID) ? .inval : .perm }
        restricted.store(id, ordering: .relaxed)
    }

    /// Takes `restrict` back, as long as no thread was started.
    public static func unrestrict() {
        _ = aclfs_setfsuid(0)
        restricted.store(0, ordering: .relaxed)
    }

    /// Whether user 0 of this user namespace is the host's own, whom file systems keep blocks for.
    public static var rootIsTheHosts: Bool {
        guard let map = try? Syscall.readAll(path: "/proc/self/uid_map") else { return true }
        for line in map.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            if words.count == 3, words[0].elementsEqual("0".utf8) { return words[1].elementsEqual("0".utf8) }
        }
        return true
    }

    /// The calling thread's fsuid. An id that cannot be set changes nothing.
    public static var current: UInt32 { aclfs_setfsuid(.max) }

    /// Whose files this process makes when it acts as itself.
    public static var owner: UInt32 { restrictedID == nil ? geteuid() : 0 }

    /// Acts as user 0 for file systems, then not any more. Where threads are not restricted it only acts.
    public static func asRoot<Value: ~Copyable>(_ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        guard let id = restrictedID else { return try body() }
        // If this fails for lack of memory, root is bound like anybody; that hurts nobody else.
        _ = aclfs_setfsuid(0)
        defer {
            _ = aclfs_setfsuid(id)
            // A thread that stayed root would spend root's reserve on whoever comes next.
            precondition(current == id, "the file-system user id could not be given up")
        }
        return try body()
    }

    /// Whether a file system takes requests to a server that judges them by the fsuid: it must stay root's, and
    /// reserves are the server's affair.
    public static func isJudgedByServer(fileSystemType type: UInt64) -> Bool {
        SharedFileSystem.of(magic: type)?.isJudgedByServer ?? false
    }
}
