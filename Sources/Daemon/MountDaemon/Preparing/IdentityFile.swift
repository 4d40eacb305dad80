import ACLFormats
import Glibc
import Identity
import LinuxSystem
import Mounting
import ToolSupport

/// The file of `identities=` (docs/reference/identity.md "Identities from elsewhere").
///
/// Its directory is opened before the mount and kept: no later mount hides the file, and reading it again sends this daemon no request.
final class IdentityFile: Sendable {
    let path: String
    let directory: SharedDescriptor
    let name: String

    /// Why there is no table: a sentence that begins behind the path.
    struct Problem: Error {
        var message: String
    }

    /// - Parameters:
    ///   - path: as the option has it.
    ///   - source: the real path of the directory that is served.
    ///   - mountpoint: the real path of the mount point.
    /// - Throws: the file lies where a mount would hide it, or callers of a mount could write it.
    init(_ path: String, source: String, mountpoint: String) throws(Problem) {
        self.path = path
        name = Self.name(in: path)
        let parent: String
        do throws(Errno) {
            parent = try MountPath.real(MountPath.directory(of: path))
            directory = SharedDescriptor(try Syscall.open(parent, OpenFlag.path | OpenFlag.directory))
        } catch { throw Problem(message: ": \(error.text)") }
        for (place, role) in [(mountpoint, "the mount point"), (source, "the source")] where MountPath.isInside(parent, place) {
            throw Problem(message: " lies in \(role) \(place); keep it elsewhere, for example in /etc")
        }
        let device = (try? Syscall.statx(directory.rawValue)).map { DeviceNumber.text($0.device) }
        if let entry = MountTable.entries().last(where: { $0.device == device && $0.type == "fuse.aclfs" }) {
            throw Problem(message: " lies in the aclfs mount \(entry.path); keep it elsewhere, for example in /etc")
        }
    }

    /// - Parameters:
    ///   - path: as the option has it.
    ///   - directory: of the file, as the command that mounted has opened it.
    init(_ path: String, in directory: SharedDescriptor) {
        (self.path, self.directory) = (path, directory)
        name = Self.name(in: path)
    }

    /// Whether there is a file of the name.
    var exists: Bool { (try? Syscall.statxAt(directory.rawValue, name)) != nil }

    private static func name(in path: String) -> String { path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path }

    /// The same for a command that mounts.
    static func failure(_ problem: Problem, of path: String) -> MountFailure {
        MountFailure(status: MountExit.failed, message: "identities=\(path)\(problem.message)")
    }

    /// Reads the file.
    /// - Throws: it cannot be read, may not be trusted, or is no table.
    func read() throws(Problem) -> IdentityTable {
        let read: Result<[UInt8], Problem>
        do throws(Errno) { read = try FileSystemUser.asRoot { () throws(Errno) in try trustedText() } } catch {
            throw Problem(message: error == .loop ? " is a symbolic link; name the file that it leads to" : ": \(error.text)")
        }
        let text = try read.get()
        do throws(IdentityTable.Problem) { return try IdentityTable(text) } catch {
            throw Problem(message: ": line \(error.line): \(error.message)")
        }
    }

    private func trustedText() throws(Errno) -> Result<[UInt8], Problem> {
        func refused(_ message: String) -> Result<[UInt8], Problem> { .failure(Problem(message: message)) }
        let owner = FileSystemUser.owner
        let whose = owner == 0 ? "root" : "root or user \(owner)"
        let place = try Syscall.statx(directory.rawValue)
        // A user who may write to the directory may exchange the file.
        guard place.uid == 0 || place.uid == owner, place.mode & 0o022 == 0 || place.mode & UInt32(S_ISVTX) != 0 else {
            return refused(" lies in a directory that others may write to; it has to belong to \(whose), and no one else may write to it")
        }
        // A FIFO without a writer must not block.
        let file = try Syscall.openat(directory.rawValue, name, OpenFlag.readOnly | OpenFlag.noFollow | OpenFlag.nonBlock)
        let before = try Syscall.statx(file.rawValue)
        guard before.type == FileType.regular else { return refused(" is not a regular file") }
        guard before.uid == 0 || before.uid == owner else { return refused(" belongs to user \(before.uid); it has to belong to \(whose)") }
        guard before.mode & 0o022 == 0 else {
            return refused(" is writable for others (mode \(String(before.mode & 0o7777, radix: 8))); chmod 644 it")
        }
        let text = try Syscall.readAll(file.rawValue, limit: IdentityTable.longest + 1)
        if text.count > IdentityTable.longest { return refused(" has more than \(IdentityTable.longest) bytes") }
        let after = try Syscall.statx(file.rawValue)
        // A half of the lines would be a valid table, too.
        guard (before.size, before.mtime, before.ctime) == (after.size, after.mtime, after.ctime) else {
            return refused(" changed while it was read")
        }
        return .success(text)
    }
}
