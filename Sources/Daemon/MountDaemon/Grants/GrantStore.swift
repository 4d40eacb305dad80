import ACLFileSystem
import ACLFormats
import Glibc
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// The files of grants, one for each served directory. A damaged file grants nothing.
struct GrantStore: Sendable {
    private let place: GrantPlace?
    private let problem: GrantProblem?

    init() {
        do throws(Errno) {
            place = try GrantPlace.prepare()
            problem = nil
        } catch {
            place = nil
            problem = GrantProblem(
                errno: error,
                message: "the directory where grants are stored cannot be opened: \(error.text)\(geteuid() == 0 ? "" : " (is HOME set?)")")
        }
    }

    /// The directory of the files. A confined mount closes it, so that a program cannot change its own grants.
    var closedPlace: GrantPlace? { place }

    /// Reads the files under the lock.
    /// - Parameter report: called for each damaged file.
    /// - Returns: the files that can be read.
    func files(_ report: (String) -> Void) -> [GrantFile] {
        do throws(GrantProblem) {
            return try locked(create: false) { (directory) throws(GrantProblem) in try read(directory, report) } ?? []
        } catch {
            report(error.message)
            return []
        }
    }

    /// Reads the files, lets the body change them, and writes the changed ones, all under the lock.
    /// - Parameter body: gets the files and messages about damaged ones. If it throws, nothing is written.
    /// - Throws: the error of the body, or why the files cannot be read or written.
    func change<Value>(
        _ body: (inout [GrantFile], _ damaged: [String]) throws(GrantProblem) -> Value
    ) throws(GrantProblem) -> Value {
        let value = try locked(create: true) { (directory) throws(GrantProblem) -> Value in
            var damaged: [String] = []
            let before = try read(directory) { damaged.append($0) }
            var after = before
            let value = try body(&after, damaged)
            for file in after where !before.contains(file) {
                try perform("cannot store grants in \(path)") { () throws(Errno) in try write(file, directory) }
            }
            return value
        }
        guard let value else { throw GrantProblem(errno: .noent, message: "there is no directory where grants are stored") }
        return value
    }

    private var path: String { place?.path ?? "" }

    /// Calls the body as root if the daemon is root's, with the directory locked against other daemons of this user.
    /// - Returns: nil if there is no directory and `create` is false.
    private func locked<Value>(
        create: Bool, _ body: (SharedDescriptor) throws(GrantProblem) -> Value
    ) throws(GrantProblem) -> Value? {
        guard let place else { throw problem ?? GrantProblem(errno: .noent, message: "there is no directory where grants are stored") }
        var outcome: Result<Value, GrantProblem>?
        do throws(Errno) {
            try FileSystemUser.asRoot { () throws(Errno) in
                guard let directory = try place.directory(create: create) else { return }
                let deadline = SystemTime.monotonic() + 5_000_000_000
                while flock(directory.rawValue, LOCK_EX | LOCK_NB) != 0 {
                    guard errno == EWOULDBLOCK || errno == EINTR, SystemTime.monotonic() < deadline else {
                        throw Errno.again
                    }
                    SystemTime.sleep(milliseconds: 5)
                }
                defer { flock(directory.rawValue, LOCK_UN) }
                do throws(GrantProblem) { outcome = .success(try body(directory)) } catch { outcome = .failure(error) }
            }
        } catch {
            let reason =
                switch error {
                case .perm: "it belongs to another user, or other users may write to it"
                case .again: "another process keeps it locked (\(error.text))"
                default: error.text
                }
            throw GrantProblem(errno: error, message: "cannot use the grants in \(path): \(reason)")
        }
        return try outcome?.get()
    }

    private func perform<Value>(
        _ what: String, _ body: () throws(Errno) -> Value
    ) throws(GrantProblem) -> Value {
        do { return try body() } catch { throw GrantProblem(errno: error, message: "\(what): \(error.text)") }
    }

    private func read(_ directory: SharedDescriptor, _ report: (String) -> Void) throws(GrantProblem) -> [GrantFile] {
        let names = try perform("cannot read \(path)") { () throws(Errno) in try Syscall.names(directory.rawValue) }
        var files: [GrantFile] = []
        for name in names.map({ String(decoding: $0, as: UTF8.self) }).sorted() where name.hasSuffix(".grants") {
            do throws(Errno) {
                let file = try Syscall.openat(
                    directory.rawValue, name, OpenFlag.readOnly | OpenFlag.noFollow | OpenFlag.nonBlock)
                let bytes = try Syscall.readAll(file.rawValue, limit: GrantFile.longest)
                do throws(GrantFile.Problem) {
                    let grants = try GrantFile(bytes)
                    // A file under the name of another directory grants nothing.
                    if grants.root.fileName == name { files.append(grants) } else { report(damage(name, "it is for another directory")) }
                } catch { report(damage(name, error.description)) }
            } catch { report(damage(name, error.text)) }
        }
        return files
    }

    private func damage(_ name: String, _ reason: String) -> String {
        "grants in \(path)/\(escapedName(name.utf8)) are ignored: \(reason)"
    }

    /// Replaces a file atomically. On a full disk a shorter list overwrites the longer one in place: a revoked grant must not stay, and
    /// a truncated file grants nothing.
    private func write(_ file: GrantFile, _ directory: SharedDescriptor) throws(Errno) {
        let name = file.root.fileName
        guard !file.grants.isEmpty else {
            do { try Syscall.unlinkat(directory.rawValue, name) } catch { if error != .noent { throw error } }
            return try Syscall.fsync(directory.rawValue)
        }
        let bytes = file.bytes
        let temporary = ".\(name).new"
        do throws(Errno) {
            let new = try Syscall.openat(
                directory.rawValue, temporary,
                OpenFlag.writeOnly | OpenFlag.create | OpenFlag.truncate | OpenFlag.noFollow, mode: 0o600)
            try write(bytes, to: new.rawValue)
            try Syscall.renameat2(directory.rawValue, temporary, to: directory.rawValue, name, flags: 0)
        } catch {
            try? Syscall.unlinkat(directory.rawValue, temporary)
            guard error == .nospc || error == .dquot else { throw error }
            let old = try Syscall.openat(directory.rawValue, name, OpenFlag.writeOnly | OpenFlag.noFollow)
            guard try Syscall.statx(old.rawValue).size >= UInt64(bytes.count) else { throw error }
            try write(bytes, to: old.rawValue)
            try Syscall.ftruncate(old.rawValue, size: Int64(bytes.count))
            return try Syscall.fsync(old.rawValue)
        }
        try Syscall.fsync(directory.rawValue)
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32) throws(Errno) {
        try Syscall.writeAll(descriptor, bytes)
        try Syscall.fsync(descriptor)
    }
}

/// Why grants cannot be read, stored or applied.
struct GrantProblem: Error {
    var errno: Errno
    var message: String
}
