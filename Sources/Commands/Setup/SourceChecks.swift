import ACLFormats
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// A directory that is to be mounted.
enum SourceChecks {
    /// - Parameter mountpoint: nil: not over the source.
    static func all(_ source: String, _ mountpoint: String?) -> [Finding] {
        let path: String
        do throws(MountFailure) { path = try MountPath.resolved(source, role: "source") } catch {
            let name = escapedName(source.utf8)
            return [.problem(name, String(error.message.dropFirst("source \(source): ".count)), do: "install -d -m 0700 \(name)")]
        }
        let shown = escapedName(path.utf8)
        let directory: SharedDescriptor
        do throws(Errno) { directory = SharedDescriptor(try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory)) } catch {
            return [.problem(shown, "cannot be opened: \(error)", do: "name a directory that this user may list")]
        }
        return [reach(path, shown, mountpoint), attributes(directory, shown), shared(path, shown)].compactMap { $0 }
    }

    private static func reach(_ path: String, _ shown: String, _ mountpoint: String?) -> Finding {
        let place = mountpoint.flatMap { try? MountPath.resolved($0, role: "mount point") } ?? mountpoint ?? ""
        let reach = SourceReach(source: path, mountpoint: place.isEmpty ? "/proc/self/none" : place)
        if !reach.isOpenToOthers { return .fine(shown, "reachable past the mount by \(reach.description)") }
        return .note(
            shown, "reachable past the mount by \(reach.description): these are not judged there",
            do: "chmod 0700 \(shown), or mount over itself: mount -t aclfs \(shown) \(shown)")
    }

    /// Where lists and flags are stored.
    private static func attributes(_ directory: SharedDescriptor, _ shown: String) -> Finding {
        let name = geteuid() == 0 ? "trusted.aclfs" : "user.aclfs"
        do throws(Errno) { _ = try Syscall.getxattr(.open(directory.rawValue), name) } catch {
            if error == .opnotsupp {
                return .problem(
                    shown, "its file system stores no extended attributes (\(name)), so neither entries nor flags",
                    do: "use ext4, XFS, Btrfs, or tmpfs of Linux 6.6 and newer")
            }
            if error != .nodata, error != .range {
                return .problem(shown, "\(name) cannot be read: \(error)", do: "name a directory of this user's own")
            }
        }
        return .fine(shown, "its file system stores extended attributes")
    }

    private static func shared(_ path: String, _ shown: String) -> Finding? {
        guard SharedFileSystem.holds(path) else { return nil }
        return .note(
            shown, "other hosts or programs may change its file system",
            do: "docs/mounting.md, \"Several hosts\", says what is exact then")
    }
}
