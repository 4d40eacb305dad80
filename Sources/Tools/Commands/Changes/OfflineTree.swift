import ACLFormats
import BackingStore
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// A backing directory, or an object in one, that is changed while no daemon serves it.
struct OfflineTree: ChangeableTree {
    let path: [UInt8]
    let top: SharedDescriptor
    let status: FileStatus
    let files: OfflineFiles
    let isMounted = false
    private let served: ServedDirectory

    /// - Parameters:
    ///   - source: the path of the backing directory, or of an object in it.
    ///   - followsLink: whether, unless another user owns it, the path may be a symlink.
    ///   - recordName: `trusted.aclfs` or `user.aclfs`; nil: what a mount by this user would choose.
    ///   - needsDirectory: whether another object is refused.
    /// - Throws: it cannot be opened, or is none.
    init(
        _ source: [UInt8], followsLink: Bool = true, recordName: String? = nil, needsDirectory: Bool = true
    ) throws(CommandFailure) {
        let shown = escapedName(source)
        let directory: SharedDescriptor
        do throws(Errno) {
            let files = LinuxFiles()
            let node = followsLink ? try files.openOperand(source) : try files.open(source, followsLink: false)
            status = try Syscall.statx(node.rawValue)
            path = try files.absolutePath(of: node)
            if status.isDirectory || needsDirectory {
                directory = SharedDescriptor(try Syscall.reopen(node.rawValue, OpenFlag.readOnly | OpenFlag.directory))
                top = directory
            } else {
                directory = try files.open(directoryPath(of: path), followsLink: false)
                top = node
            }
        } catch { throw CommandFailure("\(shown): \(Self.reason(error))") }
        if let mount = MountedTree.mount(of: status) {
            throw CommandFailure(Self.refusal(of: source, on: mount.path))
        }
        // No tree is kept below a mount point. A share that is mounted over itself is its own source.
        if let source = Fstab.source(of: path), source != path {
            throw CommandFailure(
                "\(shown): not mounted: in /etc/fstab it is the mount point of \(escapedName(source)); mount it, or name that directory")
        }
        // The directory of the mount point is not the one that has the object, which may be served.
        if !status.isDirectory, status.isMountRoot { throw CommandFailure("\(shown) is a bind mount of an object; name the object itself") }
        let names = recordName.map { [$0] } ?? (geteuid() == 0 ? ["trusted.aclfs", "user.aclfs"] : ["user.aclfs"])
        let descriptor = directory.rawValue
        guard let name = names.first(where: { BackingTree.supportsMetadata($0, on: descriptor) }) else {
            throw CommandFailure("\(shown): its file system does not store \(names.joined(separator: " or ")), where aclfs keeps entries")
        }
        files = OfflineFiles(recordName: name)
        served = ServedDirectory(descriptor, path: String(decoding: path, as: UTF8.self))
    }

    /// Why an operand cannot be opened.
    static func reason(_ error: Errno) -> String {
        error == .loop ? "a symbolic link of another user, which is not followed; name the directory that it leads to" : error.text
    }

    static func refusal(of path: [UInt8], on mountpoint: String) -> String {
        "\(escapedName(path)) lies in the aclfs mount \(mountpoint): unmount it, and name the directory that it serves"
    }

    /// Why nothing is done with a path that lies on no mount, where the command was not told to go on: a daemon serves it for another path, or none.
    static func refusalUnasked(_ path: [UInt8]) -> CommandFailure {
        do throws(CommandFailure) {
            if let tree = try? OfflineTree(path, needsDirectory: false) { try tree.requireChangeable { _ in } }
            return CommandFailure(notMounted(path))
        } catch { return CommandFailure("\(error.message), or name a directory on the mount") }
    }

    var place: UndoHeader.Place { .backing(recordName: files.recordName) }

    /// The record's other name: a tree has its records under one of the two.
    var otherRecordName: String { files.recordName == "trusted.aclfs" ? "user.aclfs" : "trusted.aclfs" }

    /// A daemon keeps what it has read of an object, and judges by that.
    /// - Throws: a daemon serves it, or one cannot be asked.
    func requireChangeable(_ warn: (String) -> Void) throws(CommandFailure) {
        if let obstacle = served.obstacle(warn) { throw CommandFailure("\(escapedName(path)): \(obstacle)") }
    }

    func state(
        of node: SharedDescriptor, _ status: FileStatus, owners: Bool, flags: Bool, _ tools: TreeTools
    ) throws(AttributeFailure) -> TreeState {
        do { return try files.state(of: node, status, owners: owners) } catch { throw .system(error) }
    }

    func change(
        _ node: SharedDescriptor, from old: TreeState, to new: TreeState, _ status: FileStatus, setsID: Bool, _ tools: TreeTools
    ) throws(AttributeFailure) -> UInt16 {
        do { return try files.change(node, from: old, to: new, status, setsID: setsID) } catch {
            if error == .canceled { throw .changedMeanwhile }
            throw failure(error == .busy ? .refused(ObjectLock.refusal) : .system(error), node, status, tools)
        }
    }

    func message(_ failure: AttributeFailure, isChange: Bool, _ node: SharedDescriptor, _ status: FileStatus, _ tools: TreeTools) -> String
    {
        guard case .system(let error) = failure else { return failure.message }
        if error == .nospc { return "\(error.text): its attributes have no room for the entries" }
        if error == .perm, isChange, files.recordName == "user.aclfs", !status.isRegular, !status.isDirectory {
            return "only files and directories can have \(files.recordName), where this tree has its entries"
        }
        return error.text
    }
}

/// The path of the directory that an absolute path lies in.
func directoryPath(of path: [UInt8]) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    guard let end = path.lastIndex(of: slash), end != path.startIndex else { return [slash] }
    return Array(path[..<end])
}
