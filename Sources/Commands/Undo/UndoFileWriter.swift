import ACLFormats
import LinuxSystem

/// A new undo file. Each change is on the disk here before it is made, so that it can be undone whatever ends the command.
///
/// Several threads may use it.
final class UndoFileWriter: Sendable {
    private let file: SharedDescriptor
    /// Held while entries are written: a line has no part of another one.
    private let turn = Lock(())
    private let status: FileStatus

    /// - Throws: the file exists, as a symlink too, or cannot be made (`PrivateFile.text`).
    init(_ path: [UInt8], _ header: UndoHeader) throws(Errno) {
        let slash = UInt8(ascii: "/")
        let end = path.lastIndex(of: slash)
        let above = end.map { $0 == 0 ? [slash] : Array(path[..<$0]) } ?? [UInt8(ascii: ".")]
        let name = end.map { Array(path[($0 + 1)...]) } ?? path
        let opened = SharedDescriptor(
            rawValue: try above.withCString { (path) throws(Errno) in
                try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory).release()
            })
        file = try PrivateFile.make(name, in: opened)
        status = try Syscall.statx(file.rawValue)
        try write(JSONText.write(header.json) + [0x0A])
        // Its name, too.
        try Syscall.fsync(opened.rawValue)
    }

    /// Goes on with an undo file that an interrupted command left, after its last whole line.
    /// - Parameter reader: the file, all of whose lines were read.
    init(continuing reader: UndoFileReader, end: Int64) throws(Errno) {
        file = SharedDescriptor(try Syscall.reopen(reader.file.rawValue, OpenFlag.writeOnly | OpenFlag.append))
        try Syscall.ftruncate(file.rawValue, size: end)
        status = try Syscall.statx(file.rawValue)
    }

    /// Whether an object is the undo file itself.
    func isAt(_ status: FileStatus) -> Bool {
        status.device == self.status.device && status.inode == self.status.inode
    }

    /// Writes entries, and returns when they are on the disk.
    func append(_ entries: [UndoEntry]) throws(Errno) {
        let bytes = entries.reduce(into: []) { $0 += JSONText.write($1.json) + [0x0A] }
        var result = Result<Void, Errno>.success(())
        turn.withLock { _ in result = Result { () throws(Errno) in try write(bytes) } }
        try result.get()
    }

    private func write(_ bytes: [UInt8]) throws(Errno) {
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
    }
}
