import Authorization
import BackingStore
import Glibc
import LinuxSystem
import TestSupport

/// A backing directory in a temporary place, removed with everything in it, and trees over it.
final class TemporaryTree {
    let path: String
    let directory: SharedDescriptor

    /// - Parameter parent: on a file system that keeps attributes.
    init(below parent: String = "/var/tmp") throws {
        var template = Array("\(parent)/aclfs-backing.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        directory = SharedDescriptor(try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory))
    }

    deinit {
        Self.empty(directory.rawValue)
        rmdir(path)
    }

    /// What its trees have said is collected in `reports`.
    func tree(budget: Int = 64, followsMounts: Bool = true) throws -> BackingTree {
        let said = Said()
        saids.append(said)
        return try BackingTree(
            directory: Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs",
            descriptorBudget: budget, followsMounts: followsMounts
        ) { line in said.lines.withLock { $0.append(line) } }
    }

    var said: [String] { saids.flatMap { $0.lines.withLock { $0 } } }
    private final class Said: Sendable { let lines = Lock<[String]>([]) }
    private var saids: [Said] = []

    @discardableResult
    func file(_ name: String, _ content: String = "", mode: UInt32 = 0o644) throws -> SharedDescriptor {
        let file = SharedDescriptor(
            try Syscall.openat(directory.rawValue, name, OpenFlag.create | OpenFlag.exclusive | OpenFlag.readWrite, mode: mode))
        try Syscall.fchmod(file.rawValue, mode: mode)
        let bytes = Array(content.utf8)
        if !bytes.isEmpty {
            _ = try bytes.withUnsafeBytes { bytes in Result { () throws(Errno) in try Syscall.pwrite(file.rawValue, bytes, offset: 0) } }
                .get()
        }
        return file
    }

    func makeDirectory(_ name: String) throws { try Syscall.mkdirat(directory.rawValue, name, mode: 0o755) }

    func find(_ name: String, in tree: BackingTree) throws(Errno) -> ResolvedObject {
        try tree.object(at: name.split(separator: "/").map { Array($0.utf8) })
    }

    /// Descriptors that lead to objects of this directory, this one's own not among them.
    var descriptors: Int { openDescriptors(below: path) - 1 }

    private static func empty(_ directory: Int32) {
        _ = try? Syscall.lseek(directory, offset: 0, whence: Seek.set)
        for name in (try? Syscall.names(directory)) ?? [] {
            try? name.withCString { (name) throws(Errno) in
                do throws(Errno) { try Syscall.unlinkat(directory, name) } catch .isdir {
                    let inner = try Syscall.openat(directory, name, OpenFlag.readOnly | OpenFlag.directory)
                    empty(inner.rawValue)
                    try Syscall.unlinkat(directory, name, flags: AtFlag.removeDirectory)
                }
            }
        }
    }
}
