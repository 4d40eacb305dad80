import CLinux
import Glibc
import Synchronization

/// The user id of root's daemon for file systems, which decides whether it may use reserved space.
///
/// ext4, f2fs and UBIFS reserve blocks for user 0 and test the thread's file-system user id (fsuid), not its capabilities. So the
/// daemon's threads have another fsuid, keep their capabilities, and become 0 only while they act for root. The kernel has one id
/// for each thread; new threads inherit it.
public enum FileSystemUser {
    /// Ids that no account has, best first: −2; and 65535, −1 in 16 bits, for containers and id-mapped mounts where ids end there.
    public static let candidates: [UInt32] = [0xFFFF_FFFE, 0xFFFF]

    /// 0 = not restricted. Set before any thread is started.
    private static let restricted = Atomic<UInt32>(0)

    /// The id of threads that do not act for root; nil if all have 0.
    public static var restrictedID: UInt32? {
        let id = restricted.load(ordering: .relaxed)
        return id == 0 ? nil : id
    }

    /// Sets one of the candidates for this thread and all that it starts later. Call it before any thread is started.
    /// - Throws: perm without CAP_SETPCAP or CAP_SETUID, inval if the id does not exist in this user namespace.
    public static func restrict(to id: UInt32) throws(Errno) {
        try value(aclfs_keep_capabilities())
        // A reserve can be a group's (ext4's resgid). In some user namespaces a process cannot leave its groups; then it keeps
        // them.
        _ = aclfs_leave_groups()
        _ = aclfs_setfsuid(id)
        // The kernel reports no error.
        guard current == id else { throw Syscall.hasCapability(Capability.setUserID) ? .inval : .perm }
        restricted.store(id, ordering: .relaxed)
    }

    /// Undoes `restrict`. Call it before any thread is started.
    public static func unrestrict() {
        _ = aclfs_setfsuid(0)
        restricted.store(0, ordering: .relaxed)
    }

    /// Whether user 0 of this user namespace is the host's user 0, for which file systems reserve blocks.
    public static var rootIsTheHosts: Bool {
        guard let map = try? Syscall.readAll(path: "/proc/self/uid_map") else { return true }
        for line in map.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " "))
            if words.count == 3, words[0].elementsEqual("0".utf8) { return words[1].elementsEqual("0".utf8) }
        }
        return true
    }

    /// The calling thread's fsuid. Setting an invalid id returns it without a change.
    public static var current: UInt32 { aclfs_setfsuid(.max) }

    /// The owner of files that this process creates for itself.
    public static var owner: UInt32 { restrictedID == nil ? geteuid() : 0 }

    /// Runs `body` as user 0 for file systems. Without a restriction it just runs `body`.
    public static func asRoot<Value: ~Copyable>(_ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        guard let id = restrictedID else { return try body() }
        // If this fails for lack of memory, root cannot use its reserve, which harms no other user.
        _ = aclfs_setfsuid(0)
        defer {
            _ = aclfs_setfsuid(id)
            // A thread that stays root would use root's reserve for the next caller.
            precondition(current == id, "the file-system user id could not be given up")
        }
        return try body()
    }

    /// Whether a file system sends requests to a server that decides by the fsuid. The fsuid must then stay root's, and the server
    /// manages reserves.
    public static func isJudgedByServer(fileSystemType type: UInt64) -> Bool {
        SharedFileSystem.of(magic: type)?.isJudgedByServer ?? false
    }
}
