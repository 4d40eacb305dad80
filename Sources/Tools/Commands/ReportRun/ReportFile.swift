import ACLFormats
import Glibc
import LinuxSystem

/// The file that a report is written to. It appears when it is complete; before that there is only a hidden file beside it.
struct ReportFile {
    private let path: [UInt8]
    private let directory: SharedDescriptor
    private let name: [UInt8]
    private let replaces: Bool

    /// - Parameters:
    ///   - path: the file.
    ///   - replaces: whether it may replace a regular file of that name.
    /// - Throws: why it cannot be made.
    init(_ path: [UInt8], replaces: Bool) throws(CommandFailure) {
        (self.path, self.replaces) = (path, replaces)
        let slash = UInt8(ascii: "/")
        let end = path.lastIndex(of: slash)
        let above = end.map { $0 == 0 ? [slash] : Array(path[..<$0]) } ?? [UInt8(ascii: ".")]
        name = end.map { Array(path[($0 + 1)...]) } ?? path
        let shown = escapedName(path)
        if name.isEmpty { throw CommandFailure("\(shown): the name of a file is missing") }
        do throws(Errno) {
            directory = SharedDescriptor(
                rawValue: try above.withCString { (path) throws(Errno) in
                    try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory).release()
                })
        } catch { throw CommandFailure("\(shown): \(error.text)") }
        guard let present = try? LinuxFiles().open(name, in: directory, followsLink: false) else { return }
        if !replaces { throw CommandFailure("\(shown): exists already; --force replaces it") }
        guard let status = try? Syscall.statx(present.rawValue), status.isRegular else {
            throw CommandFailure("\(shown): only a regular file is replaced")
        }
    }

    /// Writes the file, which only its owner may read: it says who may do what.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        let hidden = Array(".aclfs-report.\(getpid())".utf8)
        do throws(Errno) {
            let place = directory.rawValue
            let file = try PrivateFile.make(hidden, in: directory)
            do throws(Errno) {
                try Syscall.writeAll(file.rawValue, bytes)
                try Syscall.fsync(file.rawValue)
                try rename(hidden)
            } catch {
                try? hidden.withCString { (name) throws(Errno) in try Syscall.unlinkat(place, name) }
                throw error
            }
        } catch {
            throw CommandFailure(
                "\(escapedName(path)): \(error == .exist ? "exists already; --force replaces it" : PrivateFile.text(error))")
        }
    }

    private func rename(_ hidden: [UInt8]) throws(Errno) {
        let (place, name, replaces) = (directory.rawValue, name, replaces)
        try hidden.withCString { (old) throws(Errno) in
            try name.withCString { (new) throws(Errno) in
                if replaces { return try Syscall.renameat2(place, old, to: place, new) }
                do throws(Errno) { try Syscall.renameat2(place, old, to: place, new, flags: RenameFlag.noReplace) } catch {
                    // Not every file system can rename without replacing; each can refuse a second name.
                    guard error == .inval else { throw error }
                    try Syscall.linkat(place, old, to: place, new)
                    try Syscall.unlinkat(place, old)
                }
            }
        }
    }
}
