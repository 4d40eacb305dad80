import ACLFormats
import Authorization
import LinuxSystem

/// The system calls of the commands. A command opens an object once and then uses the node, so that no other object can take its place
/// before the change.
package protocol ToolFiles {
    /// An open object.
    associatedtype Node
    /// Opens an object by its path.
    func open(_ path: [UInt8], followsLink: Bool) throws(Errno) -> Node
    /// Opens an object by its name in a directory.
    func open(_ name: [UInt8], in directory: Node, followsLink: Bool) throws(Errno) -> Node
    func status(of node: Node) throws(Errno) -> ObjectStatus
    /// Whether the objects of a device lie on a mount of aclfs.
    func isMounted(_ device: UInt64) -> Bool
    /// Sets a mode that was made of an earlier one.
    /// - Parameters:
    ///   - asked: the set-id bits in it that the user of the command named.
    ///   - status: the status that the others come from.
    /// - Returns: set-id bits that are left out.
    func setMode(of node: Node, to mode: UInt16, asked: UInt16, _ status: ObjectStatus) throws(Errno) -> UInt16
    /// - Returns: the names in a directory without `.` and `..`, unordered.
    func names(in directory: Node) throws(Errno) -> [[UInt8]]
    func linkTarget(of node: Node) throws(Errno) -> [UInt8]
    /// - Returns: `nil` if there is no such attribute.
    func attribute(_ name: String, of node: Node) throws(Errno) -> [UInt8]?
    func attribute(_ name: [UInt8], of node: Node) throws(Errno) -> [UInt8]?
    func setAttribute(_ name: String, of node: Node, to value: [UInt8]) throws(Errno)
    /// Removes an attribute. A missing one is no error.
    func removeAttribute(_ name: String, of node: Node) throws(Errno)
    func attributeNames(of node: Node) throws(Errno) -> [[UInt8]]
    /// The rule by which the file system refuses an operation; nil if it cannot be learned.
    func rule(refusing operation: OperationWord, on node: Node?, _ path: [UInt8], _ error: Errno) -> String?
    /// Why a change of what may be done with an object has no effect, once for each mount; nil: it has one, or nothing was said.
    func warningOfNoEffect(on node: Node, _ path: [UInt8], entries: Bool) -> String?
    /// The number of levels of a tree that may be open, each with a node and a listing.
    var openLevels: Int { get }
}

/// The part of stat(2) that commands use.
package struct ObjectStatus: Sendable, Hashable {
    package var kind: ObjectKind
    package var mode: UInt16
    package var uid: UInt32
    package var gid: UInt32
    package var linkCount: UInt32
    package var size: UInt64
    /// In units of 512 bytes.
    package var blocks: UInt64
    package var modified: Timespec
    /// With `inode` it identifies an object.
    package var device: UInt64
    package var inode: UInt64
    /// Of device nodes, with the major number in the upper half.
    package var specialDevice: UInt64

    package init(
        kind: ObjectKind, mode: UInt16, uid: UInt32 = 0, gid: UInt32 = 0, linkCount: UInt32 = 1, size: UInt64 = 0,
        blocks: UInt64 = 0, modified: Timespec = Timespec(sec: 0, nsec: 0), device: UInt64 = 0, inode: UInt64 = 0,
        specialDevice: UInt64 = 0
    ) {
        self.kind = kind
        self.mode = mode
        self.uid = uid
        self.gid = gid
        self.linkCount = linkCount
        self.size = size
        self.blocks = blocks
        self.modified = modified
        self.device = device
        self.inode = inode
        self.specialDevice = specialDevice
    }

    package var isDirectory: Bool { kind == .directory }
    var identity: ObjectIdentity { ObjectIdentity(device: device, inode: inode) }
}

struct ObjectIdentity: Hashable {
    var device: UInt64
    var inode: UInt64
}
