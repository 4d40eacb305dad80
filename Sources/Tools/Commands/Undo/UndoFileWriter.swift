import LinuxSystem

/// A new undo file. Each change is on the disk here before it is made, so that it can be undone whatever ends the command.
///
/// Several threads may use it.
final class UndoFileWriter: Sendable {
    private let file: SharedDescriptor
    /// Held while entries are written: a line has no part of another one.
    private let turn = Lock(())
    private let status: FileStatus

    /// - Throws: the file exists, as a symlink too, cannot be made, or others could write it.
    init(_ path: [UInt8], _ header: UndoHeader) throws(UndoProblem) {
        let objection: String?
        do throws(Errno) {
            let (directory, name) = try Self.place(path)
            file = try PrivateFile.make(name, in: directory)
            status = try Syscall.statx(file.rawValue)
            objection = PrivateFile.objection(file, status)
            if objection != nil {
                try name.withCString { (name) throws(Errno) in try Syscall.unlinkat(directory.rawValue, name) }
            } else {
                try write(header.line)
                // Its name, too.
                try Syscall.fsync(directory.rawValue)
            }
        } catch {
            throw UndoProblem(error == .exist ? "exists already; name a new file, or continue it with --resume" : PrivateFile.text(error))
        }
        if let objection { throw UndoProblem(objection) }
    }

    private static func place(_ path: [UInt8]) throws(Errno) -> (directory: SharedDescriptor, name: [UInt8]) {
        let slash = UInt8(ascii: "/")
        let end = path.lastIndex(of: slash)
        let above = end.map { $0 == 0 ? [slash] : Array(path[..<$0]) } ?? [UInt8(ascii: ".")]
        let name = end.map { Array(path[($0 + 1)...]) } ?? path
        let opened = SharedDescriptor(
            rawValue: try above.withCString { (path) throws(Errno) in
                try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory).release()
            })
        return (opened, name)
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

    /// Writes lines of entries, and returns when they are on the disk.
    func append(_ lines: [UInt8]) throws(Errno) {
        var result = Result<Void, Errno>.success(())
        turn.withLock { _ in result = Result { () throws(Errno) in try write(lines) } }
        try result.get()
    }

    private func write(_ bytes: [UInt8]) throws(Errno) {
        try Syscall.writeAll(file.rawValue, bytes)
        try Syscall.fsync(file.rawValue)
    }
}
