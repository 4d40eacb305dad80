import Glibc
import Identity
import LinuxSystem
import ToolSupport

/// Who can search a directory from outside the mount, and so is not judged by aclfs.
///
/// Every directory from / to the source is a door. One that others may search is open; another lets its owner
/// and its group in, as far as the mode says (a POSIX ACL there shows its mask as the group's bits, so it never
/// lets more classes in than are named here). Root, whom no door stops, is not counted.
package struct SourceReach {
    struct Door {
        var path: String
        var mode: UInt32
        var owner: UInt32?
        var group: UInt32?
        var hasACL = false
    }

    /// Those that are not open to everybody.
    private(set) var closed: [Door] = []
    private var sourceOwner: UInt32 = 0
    private var source = Door(path: "/", mode: 0)
    private var isUnknown = false
    private var isHidden = false

    /// - Parameter mountpoint: a source at or below it is hidden by the mount.
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
            var door = Door(path: prefix, mode: status.st_mode & 0o7777)
            let none = UnsafeMutableRawBufferPointer(start: nil, count: 0)
            let size = prefix.withCString { try? Syscall.getxattr(.path($0), "system.posix_acl_access", into: none) }
            door.hasACL = size != nil
            if status.st_mode & 0o100 != 0, status.st_uid != 0 { door.owner = status.st_uid }
            if status.st_mode & 0o010 != 0 { door.group = status.st_gid }
            if status.st_mode & 0o001 == 0 { closed.append(door) }
            (source, sourceOwner) = (door, status.st_uid)
        }
    }

    /// Whether somebody besides root and the source's owner may get in.
    var isOpenToOthers: Bool {
        if isHidden { return false }
        if isUnknown || closed.isEmpty { return true }
        // One door that lets in none but root and the source's owner is enough.
        return !closed.contains { $0.group == nil && !$0.hasACL && ($0.owner == nil || $0.owner == sourceOwner) }
    }

    /// In the words of `aclfs status`.
    package var description: String {
        if isHidden { return "root only here, it is mounted over (other mount namespaces may see it)" }
        if isUnknown { return "not known" }
        if closed.isEmpty { return "everybody (mode \(octal(source.mode)) of \(source.path))" }
        if closed.contains(where: { $0.owner == nil && $0.group == nil && !$0.hasACL }) { return "root only" }
        return closed.map { door in
            var who: [String] = []
            if let uid = door.owner { who.append("user \(name(user: uid))") }
            if let gid = door.group { who.append("group \(name(group: gid))") }
            if door.hasACL { who.append("whom its POSIX ACL names") }
            return "\(who.joined(separator: " or ")) (mode \(octal(door.mode)) of \(door.path))"
        }.joined(separator: ", if also ")
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
