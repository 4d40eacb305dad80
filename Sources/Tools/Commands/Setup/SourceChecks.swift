import ACLFormats
import BackingStore
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
            return [.unresolved(source, role: "source", error, missing: making(source))]
        }
        let shown = escapedName(path.utf8)
        let directory: SharedDescriptor
        do throws(Errno) { directory = SharedDescriptor(try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory)) } catch {
            return [.problem(shown, "cannot be opened: \(error)", do: "name a directory that this user may list")]
        }
        do throws(PlaceObstacle) { try MountPlace.refuseNesting(directory.rawValue, path) } catch {
            return [.problem(shown, escapedText(error.state), do: escapedText(error.remedy ?? ""))]
        }
        return [reach(path, shown, mountpoint), attributes(directory, shown), settings(directory, shown), shared(path, shown)].compactMap {
            $0
        }
    }

    private static func reach(_ path: String, _ shown: String, _ mountpoint: String?) -> Finding {
        let place = mountpoint.flatMap { try? MountPath.resolved($0, role: "mount point") } ?? mountpoint ?? ""
        let reach = SourceReach(source: path, mountpoint: place.isEmpty ? "/proc/self/none" : place)
        if !reach.isOpenToOthers { return .fine(shown, "reachable without the mount by \(reach.description)") }
        return .note(
            shown, "reachable without the mount by \(reach.description), whom aclfs does not restrict there",
            do: "\(hiding(path)), or mount it over itself: aclfs mount \(shellWord(path)) \(shellWord(path))")
    }

    /// How to keep others out. Not by the mode of the source, which is the mode of the share's top.
    private static func hiding(_ path: String) -> String {
        let parent = MountPath.directory(of: path)
        if isMade(parent, for: path) { return "chmod 0700 \(shellWord(parent)), which holds nothing else" }
        return "put it into a directory of mode 0700 (install -d -m 0700)"
    }

    /// Whether a directory seems to exist for the source alone: no part of the system, and empty otherwise.
    private static func isMade(_ parent: String, for source: String) -> Bool {
        var (above, own) = (stat(), stat())
        guard parent.split(separator: "/").count > 1, stat(parent, &above) == 0, stat(source, &own) == 0,
            above.st_mode & S_ISVTX == 0, above.st_uid == 0 || above.st_uid == own.st_uid,
            let directory = try? Syscall.open(parent, OpenFlag.readOnly | OpenFlag.directory),
            let names = try? Syscall.names(directory.rawValue)
        else { return false }
        return names.count == 1
    }

    /// How to make a source, below a directory that keeps others out.
    private static func making(_ source: String) -> String {
        let parent = MountPath.directory(of: source)
        let above = access(parent, F_OK) == 0 ? "" : "install -d -m 0700 \(shellWord(parent)); "
        return "\(above)install -d \(shellWord(source)), with the owner and the mode of the share's top"
    }

    /// Where lists and flags are stored.
    private static func attributes(_ directory: SharedDescriptor, _ shown: String) -> Finding {
        let name = recordName(directory)
        do throws(Errno) { _ = try Syscall.getxattr(.open(directory.rawValue), name) } catch {
            if error == .opnotsupp {
                return .problem(
                    shown, "its file system stores no extended attributes (\(name)), so neither entries nor flags",
                    do: "use ext4, XFS, Btrfs, or tmpfs of Linux 6.6 and newer; or mount with noacl,noowners, without entries and flags")
            }
            if error != .nodata, error != .range {
                return .problem(shown, "\(name) cannot be read: \(error)", do: "name a directory of this user's own")
            }
        }
        let room =
            AttributeRoom.left(directory.rawValue, recordName: name).map {
                "; other attributes: \(AttributeRoom.text($0)) with the default list_room"
            } ?? ""
        if geteuid() == 0, name == "user.aclfs" {
            return .note(
                shown,
                "root may write no trusted.aclfs there, so a mount keeps lists in user.aclfs, which links and special files cannot hold\(room)",
                do: "for the others: mount outside of the user namespace")
        }
        return .fine(shown, "its file system stores extended attributes (\(name))\(room)")
    }

    /// The attribute that a mount would choose, if there is one.
    private static func recordName(_ directory: SharedDescriptor) -> String {
        let isTrusted =
            geteuid() == 0
            && (BackingTree.supportsMetadata("trusted.aclfs", on: directory.rawValue)
                || !BackingTree.supportsMetadata("user.aclfs", on: directory.rawValue))
        return isTrusted ? "trusted.aclfs" : "user.aclfs"
    }

    /// What `aclfs volume` keeps for each mount of it.
    private static func settings(_ directory: SharedDescriptor, _ shown: String) -> Finding? {
        let name = recordName(directory)
        guard let bytes = try? Syscall.getxattr(.open(directory.rawValue), name), let record = try? MetadataRecord(decoding: bytes),
            let settings = record.volume
        else { return nil }
        let words = IgnoredRulesWarning.words.filter(settings.words.contains)
        if words.isEmpty { return nil }
        return .note(
            shown,
            "its settings are \(words.joined(separator: " and ")), for each mount of it: "
                + words.map(IgnoredRulesWarning.meaning(of:)).joined(separator: "; "),
            do: "to enforce permissions there: aclfs volume --reset \(shown)")
    }

    private static func shared(_ path: String, _ shown: String) -> Finding? {
        guard SharedFileSystem.holds(path) else { return nil }
        return .note(
            shown, "other hosts or programs may change its file system",
            do: "docs/reference/mounting.md, \"Several hosts\", says what that changes")
    }
}
