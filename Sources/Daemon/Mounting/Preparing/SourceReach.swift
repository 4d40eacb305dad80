import Glibc
import Identity
import LinuxSystem
import ToolSupport

/// The users who can reach the source outside the mount, where aclfs does not judge them.
///
/// Such a user may search every directory from / to the source. A directory admits everyone, or its owner and its group, by its mode. A
/// POSIX ACL shows its mask as the group's bits, so it admits no class that is not named here. Root is not counted.
package struct SourceReach {
    struct Directory {
        var path: String
        var mode: UInt32
        var owner: UInt32?
        var group: UInt32?
        var hasACL = false
    }

    /// The directories that others may not search.
    private(set) var closed: [Directory] = []
    private var sourceOwner: UInt32 = 0
    private var source = Directory(path: "/", mode: 0)
    private var isUnknown = false
    private var isHidden = false

    /// - Parameters:
    ///   - path: of the source.
    ///   - mountpoint: the mount hides a source at or below it.
    package init(source path: String, mountpoint: String) {
        isHidden = MountPath.isInside(path, mountpoint)
        if isHidden { return }
        var prefixes = ["/"]
        for name in path.split(separator: "/") {
            prefixes.append((prefixes.last == "/" ? "" : prefixes.last!) + "/\(name)")
        }
        for prefix in prefixes {
            var status = stat()
            guard stat(prefix, &status) == 0 else {
                isUnknown = true
                return
            }
            var directory = Directory(path: prefix, mode: status.st_mode & 0o7777)
            let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
            let size = prefix.withCString { try? Syscall.getxattr(.path($0), "system.posix_acl_access", into: none) }
            directory.hasACL = size != nil
            if status.st_mode & 0o100 != 0, status.st_uid != 0 { directory.owner = status.st_uid }
            if status.st_mode & 0o010 != 0 { directory.group = status.st_gid }
            if status.st_mode & 0o001 == 0 { closed.append(directory) }
            (source, sourceOwner) = (directory, status.st_uid)
        }
    }

    /// Whether a user other than root and the source's owner may reach it.
    package var isOpenToOthers: Bool {
        if isHidden { return false }
        if isUnknown || closed.isEmpty { return true }
        // One directory that admits only root and the source's owner is enough.
        return !closed.contains { $0.group == nil && !$0.hasACL && ($0.owner == nil || $0.owner == sourceOwner) }
    }

    /// As `aclfs status` prints it.
    package var description: String {
        if isHidden { return "root only here: a mount hides it in this mount namespace (another one may show it)" }
        if isUnknown { return "unknown users (a directory of its path cannot be examined)" }
        if closed.isEmpty { return "every user (mode \(octal(source.mode)) of \(source.path))" }
        if closed.contains(where: { $0.owner == nil && $0.group == nil && !$0.hasACL }) { return "root only" }
        return closed.map { directory in
            var who: [String] = []
            if let uid = directory.owner { who.append("user \(name(user: uid))") }
            if let gid = directory.group { who.append("group \(name(group: gid))") }
            if directory.hasACL { who.append("users of its POSIX ACL") }
            return "\(who.joined(separator: " or ")) (mode \(octal(directory.mode)) of \(directory.path))"
        }.joined(separator: ", who must also be ")
    }

    private func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private func name(user uid: UInt32) -> String {
        do { return try AccountDatabase.user(uid: uid)?.name ?? String(uid) } catch { return String(uid) }
    }

    private func name(group gid: UInt32) -> String {
        do { return try AccountDatabase.group(gid: gid)?.name ?? String(gid) } catch { return String(gid) }
    }
}
