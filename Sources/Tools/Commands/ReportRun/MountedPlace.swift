import ACLFormats
import Authorization
import ControlProtocol
import LinuxSystem
import MountOptions
import ToolSupport

/// A directory on a mount of aclfs.
struct MountedPlace {
    let path: [UInt8]
    let top: SharedDescriptor
    let status: FileStatus
    /// As far as the caller may know it.
    private(set) var volume = VolumeState()
    private(set) var notes: [String] = []

    init(_ location: MountLocation) throws(Errno) {
        path = location.shown(location.names.count)
        top = SharedDescriptor(
            rawValue: try path.withCString { (path) throws(Errno) in
                try Syscall.open(path, OpenFlag.path | OpenFlag.directory).release()
            })
        status = try Syscall.statx(top.rawValue)
        let mountpoint = escapedName(location.entry.path.utf8)
        do throws(ControlError) {
            let answer = try location.client().ask(StatusMessage())
            var options = MountOptions()
            for word in answer.options { try? options.apply(word) }
            volume = options.volume
            notes.append(
                "Decided as on the mount \(mountpoint), with its options \(escapedText(answer.options.joined(separator: ", ").utf8)).")
            if answer.options.contains(where: { $0.hasPrefix("identities=") }) {
                notes.append("This mount maps UUIDs from elsewhere to users and groups (identities=); this report does not.")
            }
            if answer.sandbox != nil { notes.append("A profile confines this mount further; this report does not take it into account.") }
        } catch {
            let flags = try Syscall.fstatvfs(top.rawValue).flags
            (volume.isReadOnly, volume.forbidsExecution) = (flags & 1 != 0, flags & 8 != 0)
            let why =
                [Errno.perm.name, Errno.acces.name].contains(error.code)
                ? "Only root and the user who mounted may know its options" : "Its options are not known (\(error.message))"
            notes.append("Decided as on the mount \(mountpoint). \(why): this report assumes the defaults, and ro and noexec as they are.")
        }
    }

    mutating func ignoreACLs() { volume.ignoresACLs = true }

    /// Reads the directories above, up to the mount point.
    /// - Returns: their classes, the lowest last.
    mutating func readAbove(_ reader: MountReader) -> [Int] {
        var classes: [Int] = []
        var (node, status) = (top, status)
        let files = LinuxFiles()
        while !status.isMountRoot {
            guard let (above, itsStatus) = Self.directory(above: node, files), let number = try? reader.read(above, itsStatus) else {
                notes.append("A directory above is not readable: this report assumes that everyone can reach the one below it.")
                break
            }
            (node, status) = (above, itsStatus)
            classes.insert(number, at: 0)
        }
        return classes
    }

    private static func directory(above node: SharedDescriptor, _ files: LinuxFiles) -> (SharedDescriptor, FileStatus)? {
        guard let above = try? files.open(Array("..".utf8), in: node, followsLink: false),
            let status = try? Syscall.statx(above.rawValue)
        else { return nil }
        return (above, status)
    }
}
