import Glibc
import LinuxSystem

/// An undo file. It may be any file: nothing in it is believed before it is examined.
struct UndoFileReader {
    let file: SharedDescriptor
    let header: UndoHeader

    /// - Throws: it cannot be read, another user could have written it, or it has no header.
    init(_ path: [UInt8]) throws(UndoProblem) {
        let objection: String?
        do throws(Errno) {
            file = SharedDescriptor(
                rawValue: try path.withCString { (path) throws(Errno) in
                    try Syscall.open(path, OpenFlag.readOnly | OpenFlag.noFollow | OpenFlag.nonBlock).release()
                })
            let status = try Syscall.statx(file.rawValue)
            guard status.isRegular else { throw .inval }
            objection = OwnFile.objection(file, status)
        } catch {
            switch error {
            case .loop: throw UndoProblem("a symbolic link, which is not followed")
            case .inval: throw UndoProblem("no regular file")
            default: throw UndoProblem(error.text)
            }
        }
        if let objection { throw UndoProblem(objection) }
        var lines = UndoFileLines(file)
        guard let first = try lines.next() else { throw UndoHeader.missing }
        header = try UndoHeader(line: first)
    }

    /// Calls `body` with each entry, in the order of the changes, until it returns false.
    /// - Returns: where the last whole line ends.
    /// - Throws: the first line that is no entry.
    @discardableResult
    func forEach(_ body: (UndoEntry) -> Bool) throws(UndoProblem) -> UndoEnd {
        var lines = UndoFileLines(file)
        _ = try lines.next()
        while let line = try lines.next() {
            if !body(try UndoEntry(line: line, number: lines.read.number)) { break }
        }
        return UndoEnd(isCut: lines.endsCut, offset: lines.read.end)
    }
}

/// The end of an undo file.
struct UndoEnd {
    /// Whether a part of a line follows: its change was not made.
    var isCut: Bool
    /// Of the last whole line, in bytes.
    var offset: Int64
}

/// The lines of an open file.
private struct UndoFileLines {
    private let file: SharedDescriptor
    private var offset: Int64 = 0
    private var isAtEnd = false
    private(set) var read = UndoLines()
    /// Whether the file ends without a line feed.
    var endsCut: Bool { isAtEnd && read.endsCut }

    init(_ file: SharedDescriptor) { self.file = file }

    /// - Returns: the next whole line; nil at the end.
    mutating func next() throws(UndoProblem) -> [UInt8]? {
        while true {
            if let line = try read.next() { return line }
            if isAtEnd { return nil }
            do { try readPiece() } catch { throw UndoProblem(error.text) }
        }
    }

    private mutating func readPiece() throws(Errno) {
        var piece = [UInt8](repeating: 0, count: 65_536)
        let (descriptor, position) = (file.rawValue, offset)
        let result = piece.withUnsafeMutableBytes { room -> Result<Int, Errno> in
            do throws(Errno) {
                return .success(try Syscall.pread(descriptor, into: room, offset: position))
            } catch { return .failure(error) }
        }
        let count = try result.get()
        isAtEnd = count == 0
        offset += Int64(count)
        read.add(piece[..<count])
    }
}
