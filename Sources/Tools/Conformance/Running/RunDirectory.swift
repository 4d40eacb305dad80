import ACLFormats
import LinuxSystem

/// The directory in which a run builds everything. It is held by descriptor and has a random name.
final class RunDirectory {
    static let prefix = ".aclfs-conformance-"
    let name: String
    private let parent: Int32
    private let directory: OwnedDescriptor
    private let status: FileStatus
    private var made: Set<[UInt8]> = []

    var descriptor: Int32 { directory.rawValue }

    /// - Parameter parent: a descriptor of the directory in which it is made; it outlives the object.
    init(in parent: Int32) throws(RunFailure) {
        self.parent = parent
        name = Self.prefix + String(UInt64.random(in: .min ... .max), radix: 16)
        let others: [[UInt8]]
        do throws(Errno) { others = try Syscall.names(parent) } catch { throw RunFailure("cannot be listed: \(error)") }
        if let other = others.first(where: { $0.starts(with: Self.prefix.utf8) }) {
            throw RunFailure(
                "\(escapedName(other)) is of another run; if none is at work, it was killed: clear the flags below it and remove it")
        }
        do throws(Errno) { try Syscall.mkdirat(parent, name, mode: 0o700) } catch {
            throw RunFailure(error == .rofs ? "is mounted read-only; a run needs to write" : "nothing can be created there: \(error)")
        }
        do throws(Errno) {
            directory = try Syscall.openat(parent, name, OpenFlag.readOnly | OpenFlag.directory | OpenFlag.noFollow)
        } catch {
            try? Syscall.unlinkat(parent, name, flags: AtFlag.removeDirectory)
            throw RunFailure("\(name) cannot be opened: \(error)")
        }
        do throws(Errno) {
            // What it inherited must not reach the cases.
            for attribute in ["system.aclfs.acl", "system.posix_acl_default", "system.posix_acl_access"] {
                try? Syscall.removexattr(.open(directory.rawValue), attribute)
            }
            try Syscall.fchown(directory.rawValue, uid: 0, gid: 0)
            try Syscall.fchmod(directory.rawValue, mode: 0o755)
            status = try Syscall.statx(directory.rawValue)
        } catch {
            try? Syscall.unlinkat(parent, name, flags: AtFlag.removeDirectory)
            throw RunFailure("root cannot change what it created there: \(error)")
        }
        if status.uid != 0 || status.mode & 0o777 != 0o755 {
            try? Syscall.unlinkat(parent, name, flags: AtFlag.removeDirectory)
            throw RunFailure("what root creates there belongs to uid \(status.uid); a run needs a mount on which root is root")
        }
    }

    /// Makes the directory of one case.
    func makeDirectory(_ name: String) throws(RunFailure) {
        do throws(Errno) { try Syscall.mkdirat(descriptor, name, mode: 0o755) } catch {
            throw RunFailure(
                error == .exist
                    ? "\(name) is there already: another process changes the directory of the run"
                    : "\(name) cannot be created: \(error)")
        }
        made.insert(Array(name.utf8))
        do throws(Errno) {
            let directory = try Syscall.openat(descriptor, name, OpenFlag.readOnly | OpenFlag.directory | OpenFlag.noFollow)
            try Syscall.fchmod(directory.rawValue, mode: 0o755)
        } catch { throw RunFailure("\(name) cannot be opened: \(error)") }
    }

    /// - Throws: another process renamed or removed the directory, or made something in it.
    func checkUntouched() throws(RunFailure) {
        let now = try? Syscall.statxAt(parent, name)
        guard let now, now.inode == status.inode, now.device == status.device else {
            throw RunFailure("another process renamed or removed \(name) during the run")
        }
        let names: [[UInt8]]
        do throws(Errno) {
            _ = try Syscall.lseek(descriptor, offset: 0, whence: Seek.set)
            names = try Syscall.names(descriptor)
        } catch { throw RunFailure("\(name) cannot be listed: \(error)") }
        if let other = names.first(where: { !made.contains($0) }) {
            throw RunFailure("another process made \(name)/\(escapedName(other)) during the run; it is left there")
        }
    }

    /// Removes everything that the run made, flags or not.
    /// - Throws: what stays, and why.
    func remove() throws(RunFailure) {
        do throws(Errno) {
            for name in made { try Self.removeTree(descriptor, name) }
            try Syscall.unlinkat(parent, name, flags: AtFlag.removeDirectory)
        } catch { throw RunFailure("\(name) could not be removed: \(error)") }
    }

    private static func removeTree(_ directory: Int32, _ name: [UInt8]) throws(Errno) {
        let status: FileStatus
        do throws(Errno) {
            status = try name.withCString { (name) throws(Errno) in try Syscall.statxAt(directory, name) }
        } catch {
            if error == .noent { return }
            throw error
        }
        let isDirectory = status.mode & FileType.mask == FileType.directory
        if isDirectory {
            clearFlags(directory, name)
            let inner = try name.withCString { (name) throws(Errno) in
                try Syscall.openat(directory, name, OpenFlag.readOnly | OpenFlag.directory | OpenFlag.noFollow).release()
            }
            let owner = OwnedDescriptor(rawValue: inner)
            for entry in try Syscall.names(owner.rawValue) { try removeTree(owner.rawValue, entry) }
        }
        let flags = isDirectory ? AtFlag.removeDirectory : 0
        do throws(Errno) { try name.withCString { (name) throws(Errno) in try Syscall.unlinkat(directory, name, flags: flags) } } catch {
            guard error == .perm else { throw error }
            clearFlags(directory, name)
            try name.withCString { (name) throws(Errno) in try Syscall.unlinkat(directory, name, flags: flags) }
        }
    }

    /// Where there are no flags, this fails and nothing is missing.
    private static func clearFlags(_ directory: Int32, _ name: [UInt8]) {
        let path = Array("/proc/self/fd/\(directory)/".utf8) + name
        try? path.withCString { (path) throws(Errno) in try Syscall.setxattr(.path(path), "system.aclfs.flags", [0x2D]) }
    }
}
