import ACLFormats
import Authorization
import BackingStore
import CFuseShim
import FuseSession
import Glibc
import LinuxSystem
import Testing

@testable import ACLFileSystem
@testable import FuseSession

/// A fresh directory of a mount with some objects in it, on which one operation runs once.
final class FaultScene {
    let tree: FaultTree
    let name: String
    let path: String
    var fileSystem: FileSystem { tree.fileSystem }
    private var nodes: [String: NodeID] = [:]
    private var handles: [String: HandleID] = [:]
    /// Counted look-ups and handles that the kernel has been given.
    private var lookups: [NodeID] = []
    private var opened: [HandleID] = []
    private var opendirs: [HandleID] = []
    /// What was answered, as far as it can be compared with another run.
    private(set) var answer = ""

    init(_ tree: FaultTree, name: String) throws {
        (self.tree, self.name, path) = (tree, name, tree.source + "/" + name)
        try Syscall.mkdirat(Syscall.workingDirectory, path, mode: 0o755)
        try own("", FaultScene.inheritable)
        nodes[""] = try find(name, in: .root)
    }

    /// Denies the stranger to read; new objects inherit it.
    static let inheritable = MetadataRecord(
        acl: ACL([ACE(GUID(user: FaultTree.stranger.uid), .deny, [.read], flags: [.fileInherit, .directoryInherit])]))
    static let guarded = MetadataRecord(acl: ACL([ACE(GUID(user: FaultTree.stranger.uid), .deny, [.read])]))

    // MARK: Objects, made behind the mount

    private func own(_ name: String, _ record: MetadataRecord, _ caller: Caller = FaultTree.owner, mode: UInt32? = nil) throws {
        let object = try Syscall.open(path + "/" + name, OpenFlag.path | OpenFlag.noFollow)
        if !record.isEmpty { try Syscall.setxattr(.any(object.rawValue), FaultTree.recordName, record.encoded()) }
        try Syscall.fchown(
            object.rawValue, uid: record.ownerGUID == nil ? caller.uid : ObjectFacts.notAnID,
            gid: record.groupGUID == nil ? caller.gid : ObjectFacts.notAnID)
        if let mode { try Syscall.fchmod(object.rawValue, mode: mode) }
    }

    @discardableResult
    func file(
        _ name: String = "file", _ content: String = "what was there before", mode: UInt32 = 0o644,
        _ record: MetadataRecord = FaultScene.guarded
    ) throws -> FaultScene {
        let file = try Syscall.open(path + "/" + name, OpenFlag.create | OpenFlag.exclusive | OpenFlag.readWrite, mode: 0o600)
        let bytes = Array(content.utf8)
        _ = try bytes.withUnsafeBytes { bytes in Result { () throws(Errno) in try Syscall.write(file.rawValue, bytes) } }.get()
        try own(name, record, mode: mode)
        return self
    }

    @discardableResult
    func file(_ record: MetadataRecord) throws -> FaultScene { try file("file", "content", record) }

    @discardableResult
    func directory(_ name: String = "directory", _ record: MetadataRecord = FaultScene.inheritable) throws -> FaultScene {
        try Syscall.mkdirat(Syscall.workingDirectory, path + "/" + name, mode: 0o755)
        try own(name, record, mode: 0o755)
        return self
    }

    @discardableResult
    func symlink(_ name: String = "symlink") throws -> FaultScene {
        try Syscall.symlinkat(target: "file", Syscall.workingDirectory, path + "/" + name)
        try own(name, MetadataRecord())
        return self
    }

    @discardableResult
    func attribute(_ name: String, _ value: [UInt8] = Array("value".utf8), of file: String = "file") throws -> FaultScene {
        let object = try Syscall.open(path + "/" + file, OpenFlag.path | OpenFlag.noFollow)
        try Syscall.setxattr(.any(object.rawValue), name, value)
        return self
    }

    // MARK: What the kernel knows before

    private func find(_ name: String, in parent: NodeID) throws(Errno) -> NodeID {
        guard case .found(let entry) = try fileSystem.operations.lookups.lookup(name, in: parent, FaultTree.root) else { throw .noent }
        lookups.append(entry.node)
        return entry.node
    }

    @discardableResult
    func knows(_ names: String...) throws -> FaultScene {
        for name in names {
            var node = nodes[""] ?? .root
            for part in name.split(separator: "/") { node = try find(String(part), in: node) }
            nodes[name] = node
        }
        return self
    }

    @discardableResult
    func open(_ name: String = "file", _ flags: Int32, as handle: String = "", _ caller: Caller = FaultTree.owner) throws -> FaultScene {
        if nodes[name] == nil { try knows(name) }
        let opening = try fileSystem.operations.opens.open(self[name], flags: flags, caller)
        opened.append(opening.handle)
        handles[handle] = opening.handle
        return self
    }

    @discardableResult
    func openDirectory(_ name: String = "") throws -> FaultScene {
        if nodes[name] == nil { try knows(name) }
        let opening = try fileSystem.operations.directories.openDirectory(self[name], FaultTree.owner)
        opendirs.append(opening.handle)
        handles[""] = opening.handle
        return self
    }

    subscript(name: String) -> NodeID { nodes[name] ?? NodeID(0) }
    var directory: NodeID { self[""] }
    func handle(_ name: String = "") -> HandleID { handles[name] ?? HandleID(0) }
    var handle: HandleID { handle() }

    // MARK: What the operation gives

    func say(_ text: String) { answer += text + "\n" }

    func gave(_ entry: Entry) {
        lookups.append(entry.node)
        say(entry.attributes)
    }

    func gave(_ opening: Opening) { opened.append(opening.handle) }
    func gave(_ given: (Entry, Opening)) {
        gave(given.0)
        gave(given.1)
    }
    func gaveDirectory(_ opening: Opening) { opendirs.append(opening.handle) }
    func gave(_ nodes: [NodeID]) { lookups += nodes }

    func say(_ shown: ObjectAttributes) {
        say("\(String(shown.mode, radix: 8)) \(shown.uid) \(shown.gid) \(shown.nlink) \(shown.mode & S_IFMT == S_IFDIR ? 0 : shown.size)")
    }

    /// The kernel has forgotten a look-up, or released a handle, within the operation.
    func tookBack(_ node: NodeID) { if let index = lookups.lastIndex(of: node) { lookups.remove(at: index) } }
    func tookBack(_ handle: HandleID) {
        opened.removeAll { $0 == handle }
        opendirs.removeAll { $0 == handle }
    }

    private var marks = (lookups: 0, opened: 0, opendirs: 0)
    /// From here on everything is given by the operation.
    func prepared() { marks = (lookups.count, opened.count, opendirs.count) }

    /// Gives back what the operation gave.
    func giveBack() {
        while opened.count > marks.opened { fileSystem.operations.gaps.release(opened.removeLast()) }
        while opendirs.count > marks.opendirs { fileSystem.files.remove(opendirs.removeLast()) }
        while lookups.count > marks.lookups { fileSystem.operations.lookups.forgetLookups(of: lookups.removeLast(), 1) }
    }

    /// What the operation may be about, by name.
    var keys: [(name: String, key: ObjectKey)] {
        nodes.compactMap { name, node in fileSystem.loader.nodes.find(node).map { (name: name, key: $0.object.key) } }
    }

    /// Gives back all, and removes the directory.
    /// - Returns: what is still busy then.
    func end() -> [String] {
        let keys = keys
        marks = (0, 0, 0)
        giveBack()
        fileSystem.mounts.share.writableFiles.filler.drain(milliseconds: 10_000)
        let busy = keys.filter { tree.isBusy($0.key) }.map { $0.name }
        FaultTree.empty(path)
        return busy
    }

    // MARK: Requests

    static func changes(_ valid: SetAttributes.Valid, _ fill: (inout aclfs_fuse_setattr) -> Void = { _ in }) -> SetAttributes {
        var raw = aclfs_fuse_setattr()
        raw.valid = valid.rawValue
        fill(&raw)
        return SetAttributes(raw)
    }

    func set(_ name: String, _ changes: SetAttributes, _ caller: Caller = FaultTree.owner) throws(Errno) {
        say(try fileSystem.operations.attributes.setAttributes(self[name], changes, caller).attributes)
    }

    func set(_ name: String, _ attribute: String, _ value: [UInt8], flags: Int32 = 0, _ caller: Caller = FaultTree.owner) throws(Errno) {
        try value.withUnsafeBytes { bytes in
            Result { () throws(Errno) in
                try fileSystem.operations.xattrs.setXattr(self[name], attribute, bytes, flags: flags, caller)
            }
        }.get()
    }

    func get(_ name: String, _ attribute: String, _ caller: Caller = FaultTree.owner) throws(Errno) {
        say("\(try fileSystem.operations.xattrs.getXattr(self[name], attribute, caller))")
    }

    func write(
        _ text: String, at offset: Int64, flags: Int32 = 0, clearsSetID: Bool = false, _ caller: Caller = FaultTree.owner
    ) throws(Errno) {
        let count = try Array(text.utf8).withUnsafeBytes { bytes in
            Result { () throws(Errno) in
                try fileSystem.operations.bytes.write(handle, bytes, offset: offset, flags: flags, clearsSetID: clearsSetID, caller)
            }
        }.get()
        say("\(count)")
    }

    func ioctl(_ command: UInt32, _ input: [UInt8], outputSize: Int) throws(Errno) {
        let output = try input.withUnsafeBytes { bytes in
            Result { () throws(Errno) in
                try fileSystem.operations.ioctls.ioctl(handle, command: command, input: bytes, outputSize: outputSize, FaultTree.owner)
            }
        }.get()
        say("\(output)")
    }

    /// Lends a reply that nobody answers with: it leads to no session. The memory is left without an end of its own.
    func withListing<Value>(_ body: (inout DirectoryReply) throws(Errno) -> Value) throws(Errno) -> Value {
        let request = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<aclfs_fuse_request>.size, alignment: MemoryLayout<aclfs_fuse_request>.alignment)
        request.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<aclfs_fuse_request>.size)
        let place = UnsafeMutablePointer<DirectoryReply>.allocate(capacity: 1)
        place.initialize(to: DirectoryReply(request.load(as: aclfs_fuse_request.self), capacity: 4096))
        defer {
            place.deallocate()
            request.deallocate()
        }
        return try body(&place.pointee)
    }
}
