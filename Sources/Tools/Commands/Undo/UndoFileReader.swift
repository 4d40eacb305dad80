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
            objection = PrivateFile.objection(file, status)
        } catch {
            switch error {
            case .loop: throw UndoProblem("a symbolic link, which is not followed")
            case .inval: throw UndoProblem("not a regular file")
            default: throw UndoProblem(error.text)
            }
        }
        if let objection { throw UndoProblem(objection) }
        var lines = UndoFileLines(file)
        guard let first = try lines.next() else { throw UndoHeader.missing }
        header = try UndoHeader(line: first)
    }

    /// Whether it has no entry.
    func isEmpty() throws(UndoProblem) -> Bool {
        var lines = UndoFileLines(file)
        _ = try lines.next()
        return try lines.next() == nil
    }

    /// Reads all entries.
    /// - Throws: the first line that is no entry.
    func extent() throws(UndoProblem) -> UndoExtent {
        var lines = UndoFileLines(file)
        _ = try lines.next()
        let start = lines.read.end
        while let line = try lines.next() { _ = try UndoEntry(line: line, number: lines.read.number) }
        return UndoExtent(start: start, end: lines.read.end, lines: lines.read.number, isCut: lines.endsCut)
    }

    /// Calls `body` with each entry, the last change first, until it returns false.
    /// - Parameter extent: of this file.
    /// - Throws: a line that is no entry any more.
    func forEachBackwards(_ extent: UndoExtent, _ body: (UndoEntry) -> Bool) throws(UndoProblem) {
        var lines = UndoFileLinesBackwards(file, extent)
        var number = extent.lines
        while let line = try lines.next() {
            if !body(try UndoEntry(line: line, number: number)) { return }
            number -= 1
        }
    }
}

/// Where the entries of an undo file are, as offsets in bytes.
struct UndoExtent {
    /// Of the first entry.
    var start: Int64
    /// After the last whole line.
    var end: Int64
    /// The number of whole lines, with the header.
    var lines: Int
    /// Whether a part of a line follows: its change was not made.
    var isCut: Bool

    var entries: Int { lines - 1 }
}

/// The entries of an open file from the last one on.
private struct UndoFileLinesBackwards {
    private let file: SharedDescriptor
    private let start: Int64
    /// Of what is held.
    private var offset: Int64
    /// Whole lines but for the beginning of the first one.
    private var held: [UInt8] = []

    init(_ file: SharedDescriptor, _ extent: UndoExtent) { (self.file, start, offset) = (file, extent.start, extent.end) }

    /// - Returns: the next line; nil before the first entry.
    mutating func next() throws(UndoProblem) -> [UInt8]? {
        while true {
            // The last byte is the line feed of the last line.
            if let feed = held.dropLast().lastIndex(of: 0x0A) { return take(from: feed + 1) }
            if offset == start { return held.isEmpty ? nil : take(from: 0) }
            do { try readPiece() } catch { throw UndoProblem(error.text) }
        }
    }

    private mutating func take(from index: Int) -> [UInt8] {
        defer { held.removeSubrange(index...) }
        return Array(held[index...].dropLast())
    }

    private mutating func readPiece() throws(Errno) {
        // Twice as much for a long line, so that its bytes are moved few times.
        let count = min(Int(clamping: offset - start), max(65_536, held.count))
        var piece = [UInt8](repeating: 0, count: count)
        var read = 0
        while read < count {
            let (descriptor, position, filled) = (file.rawValue, offset - Int64(count - read), read)
            let result = piece.withUnsafeMutableBytes { room -> Result<Int, Errno> in
                do throws(Errno) {
                    return .success(
                        try Syscall.pread(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: room[filled...]), offset: position))
                } catch { return .failure(error) }
            }
            let more = try result.get()
            // It became shorter.
            if more == 0 { throw .io }
            read += more
        }
        offset -= Int64(count)
        held = piece + held
    }
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
