import CLinux
import Glibc

/// A mount namespace (mount_namespaces(7)). A value keeps it alive, with all its mounts: do not hold on to one.
public struct MountNamespace: ~Copyable, Sendable {
    /// Never used again.
    public let id: UInt64
    public let descriptor: OwnedDescriptor

    /// That of this process.
    /// - Throws: `notty` before Linux 6.12.
    public static func ofThisProcess() throws(Errno) -> MountNamespace {
        let descriptor = try Syscall.open("/proc/self/ns/mnt", OpenFlag.readOnly)
        var id: UInt64 = 0
        try value(aclfs_mount_namespace(descriptor.rawValue, 0, &id))
        return MountNamespace(id: id, descriptor: descriptor)
    }

    /// The next or the previous one in the kernel's order, of those in which this process may mount; nil: there is none.
    public func neighbour(isNext: Bool) throws(Errno) -> MountNamespace? {
        var id: UInt64 = 0
        do throws(Errno) {
            let found = try value(aclfs_mount_namespace(descriptor.rawValue, isNext ? 1 : -1, &id))
            return MountNamespace(id: id, descriptor: OwnedDescriptor(rawValue: found))
        } catch {
            if error == .noent { return nil }
            throw error
        }
    }

    /// As in `FileStatus.inode` of /proc/PID/ns/mnt.
    public var inode: UInt64? { try? Syscall.statx(descriptor.rawValue).inode }

    /// The user who made the user namespace that it belongs to; 0 for those of root.
    public var owner: UInt32? {
        var uid: UInt32 = 0
        return aclfs_mount_namespace_owner(descriptor.rawValue, &uid) == 0 ? uid : nil
    }
}

/// A mount of any mount namespace (statmount(2)).
public struct MountState: Sendable {
    /// The id of the mount that it is attached to. These ids are never used again, and are not those of /proc/self/mountinfo.
    public var parent: UInt64
    /// As in `FileStatus.device`.
    public var device: UInt64

    /// The mounts of a namespace.
    public static func ids(in namespace: UInt64) throws(Errno) -> [UInt64] {
        var all: [UInt64] = []
        var some = [UInt64](repeating: 0, count: 512)
        while true {
            let count = Int(try value(aclfs_list_mounts(namespace, all.last ?? 0, &some, UInt64(some.count))))
            all += some.prefix(count)
            if count < some.count { return all }
        }
    }

    /// - Throws: `noent` if there is no such mount there.
    public init(_ mount: UInt64, in namespace: UInt64) throws(Errno) {
        var raw = aclfs_mount_place()
        try value(aclfs_place_of_mount(namespace, mount, &raw, nil, 0))
        (parent, device) = (raw.parent, raw.device)
    }

    /// The mount's root in its file system, and the path of its mount point.
    public static func paths(of mount: UInt64, in namespace: UInt64) throws(Errno) -> (root: [UInt8], path: [UInt8]) {
        var raw = aclfs_mount_place()
        var texts = [CChar](repeating: 0, count: 8192 + 2)
        try value(aclfs_place_of_mount(namespace, mount, &raw, &texts, UInt64(texts.count)))
        let parts = texts.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
        return (parts[0].map { UInt8(bitPattern: $0) }, parts[1].map { UInt8(bitPattern: $0) })
    }
}

/// Tells which mounts are attached and detached in mount namespaces (fanotify(7)).
public final class MountEvents: Sendable {
    private let events: OwnedDescriptor

    /// - Throws: `inval` before Linux 6.15; `perm` without CAP_SYS_ADMIN.
    public init() throws(Errno) { events = OwnedDescriptor(rawValue: try value(aclfs_mount_events_open())) }

    /// To wait for events: readable while there are any.
    public var descriptor: Int32 { events.rawValue }

    /// Tells of mounts in this namespace as well, as long as it exists.
    public func add(_ namespace: borrowing MountNamespace) throws(Errno) {
        try value(aclfs_mount_events_mark(events.rawValue, namespace.descriptor.rawValue))
    }

    /// The mounts of all events so far.
    /// - Throws: `overflow` if events were lost.
    public func take() throws(Errno) -> Set<UInt64> {
        var all: Set<UInt64> = []
        var some = [UInt64](repeating: 0, count: 64)
        // A program may cause events without end.
        for _ in 0..<256 {
            let count = Int(try value(aclfs_mount_events_take(events.rawValue, &some, UInt64(some.count))))
            if count == 0 { break }
            all.formUnion(some.prefix(count))
        }
        return all
    }
}

extension Syscall {
    /// Whether a descriptor is readable at once.
    public static func isReadable(_ descriptor: Int32) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, 0) > 0
    }
}

extension MountNamespace {
    /// A process of a mount namespace, for people: its name and number. nil if none is found.
    /// - Parameter inode: of the namespace.
    public static func process(in inode: UInt64) -> String? {
        guard let proc = try? Syscall.open("/proc", OpenFlag.readOnly | OpenFlag.directory),
            let names = try? Syscall.names(proc.rawValue)
        else { return nil }
        for name in names where name.allSatisfy({ (0x30...0x39).contains($0) }) {
            let number = String(decoding: name, as: UTF8.self)
            guard (try? Syscall.statxAt(proc.rawValue, "\(number)/ns/mnt", flags: 0).inode) == inode else { continue }
            let command = (try? Syscall.readAll(path: "/proc/\(number)/comm")) ?? []
            return "\(String(decoding: command.filter { $0 != 0x0A }, as: UTF8.self)) (process \(number))"
        }
        return nil
    }
}
