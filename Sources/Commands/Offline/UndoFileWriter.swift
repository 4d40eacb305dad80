import ACLFormats
import LinuxSystem

/// A new undo file. Each change is on the disk here before it is made, so that it can be undone whatever ends the command.
final class UndoFileWriter {
    private let file: SharedDescriptor
    private let directory: SharedDescriptor

    /// - Throws: the file exists, as a symlink too, or cannot be made.
    init(_ path: [UInt8], _ header: UndoHeader) throws(Errno) {
        let slash = UInt8(ascii: "/")
        let end = path.lastIndex(of: slash)
        let above = end.map { $0 == 0 ? [slash] : Array(path[..<$0]) } ?? [UInt8(ascii: ".")]
        let name = end.map { Array(path[($0 + 1)...]) } ?? path
        directory = SharedDescriptor(
            rawValue: try above.withCString { (path) throws(Errno) in
                try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory).release()
            })
        let directory = directory.rawValue
        file = SharedDescriptor(
            rawValue: try name.withCString { (name) throws(Errno) in
                try Syscall.openat(
                    directory, name, OpenFlag.writeOnly | OpenFlag.create | OpenFlag.exclusive | OpenFlag.noFollow, mode: 0o600
                ).release()
            })
        try append(JSONText.write(header.json) + [0x0A])
    }

    /// Writes entries, and returns when they are on the disk.
    func append(_ entries: [UndoEntry]) throws(Errno) {
        try append(entries.flatMap { JSONText.write($0.json) + [0x0A] })
    }

    private func append(_ bytes: [UInt8]) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let (start, descriptor) = (written, file.rawValue)
            let result = bytes.withUnsafeBytes { buffer -> Result<Int, Errno> in
                do throws(Errno) {
                    return .success(try Syscall.write(descriptor, UnsafeRawBufferPointer(rebasing: buffer[start...])))
                } catch { return .failure(error) }
            }
            let count = try result.get()
            if count == 0 { throw .io }
            written += count
        }
        try Syscall.fsync(file.rawValue)
        // Its name, too.
        try Syscall.fsync(directory.rawValue)
    }
}
