import CLinux

/// The user namespace of a caller, as this process sees it (docs/reference/identity.md "Callers in another user namespace").
///
/// In a namespace of one's own one may leave groups, and act as any id that the namespace maps. So a group that is missing in the list of
/// such a thread says nothing, unless the kernel lets no process leave groups there.
public enum CallerNamespace: Hashable, Sendable {
    /// That of this process.
    case own
    /// Another one, or one that cannot be examined.
    case other(Other)

    public struct Other: Hashable, Sendable {
        /// Whether no process of it can have left a group that it had in this process's namespace.
        public var keepsGroups = false
        /// The user who made it; of nested ones, who made the outermost. nil if that is unknown.
        public var maker: UInt32?
        /// The ids of this process's namespace that it maps; empty if they were not asked for.
        public var users: [ClosedRange<UInt32>] = []
        public var groups: [ClosedRange<UInt32>] = []

        public init(keepsGroups: Bool = false, maker: UInt32? = nil) { (self.keepsGroups, self.maker) = (keepsGroups, maker) }
    }

    /// The namespace of a thread. The thread must wait meanwhile, as one does whose request is served: then it changes nothing of this.
    /// - Parameters:
    ///   - wantsIDs: whether to learn which ids another namespace maps.
    ///   - isSubordinate: whether a user may map this gid into a namespace without being a member of the group.
    public static func of(thread tid: Int32, wantsIDs: Bool, isSubordinate: (UInt32) -> Bool) -> CallerNamespace {
        do throws(Errno) {
            guard try !isOwn(tid) else { return .own }
            let namespace = SharedDescriptor(try Syscall.open("/proc/\(tid)/ns/user", OpenFlag.readOnly))
            var other = examine(namespace, of: tid, isSubordinate)
            if wantsIDs { (other.users, other.groups) = (ids("/proc/\(tid)/uid_map"), ids("/proc/\(tid)/gid_map")) }
            return .other(other)
        } catch { return isMappedAlike(tid) ? .own : .other(Other()) }
    }

    /// The user who made the namespace of a thread, or the outermost of nested ones.
    /// - Returns: nil for this process's namespace, and if it cannot be found.
    public static func maker(ofThread tid: Int32) -> UInt32? {
        guard let isOwn = try? isOwn(tid), !isOwn, let namespace = try? Syscall.open("/proc/\(tid)/ns/user", OpenFlag.readOnly)
        else { return nil }
        return examine(SharedDescriptor(namespace), of: nil) { _ in false }.maker
    }

    /// The first of the ids that a thread's namespace maps together with this uid to others; nil if it does not map it, or to itself.
    public static func firstMapped(with uid: UInt32, ofThread tid: Int32) -> UInt32? {
        guard let extents = extents("/proc/\(tid)/uid_map") else { return nil }
        let extent = extents.first { uid >= $0.outside && uid - $0.outside < $0.count }
        return extent.flatMap { $0.inside == $0.outside ? nil : $0.outside }
    }

    // MARK: Examining

    /// Device and inode number in nsfs. That of this process lives as long as it does, so no other gets its number.
    private struct Identity: Hashable {
        var device: UInt64
        var inode: UInt64
        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }
    }
    private static let ownIdentity = (try? Syscall.statxAt(Syscall.workingDirectory, "/proc/self/ns/user", flags: 0)).map(Identity.init)

    private static func identity(_ pid: Int32) throws(Errno) -> Identity {
        Identity(try Syscall.statxAt(Syscall.workingDirectory, "/proc/\(pid)/ns/user", flags: 0))
    }

    private static func isOwn(_ tid: Int32) throws(Errno) -> Bool { try identity(tid) == ownIdentity }

    /// Of how many nested namespaces it is asked whether their processes keep their groups, and how many processes are looked at for that in
    /// all. A caller who makes more chooses how long others wait; for such a caller it is unknown.
    private static let mostExamined = 4
    private static let mostProcesses = 32

    /// Goes from a namespace to those around it, up to this process's.
    /// - Parameter tid: a thread of the namespace; nil: only the maker is wanted.
    private static func examine(_ namespace: SharedDescriptor, of tid: Int32?, _ isSubordinate: (UInt32) -> Bool) -> Other {
        var result = Other(keepsGroups: tid != nil)
        var (member, current) = (tid, namespace)
        guard var this = (try? Syscall.statx(current.rawValue)).map(Identity.init) else { return Other() }
        var processes = mostProcesses
        // The kernel allows 32 of them.
        for depth in 0..<33 {
            if depth == mostExamined { result.keepsGroups = false }
            // Read before: if the process is in the namespace now, it was then, or in one around it, where it may not leave groups either.
            // No process enters the namespace around its own.
            if result.keepsGroups {
                result.keepsGroups = member.map { keepsGroups($0, isSubordinate) && (try? identity($0)) == this } ?? false
            }
            let parent = aclfs_namespace_parent(current.rawValue)
            guard parent >= 0 else { return Other() }
            let outer = SharedDescriptor(rawValue: parent)
            guard let identity = (try? Syscall.statx(outer.rawValue)).map(Identity.init) else { return Other() }
            if identity == ownIdentity {
                var maker: UInt32 = 0
                if aclfs_namespace_owner(current.rawValue, &maker) >= 0 { result.maker = maker }
                return result
            }
            if result.keepsGroups { member = member.flatMap { ancestor(of: $0, in: identity, &processes) } }
            (current, this) = (outer, identity)
        }
        return Other()
    }

    /// Whether no process can leave groups in the namespace of a process: the kernel forbids setgroups(2) there for good, and no gid is mapped
    /// that a process could take in the place of its own.
    private static func keepsGroups(_ pid: Int32, _ isSubordinate: (UInt32) -> Bool) -> Bool {
        guard let setgroups = try? Syscall.readAll(path: "/proc/\(pid)/setgroups"), setgroups.starts(with: "deny".utf8),
            let extents = extents("/proc/\(pid)/gid_map")
        else { return false }
        // Users map single ids. Who maps ranges may map ids of others, too.
        return !extents.isEmpty && extents.allSatisfy { $0.count == 1 && !isSubordinate($0.outside) }
    }

    /// The nearest process that a process descends from and that is in this namespace.
    private static func ancestor(of pid: Int32, in namespace: Identity, _ processes: inout Int) -> Int32? {
        var pid = pid
        while processes > 0 {
            processes -= 1
            guard let parent = try? ThreadIdentity.parent(of: pid), parent > 0 else { return nil }
            if (try? identity(parent)) == namespace { return parent }
            pid = parent
        }
        return nil
    }

    /// Whether the ids of a thread that may not be inspected, as another user's, are mapped as here and more than one: an ordinary user
    /// cannot make such a namespace.
    private static func isMappedAlike(_ tid: Int32) -> Bool {
        for map in ["uid_map", "gid_map"] {
            guard let own = extents("/proc/self/\(map)"), let theirs = extents("/proc/\(tid)/\(map)"), own == theirs,
                own.reduce(0, { $0 + UInt64($1.count) }) > 1
            else { return false }
        }
        return true
    }

    private struct Extent: Equatable {
        var inside: UInt32
        var outside: UInt32
        var count: UInt32
    }

    private static func ids(_ path: String) -> [ClosedRange<UInt32>] {
        (extents(path) ?? []).compactMap { extent in
            let (end, isTooFar) = extent.outside.addingReportingOverflow(extent.count)
            return extent.count == 0 ? nil : extent.outside...(isTooFar ? .max : end - 1)
        }
    }

    private static func extents(_ path: String) -> [Extent]? {
        guard let text = try? Syscall.readAll(path: path) else { return nil }
        var extents: [Extent] = []
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split(separator: UInt8(ascii: " ")).map { UInt32(String(decoding: $0, as: UTF8.self)) }
            guard words.count == 3, let inside = words[0], let outside = words[1], let count = words[2] else { return nil }
            extents.append(Extent(inside: inside, outside: outside, count: count))
        }
        return extents
    }
}
