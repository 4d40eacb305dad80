import ACLFormats
import BackingStore
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// Why an offline command does nothing.
struct OfflineRefusal: Error {
    var message: String
    init(_ message: String) { self.message = message }
}

/// A backing directory that is changed while no daemon serves it.
struct OfflineTree {
    /// The real path.
    let path: [UInt8]
    let top: SharedDescriptor
    let status: FileStatus
    let files: OfflineFiles
    private let served: ServedDirectory

    var identity: OfflineIdentity { OfflineIdentity(status) }

    /// - Parameters:
    ///   - source: the path of the backing directory.
    ///   - followsLink: whether the path may be a symlink.
    ///   - recordName: `trusted.aclfs` or `user.aclfs`; nil: what a mount by this user would choose.
    ///   - sink: receives warnings.
    /// - Throws: it cannot be opened, or is none.
    init(_ source: [UInt8], followsLink: Bool = true, recordName: String? = nil, _ sink: OutputSink) throws(OfflineRefusal) {
        let shown = escapedName(source)
        do throws(Errno) {
            let flags = OpenFlag.readOnly | OpenFlag.directory | (followsLink ? 0 : OpenFlag.noFollow)
            top = SharedDescriptor(rawValue: try source.withCString { (path) throws(Errno) in try Syscall.open(path, flags).release() })
            status = try Syscall.statx(top.rawValue)
            path = try LinuxFiles().absolutePath(of: top)
        } catch { throw OfflineRefusal("\(shown): \(error.text)") }
        let device = DeviceNumber.text(status.device)
        if let mount = MountTable.entries().last(where: { $0.device == device && $0.type == "fuse.aclfs" }) {
            throw OfflineRefusal("\(shown) lies in the aclfs mount \(mount.path): unmount it, and name the directory that it serves")
        }
        let descriptor = top.rawValue
        let names = recordName.map { [$0] } ?? (geteuid() == 0 ? ["trusted.aclfs", "user.aclfs"] : ["user.aclfs"])
        guard let name = names.first(where: { BackingTree.supportsMetadata($0, on: descriptor) }) else {
            throw OfflineRefusal("\(shown): its file system does not store \(names.joined(separator: " or ")), where aclfs keeps entries")
        }
        files = OfflineFiles(recordName: name)
        served = ServedDirectory(top.rawValue, path: String(decoding: path, as: UTF8.self)) { sink.complain("warning: \($0)") }
    }

    /// The record's other name: a tree has its records under one of the two.
    var otherRecordName: String { files.recordName == "trusted.aclfs" ? "user.aclfs" : "trusted.aclfs" }

    /// A daemon keeps what it has read of an object, and judges by that.
    /// - Throws: a daemon serves it, or one cannot be asked.
    func requireUnserved() throws(OfflineRefusal) {
        if let obstacle = served.obstacle() {
            throw OfflineRefusal("\(escapedName(path)): \(obstacle)")
        }
    }
}
