import ACLFormats
import Authorization
import BackingStore
import Glibc
import LinuxSystem
import ToolSupport

/// The objects of a directory, itself included, a directory before its contents.
///
/// Other users may write to the tree. Each directory is held by its descriptor and each name is opened by openat2(2): no symlink, `..` or
/// mount leads out. Memory does not depend on the number of objects; sorted, the names of one directory for each level are kept.
final class DirectorySource: ExportSource {
    let name: String
    let header: ExportHeader
    var identities: ExportIdentities? { nil }
    /// The real path.
    let path: [UInt8]
    let place: MetadataPlace
    private let top: SharedDescriptor
    private let status: FileStatus
    private let reader: ObjectReader
    private let files = LinuxFiles(staysBeneath: true)
    private var descent: TreeDescent<LinuxFiles, DirectoryNames>
    private var hasBegun = false
    /// Made and not returned yet.
    private var waiting: [ExportItem] = []

    /// - Parameters:
    ///   - path: a directory or any other object, on a mount or in a backing directory.
    ///   - isSorted: whether names come in the order of their bytes.
    ///   - metadata: `auto`, `trusted` or `user`, as the mount option; of a backing directory.
    ///   - isOffline: whether it may lie on no mount.
    /// - Throws: it cannot be opened, lies on no mount, or has no place for metadata.
    init(_ operand: [UInt8], isSorted: Bool, metadata: String? = nil, isOffline: Bool) throws(CommandFailure) {
        name = escapedName(operand)
        do throws(Errno) {
            top = try LinuxFiles().open(operand, followsLink: true)
            status = try Syscall.statx(top.rawValue)
            path = try LinuxFiles().absolutePath(of: top)
        } catch { throw CommandFailure("\(escapedName(operand)): \(error.text)") }
        if !isOffline, MountedTree.mount(of: status) == nil { throw CommandFailure(notMounted(operand)) }
        place = try Self.place(of: top, status, metadata, named: escapedName(operand))
        reader = ObjectReader(place: place)
        header = ExportHeader(source: path, isOrdered: isSorted)
        self.isSorted = isSorted
        descent = TreeDescent(files, top, of: ExportPath.top, followsLinks: false)
    }
    private let isSorted: Bool

    private static func place(
        of top: SharedDescriptor, _ status: FileStatus, _ metadata: String?, named name: String
    ) throws(CommandFailure) -> MetadataPlace {
        if MountedTree.mount(of: status) != nil {
            if metadata != nil { throw CommandFailure("\(name) is on a mount: --metadata is for backing directories") }
            return .mount
        }
        let names: [String]
        switch metadata {
        case "trusted": names = ["trusted.aclfs"]
        case "user": names = ["user.aclfs"]
        case nil, "auto":
            // Records of root's mounts are invisible to other users: the export would state that there are no lists.
            guard geteuid() == 0 else {
                throw CommandFailure(
                    "\(name) is not on an aclfs mount, and only root can read all that a backing directory stores; "
                        + "--metadata user reads what your own mounts stored")
            }
            names = ["trusted.aclfs", "user.aclfs"]
        case let word?: throw CommandFailure("--metadata: '\(escapedName(word.utf8))' is not one of auto, trusted and user")
        }
        guard let record = names.first(where: { BackingTree.supportsMetadata($0, on: top.rawValue) }) else {
            throw CommandFailure("\(name): its file system does not store \(names.joined(separator: " or ")), where aclfs keeps entries")
        }
        return .backing(record)
    }

    func next() -> ExportItem? {
        if !hasBegun {
            hasBegun = true
            meet(top, ExportPath.top, status, named: [])
        }
        while waiting.isEmpty {
            var failures: [ExportItem] = []
            let found = descent.advance { path, reason in failures.append(.unread(Self.below(path), reason)) }
            waiting += failures
            guard let (name, directory) = found else { break }
            meet(name, in: directory)
        }
        return waiting.isEmpty ? nil : waiting.removeFirst()
    }

    private func meet(_ name: [UInt8], in directory: SharedDescriptor) {
        let path = descent.below.isEmpty ? name : joinedPath(descent.below, name)
        do throws(Errno) {
            let node = try files.open(name, in: directory, followsLink: false)
            meet(node, path, try Syscall.statx(node.rawValue), named: name)
        } catch {
            switch error {
            // Removed since the directory was read.
            case .noent: break
            case .xdev: waiting.append(.unread(path, "another file system is mounted here, and was not entered"))
            default: waiting.append(.unread(path, error.text))
            }
        }
    }

    private func meet(_ node: SharedDescriptor, _ path: [UInt8], _ status: FileStatus, named name: [UInt8]) {
        let item = reader.item(node, path, status)
        waiting.append(item)
        guard status.isDirectory else { return }
        do throws(Errno) {
            let names = isSorted ? DirectoryNames.sorted(SortedNames(try files.names(in: node))) : .streamed(StreamedNames(files))
            descent.enter(node, named: name, ObjectIdentity(device: status.device, inode: status.inode), names)
        } catch {
            // One line is enough for a directory of which nothing can be read.
            if !item.isUnread { waiting.append(.unread(path, error.text)) }
        }
    }

    /// The walk shows paths from the top on, as `./docs`.
    private static func below(_ path: [UInt8]) -> [UInt8] { path == ExportPath.top ? path : Array(path.dropFirst(2)) }
}

/// The names of one level, in either order.
enum DirectoryNames: LevelNames {
    case sorted(SortedNames<SharedDescriptor>)
    case streamed(StreamedNames<LinuxFiles>)

    mutating func next(in directory: SharedDescriptor) throws(Errno) -> [UInt8]? {
        switch self {
        case .sorted(var names):
            defer { self = .sorted(names) }
            return names.next(in: directory)
        case .streamed(var names):
            defer { self = .streamed(names) }
            return try names.next(in: directory)
        }
    }

    mutating func suspend() {
        if case .streamed(var names) = self {
            names.suspend()
            self = .streamed(names)
        }
    }
}
