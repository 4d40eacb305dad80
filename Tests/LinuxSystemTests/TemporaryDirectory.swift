import Glibc
import LinuxSystem

/// A fresh directory on a file system with attributes, removed with everything in it.
final class TemporaryDirectory {
    let path: String
    let descriptor: Int32
    private var held: [SharedDescriptor] = []

    init(below parent: String = "/var/tmp") throws {
        var template = Array("\(parent)/aclfs-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        descriptor = try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory).release()
    }

    deinit {
        Self.empty(descriptor)
        close(descriptor)
        rmdir(path)
    }

    func file(_ name: String, _ content: String = "", mode: UInt32 = 0o644) throws -> SharedDescriptor {
        let file = SharedDescriptor(
            try Syscall.openat(descriptor, name, OpenFlag.create | OpenFlag.exclusive | OpenFlag.readWrite, mode: mode))
        if !content.isEmpty {
            _ = try Array(content.utf8).withUnsafeBytes { try Syscall.pwrite(file.rawValue, $0, offset: 0) }
        }
        return file
    }

    /// An O_PATH descriptor, held as long as the directory.
    func opaque(_ name: String) throws -> SharedDescriptor {
        let opened = SharedDescriptor(try Syscall.openat(descriptor, name, OpenFlag.path | OpenFlag.noFollow))
        held.append(opened)
        return opened
    }

    func content(_ name: String) throws -> String {
        let file = try Syscall.openat(descriptor, name, OpenFlag.readOnly)
        return String(decoding: try Syscall.readAll(file.rawValue), as: UTF8.self)
    }

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
