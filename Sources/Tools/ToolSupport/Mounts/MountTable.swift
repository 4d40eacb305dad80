import Glibc
import LinuxSystem

/// An entry of the mount table as text.
package struct MountEntry {
    package var id: UInt64
    /// The id of the mount that it stands on.
    package var parent: UInt64
    /// `MAJOR:MINOR`.
    package var device: String
    /// The directory of the file system that is mounted: / unless it is a bind mount of a part.
    package var root: String
    package var path: String
    /// Of this mount. `superOptions` are those of the file system.
    package var options: [String]
    package var type: String
    package var source: String
    package var superOptions: [String]

    package init(_ mount: MountInfo) {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        func words(_ bytes: [UInt8]) -> [String] { text(bytes).split(separator: ",").map(String.init) }
        (id, parent, device) = (mount.id, mount.parent, DeviceNumber.text(mount.device))
        (root, path, options) = (text(mount.root), text(mount.path), words(mount.options))
        (type, source, superOptions) = (text(mount.type), text(mount.source), words(mount.superOptions))
    }

    /// Of a FUSE mount: the user who mounted it.
    package var userID: UInt32? {
        superOptions.first { $0.hasPrefix("user_id=") }.flatMap { UInt32($0.dropFirst("user_id=".count)) }
    }

    /// Of a FUSE mount: whether the kernel admits only the user who mounted it, and that is not `uid`. It refuses root as well.
    package func refuses(_ uid: UInt32) -> Bool { (userID ?? 0) != uid && !superOptions.contains("allow_other") }

    /// Whether a user other than root and the caller serves it.
    package var isOfAnotherUser: Bool { userID.map { $0 != 0 && $0 != geteuid() } ?? false }
}

/// The mount table of this process.
package enum MountTable {
    /// - Returns: the mounts in the order of the table; empty if it cannot be read.
    package static func entries() -> [MountEntry] { (try? MountInfo.ofThisProcess())?.map { MountEntry($0) } ?? [] }

    /// - Returns: the topmost mount on exactly this path.
    package static func entry(at path: String) -> MountEntry? { stack(at: path).first }

    /// - Returns: the mounts on exactly this path, topmost first. The order of the table is another: a mount can be put beneath others.
    package static func stack(at path: String, in table: [MountEntry] = entries()) -> [MountEntry] {
        let here = table.filter { $0.path == path }
        let bearing = Set(here.map(\.parent))
        var stack: [MountEntry] = []
        var next = here.last { !bearing.contains($0.id) }
        while let mount = next, stack.count < here.count {
            stack.append(mount)
            next = here.first { $0.id == mount.parent }
        }
        return stack
    }
}
