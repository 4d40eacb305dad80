import ACLFormats
import BackingStore
import LinuxSystem
import ToolSupport

/// The home folder that a profile's places are counted from. One that is not there would leave the application an empty
/// container, and nobody would know why.
package enum ProfileHome {
    /// What is wrong with `home=` of a mount; nil if it is a directory of the tree.
    /// - Parameter said: what was written.
    static func problem(_ said: String, _ home: [[UInt8]], in tree: BackingTree, mountpoint: String) -> String? {
        let fault: String
        do throws(Errno) {
            let found = try tree.object(at: home)
            if found.status.isDirectory { return nil }
            fault = text(found.status.isSymlink ? .loop : .notdir)
        } catch { fault = text(error) }
        return "\(escapedName(said.utf8)): \(fault)\(hint(home, mountpoint))"
    }

    /// The same for whoever runs a command in a sandbox, as he sees it through the mount; where he may not look nothing is told.
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
        case .noent: "there is no such directory on this mount; a home is named from the mount's top, and must be there"
        case .notdir: "not a directory"
        case .loop: "leads over a symbolic link; name the directory itself"
        default: error.description
        }
    }

    /// A path through another mount of ours is what is most easily meant.
    private static func hint(_ home: [[UInt8]], _ mountpoint: String) -> String {
        let others = MountTable.entries().filter { $0.type == "fuse.aclfs" && $0.path != mountpoint && $0.path != "/" }
        guard let other = others.last(where: { home.starts(with: $0.path.utf8.pathNames) }) else { return "" }
        let rest: [UInt8] = home.dropFirst(Array(other.path.utf8).pathNames.count).flatMap { [0x2F] + $0 }
        return " (\(other.path) is another mount; is \(rest.isEmpty ? "/" : escapedName(rest)) meant?)"
    }
}
