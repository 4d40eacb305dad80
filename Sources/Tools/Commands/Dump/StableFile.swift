import ACLFormats
import LinuxSystem

/// A file that is read twice: examined first, then used. Between the two no other user may change it, so a file that others could write is
/// copied.
struct StableFile {
    let name: String
    private let file: SharedDescriptor

    /// Of a copy, which is in memory.
    private static let largestCopy = 1 << 28

    /// - Parameter path: `-` is standard input.
    init(_ path: [UInt8]) throws(CommandFailure) {
        name = FileSource.shownName(path)
        let opened = try FileSource.open(path)
        do throws(Errno) {
            let status = try Syscall.statx(opened.rawValue)
            if status.isDirectory { throw .isdir }
            if status.isRegular, PrivateFile.objection(opened, status) == nil {
                file = opened
                return
            }
            file = try Self.copy(opened)
        } catch {
            throw CommandFailure(
                error == .fbig
                    ? "\(name): others could change it, and it is too large to be copied first; copy it to a file of your own"
                    : "\(name): \(error.text)")
        }
    }

    /// A descriptor at the beginning of the file.
    func open() throws(CommandFailure) -> SharedDescriptor {
        do { return SharedDescriptor(try Syscall.reopen(file.rawValue, OpenFlag.readOnly)) } catch {
            throw CommandFailure("\(name): \(error.text)")
        }
    }

    private static func copy(_ source: SharedDescriptor) throws(Errno) -> SharedDescriptor {
        let copy = try Syscall.memoryFile("aclfs-export")
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        var size: Int64 = 0
        while true {
            let count = try piece.withUnsafeMutableBytes { room in
                Result { () throws(Errno) in try Syscall.read(source.rawValue, into: room) }
            }.get()
            if count == 0 { return copy }
            if size + Int64(count) > Int64(largestCopy) { throw .fbig }
            var written = 0
            while written < count {
                written += try piece.withUnsafeBytes { bytes in
                    Result { () throws(Errno) in
                        try Syscall.pwrite(
                            copy.rawValue, UnsafeRawBufferPointer(rebasing: bytes[written..<count]), offset: size + Int64(written))
                    }
                }.get()
            }
            size += Int64(count)
        }
    }
}
