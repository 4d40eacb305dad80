import BackingStore
import LinuxSystem

/// The system calls of `aclfs backup` beyond those of all commands.
package protocol BackupFiles: ToolFiles {
    associatedtype Listing: NameListing
    /// - Returns: the present path of an open object.
    func absolutePath(of node: Node) throws(Errno) -> [UInt8]
    /// - Parameter position: of an earlier listing of the directory; 0 for the beginning.
    func listing(of directory: Node, from position: Int64) throws(Errno) -> Listing
    /// - Returns: the value of an attribute in a backing directory, also of the caller's own object without read permission; nil if there is
    ///   none.
    func stored(_ name: String, of node: Node) throws(Errno) -> [UInt8]?
}

/// The names of a directory in the order of the file system.
package protocol NameListing: AnyObject {
    /// After the last name. It is valid in a later listing of the directory.
    var position: Int64 { get }
    /// `nil` at the end.
    func next() throws(Errno) -> [UInt8]?
}

extension LinuxFiles: BackupFiles {
    package func absolutePath(of node: SharedDescriptor) throws(Errno) -> [UInt8] {
        let path = try linkTarget(of: open(Array("/proc/self/fd/\(node.rawValue)".utf8), followsLink: false))
        let mark = Array(" (deleted)".utf8)
        guard path.suffix(mark.count).elementsEqual(mark) else { return path }
        // A look-up that is refused to another user makes the kernel forget the name of a directory, which is there all the same.
        let present = Array(path.dropLast(mark.count))
        guard let found = try? open(present, followsLink: false), let there = try? Syscall.statx(found.rawValue) else { return path }
        let status = try Syscall.statx(node.rawValue)
        return (there.device, there.inode) == (status.device, status.inode) ? present : path
    }

    package func stored(_ name: String, of node: SharedDescriptor) throws(Errno) -> [UInt8]? {
        do throws(Errno) { return try OwnersAccess().value(name, of: node.rawValue) } catch {
            if error == .nodata { return nil }
            throw error
        }
    }

    package func listing(of directory: SharedDescriptor, from position: Int64) throws(Errno) -> DirectoryListing {
        try DirectoryListing(directory.rawValue, from: position)
    }
}

/// A listing by getdents64(2).
package final class DirectoryListing: NameListing {
    private let descriptor: SharedDescriptor
    /// Names that were read and not returned yet, the next one last.
    private var names: [(name: [UInt8], type: UInt8, end: Int64)] = []
    package private(set) var position: Int64

    init(_ directory: Int32, from position: Int64) throws(Errno) {
        descriptor = SharedDescriptor(try Syscall.reopen(directory, OpenFlag.readOnly | OpenFlag.directory))
        self.position = position
        if position != 0 { try Syscall.lseek(descriptor.rawValue, offset: position, whence: Seek.set) }
    }

    package func next() throws(Errno) -> [UInt8]? { try nextEntry()?.name }

    /// - Returns: the next name with the type that getdents64(2) gives, which is 0 if the file system does not say; `nil` at the end.
    func nextEntry() throws(Errno) -> (name: [UInt8], type: UInt8)? {
        if names.isEmpty { try read() }
        guard let entry = names.popLast() else { return nil }
        position = entry.end
        return (entry.name, entry.type)
    }

    /// Reads until there is a name, or the end.
    private func read() throws(Errno) {
        // Small, because each level of the tree may have one.
        var buffer = [UInt8](repeating: 0, count: 8192)
        while names.isEmpty {
            let count = try buffer.withUnsafeMutableBufferPointer { (buffer) throws(Errno) in
                try Syscall.getdents(descriptor.rawValue, into: UnsafeMutableRawBufferPointer(buffer))
            }
            if count == 0 { return }
            buffer.withUnsafeBytes { bytes in
                for entry in DirectoryEntries(UnsafeRawBufferPointer(rebasing: bytes[..<count])) where !entry.isDot {
                    names.append((entry.bytes, entry.type, entry.nextOffset))
                }
            }
            names.reverse()
        }
    }
}
