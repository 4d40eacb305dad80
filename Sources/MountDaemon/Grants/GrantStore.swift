import ACLFileSystem
import ACLFormats
import Glibc
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// The files in which grants are kept, one for each served directory. Whatever is wrong with one, its grants do not count.
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
                errno: error, message: "there is no place for grants: \(error.text)\(geteuid() == 0 ? "" : " (is HOME set?)")")
        }
    }

    /// Never lets a confined program change what it is granted.
    var closedPlace: GrantPlace? { place }

    /// Those that can be read, while no other daemon of this user changes them.
    /// - Parameter report: what is wrong with the others.
    func files(_ report: (String) -> Void) -> [GrantFile] {
        do throws(GrantProblem) {
            return try locked(create: false) { (directory) throws(GrantProblem) in try read(directory, report) } ?? []
        } catch {
            report(error.message)
            return []
        }
    }

    /// Reads all, lets the body change them, and writes those that are different.
    /// - Parameter body: may throw; then nothing is written.
    func change<Value>(
        _ body: (inout [GrantFile], _ damaged: [String]) throws(GrantProblem) -> Value
    ) throws(GrantProblem) -> Value {
        let value = try locked(create: true) { (directory) throws(GrantProblem) -> Value in
            var damaged: [String] = []
            let before = try read(directory) { damaged.append($0) }
            var after = before
            let value = try body(&after, damaged)
            for file in after where !before.contains(file) {
                try perform("cannot keep grants in \(path)") { () throws(Errno) in try write(file, directory) }
            }
            return value
        }
        guard let value else { throw GrantProblem(errno: .noent, message: "there is no place for grants") }
        return value
    }

    private var path: String { place?.path ?? "" }

    /// As root where we are root's, with the directory locked against other daemons of this user.
    private func locked<Value>(
        create: Bool, _ body: (SharedDescriptor) throws(GrantProblem) -> Value
    ) throws(GrantProblem) -> Value? {
        guard let place else { throw problem ?? GrantProblem(errno: .noent, message: "there is no place for grants") }
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
            let reason = error == .perm ? "it belongs to somebody else, or others may write there" : error.text
            throw GrantProblem(errno: error, message: "grants in \(path): \(reason)")
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
                    // One that was put in another's place says nothing of this directory.
                    if grants.root.fileName == name { files.append(grants) } else { report(damage(name, "its name does not fit")) }
                } catch { report(damage(name, error.description)) }
            } catch { report(damage(name, error.text)) }
        }
        return files
    }

    private func damage(_ name: String, _ reason: String) -> String {
        "grants in \(path)/\(escapedName(name.utf8)) do not count: \(reason)"
    }

    /// Whole or not at all, also if the machine stops meanwhile. Where a full disk takes no second file, a shorter list is
    /// written over the longer one: what is taken back must not stay, and half a list counts for nothing.
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
        var written = 0
        while written < bytes.count {
            let outcome = bytes[written...].withUnsafeBytes { rest in
                Result { () throws(Errno) in try Syscall.write(descriptor, rest) }
            }
            written += try outcome.get()
        }
        try Syscall.fsync(descriptor)
    }
}
