import ACLFormats
import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import TestSupport

@testable import ACLFileSystem

/// A backing directory and one mount of it without a kernel, for operations whose system calls fail.
final class FaultTree {
    static let recordName = "trusted.aclfs"
    /// With the capabilities of this process.
    static let root = Caller(uid: 0, gid: 0, tid: UInt32(getpid()))
    static let owner = Caller(uid: 501, gid: 501, tid: 0)
    /// Is refused by an entry what the mode lets everybody do.
    static let stranger = Caller(uid: 502, gid: 502, tid: 0)

    let top: String
    let source: String
    let mounts = TreeMounts()
    var share: Share { mounts.share }
    let fileSystem: FileSystem
    private var notes: CreationNotes?
    private let another: FileSystem
    private var scenes = 0

    /// - Parameter parent: on a file system that keeps attributes.
    init(below parent: String = "/var/tmp") throws {
        var template = Array("\(parent)/aclfs-faults.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
        top = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        source = top + "/source"
        mkdir(source, 0o755)
        let tree = try Self.tree(source)
        notes = CreationNotes.open(in: top + "/notes", for: tree, isReadOnly: false) { _ in }
        fileSystem = FileSystem(tree: tree, options: Self.options, mounts: mounts, creationNotes: notes)
        another = FileSystem(tree: try Self.tree(source), options: Self.options)
        try fileSystem.join()
        // Known from now on: where /proc cannot be read root is refused, whatever call was to fail.
        _ = fileSystem.judge.holds(.chown, over: nil, Self.root)
    }

    deinit {
        fileSystem.leave()
        Self.empty(top)
    }

    private static var options: MountOptions {
        var options = MountOptions()
        options.allowOther = true
        options.groupsCache = .max
        return options
    }

    private static func tree(_ path: String) throws(Errno) -> BackingTree {
        try BackingTree(
            directory: Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory), metadataName: recordName, descriptorBudget: 64,
            report: { _ in })
    }

    /// What another daemon would say that knows nothing but what is stored.
    func storedRights(of snapshot: FaultSnapshot, in name: String) -> FaultRights {
        defer { another.loader.tree.forgetDescriptors() }
        return FaultRights(of: snapshot, in: name, on: another)
    }

    func scene() throws -> FaultScene {
        scenes += 1
        return try FaultScene(self, name: "s\(scenes)")
    }

    /// What the next mount finds in the notes of this daemon, as if it had died now.
    func heal() throws {
        let tree = try Self.tree(source)
        // The lock of a living daemon ends with its descriptor only, so its file is looked at as another's.
        let path = top + "/notes"
        let copies = top + "/copies"
        mkdir(copies, 0o700)
        for name in Self.names(path) {
            let bytes = try Syscall.readAll(path: path + "/" + name)
            let copy = try Syscall.open(copies + "/" + name, OpenFlag.create | OpenFlag.writeOnly | OpenFlag.truncate, mode: 0o600)
            _ = try bytes.withUnsafeBytes { bytes in Result { () throws(Errno) in try Syscall.write(copy.rawValue, bytes) } }.get()
        }
        CreationNotes.open(in: copies, for: tree, isReadOnly: false) { _ in }?.end()
        Self.empty(copies)
    }

    // MARK: Counts

    /// What must be as before when an operation has ended and what it gave is given back.
    struct Counts: Equatable, CustomStringConvertible {
        var nodes: Int
        var descriptors: Int
        var handles: Int
        var held: Int
        var gates: Int

        /// Whether there is no more of anything than before.
        var isNothing: Bool { [nodes, descriptors, handles, held, gates].allSatisfy { $0 <= 0 } }

        var description: String { "nodes \(nodes), descriptors \(descriptors), handles \(handles), held \(held), gates \(gates)" }
        static func - (a: Counts, b: Counts) -> Counts {
            Counts(
                nodes: a.nodes - b.nodes, descriptors: a.descriptors - b.descriptors, handles: a.handles - b.handles,
                held: a.held - b.held, gates: a.gates - b.gates)
        }
    }

    /// With the caches emptied. Descriptors are those that lead into the tree: other tests of this process have others.
    func counts() -> Counts {
        share.writableFiles.filler.drain(milliseconds: 10_000)
        fileSystem.loader.tree.forgetDescriptors()
        return Counts(
            nodes: fileSystem.loader.nodes.count, descriptors: openDescriptors(below: source), handles: share.handleQuota.count,
            held: share.held.heldCount + share.held.threadCount, gates: share.held.gates.changesInFlight)
    }

    /// Whether something about a file is still under way although nobody has it open.
    func isBusy(_ key: ObjectKey) -> Bool {
        weak let growth = lent(key)
        if growth != nil || share.held.isChanging(key) { return true }
        do throws(Errno) {
            _ = try share.dataPaths.acquire(key, DataDemand(mayRetry: true), on: fileSystem.files.backingIDs, everyMount: false, -1)
        } catch { return true }
        return false
    }

    /// What nobody else holds ends here.
    private func lent(_ key: ObjectKey) -> WritableFile {
        let growth = share.writableFiles.retain(key)
        share.writableFiles.release(growth)
        return growth
    }

    // MARK: Files

    static func names(_ path: String) -> [String] {
        guard let directory = try? Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory) else { return [] }
        return ((try? Syscall.names(directory.rawValue)) ?? []).map { String(decoding: $0, as: UTF8.self) }
    }

    static func empty(_ path: String) {
        for name in names(path) where unlink(path + "/" + name) != 0 { empty(path + "/" + name) }
        rmdir(path)
    }
}
