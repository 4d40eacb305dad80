import ACLFormats
import BackingStore
import LinuxSystem
import ToolSupport

/// The home folder to which the paths of a profile are relative. Without this check a wrong one would give the application an empty
/// container, with no message.
package enum ProfileHome {
    /// Checks `home=` of a mount.
    /// - Parameters:
    ///   - said: the option's text, for the message.
    ///   - home: names from the top of the mount.
    ///   - tree: the backing tree.
    ///   - mountpoint: for a hint in the message.
    /// - Returns: what is wrong; nil if it is a directory of the tree.
    package static func problem(_ said: String, _ home: [[UInt8]], in tree: BackingTree, mountpoint: String) -> String? {
        let fault: String
        do throws(Errno) {
            let found = try tree.object(at: home)
            if found.status.isDirectory { return nil }
            fault = text(found.status.isSymlink ? .loop : .notdir)
        } catch { fault = text(error) }
        return "\(escapedName(said.utf8)): \(fault)\(hint(home, mountpoint))"
    }

    /// The same through the mount, with the caller's rights.
    /// - Returns: what is wrong; nil if it is a directory, or if the caller may not look.
    package static func problem(_ said: String, _ home: [[UInt8]], through mountpoint: String) -> String? {
        do throws(Errno) {
            var current = SharedDescriptor(try Syscall.open(mountpoint, OpenFlag.path | OpenFlag.directory))
            for name in home {
                let parent = current
                let found = try name.withCString { (name) throws(Errno) -> SharedDescriptor in
                    SharedDescriptor(try Syscall.openat(parent.rawValue, name, OpenFlag.path | OpenFlag.noFollow))
                }
                let status = try Syscall.statx(found.rawValue)
                if !status.isDirectory { throw status.isSymlink ? .loop : .notdir }
                current = found
            }
            return nil
        } catch {
            guard [.noent, .notdir, .loop].contains(error) else { return nil }
            return "\(escapedName(said.utf8)): \(text(error))\(hint(home, mountpoint))"
        }
    }

    private static func text(_ error: Errno) -> String {
        switch error {
        case .noent: "there is no such directory on this mount; the home is a path from the mount's top, and must exist"
        case .notdir: "not a directory"
        case .loop: "leads over a symbolic link; name the directory itself"
        default: error.description
        }
    }

    /// - Returns: a hint if the home is a path through another aclfs mount.
    private static func hint(_ home: [[UInt8]], _ mountpoint: String) -> String {
        let others = MountTable.entries().filter { $0.type == "fuse.aclfs" && $0.path != mountpoint && $0.path != "/" }
        guard let other = others.last(where: { home.starts(with: $0.path.utf8.pathNames) }) else { return "" }
        let rest: [UInt8] = home.dropFirst(Array(other.path.utf8).pathNames.count).flatMap { [0x2F] + $0 }
        return " (\(other.path) is another mount; is \(rest.isEmpty ? "/" : escapedName(rest)) meant?)"
    }
}
