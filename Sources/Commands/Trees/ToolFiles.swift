import Authorization
import LinuxSystem

/// What the commands need of the system. An object is opened once and then addressed by what was opened, so
/// that nobody can put another in its place between the look and the change.
package protocol ToolFiles {
    associatedtype Node
    func open(_ path: [UInt8], followsLink: Bool) throws(Errno) -> Node
    func open(_ name: [UInt8], in directory: Node, followsLink: Bool) throws(Errno) -> Node
    func status(of node: Node) throws(Errno) -> ObjectStatus
    func setMode(of node: Node, to mode: UInt16) throws(Errno)
    /// The names in a directory, without `.` and `..`, in no order.
    func names(in directory: Node) throws(Errno) -> [[UInt8]]
    func linkTarget(of node: Node) throws(Errno) -> [UInt8]
    /// `nil` if there is no such attribute.
    func attribute(_ name: String, of node: Node) throws(Errno) -> [UInt8]?
    func attribute(_ name: [UInt8], of node: Node) throws(Errno) -> [UInt8]?
    func setAttribute(_ name: String, of node: Node, to value: [UInt8]) throws(Errno)
    /// Removing what is not there is no error.
    func removeAttribute(_ name: String, of node: Node) throws(Errno)
    func attributeNames(of node: Node) throws(Errno) -> [[UInt8]]
    /// How many levels of a tree may be held open, each with a node and a listing.
    var openLevels: Int { get }
}

/// What stat(2) says, as far as commands show or use it.
package struct ObjectStatus: Sendable, Hashable {
    package var kind: ObjectKind
    package var mode: UInt16
    package var uid: UInt32
    package var gid: UInt32
    package var linkCount: UInt32
    package var size: UInt64
    /// In units of 512 bytes.
    package var blocks: UInt64
    package var modifiedSeconds: Int64
    /// Tells objects apart.
    package var device: UInt64
    package var inode: UInt64
    /// Of device nodes: major number in the upper half.
    package var specialDevice: UInt64

    package init(
        kind: ObjectKind, mode: UInt16, uid: UInt32 = 0, gid: UInt32 = 0, linkCount: UInt32 = 1, size: UInt64 = 0,
        blocks: UInt64 = 0, modifiedSeconds: Int64 = 0, device: UInt64 = 0, inode: UInt64 = 0,
        specialDevice: UInt64 = 0
    ) {
        self.kind = kind
        self.mode = mode
        self.uid = uid
        self.gid = gid
        self.linkCount = linkCount
        self.size = size
        self.blocks = blocks
        self.modifiedSeconds = modifiedSeconds
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
