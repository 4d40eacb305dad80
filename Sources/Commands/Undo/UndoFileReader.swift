import ACLFormats
import Glibc
import LinuxSystem

/// An undo file. It may be any file: nothing in it is believed before it is examined.
struct UndoFileReader {
    let file: SharedDescriptor
    let header: UndoHeader

    /// - Throws: it cannot be read, another user could have written it, or it has no header.
    init(_ path: [UInt8]) throws(UndoProblem) {
        do throws(Errno) {
            file = SharedDescriptor(
                rawValue: try path.withCString { (path) throws(Errno) in
                    try Syscall.open(path, OpenFlag.readOnly | OpenFlag.noFollow | OpenFlag.nonBlock).release()
                })
            let status = try Syscall.statx(file.rawValue)
            guard status.isRegular else { throw .inval }
            guard PrivateFile.isClosed(file, status) else { throw .perm }
        } catch {
            switch error {
            case .loop: throw UndoProblem("a symbolic link, which is not followed")
            case .inval: throw UndoProblem("no regular file")
            case .perm:
                throw UndoProblem(
                    "another user could have written it; it must be this user's or root's, and closed to others by its mode and entries")
            default: throw UndoProblem(error.text)
            }
        }
        var lines = UndoLines(file)
        guard let first = try lines.next() else { throw UndoProblem("no undo file of aclfs") }
        do { header = try UndoHeader(reading: try JSONText.parse(first)) } catch let problem as UndoProblem { throw problem } catch {
            throw UndoProblem("no undo file of aclfs")
        }
    }

    /// Calls `body` with each entry, in the order of the changes, until it returns false.
    /// - Returns: where the last whole line ends.
    /// - Throws: the first line that is no entry.
    @discardableResult
    func forEach(_ body: (UndoEntry) -> Bool) throws(UndoProblem) -> UndoEnd {
        var lines = UndoLines(file)
        _ = try lines.next()
        while let line = try lines.next() {
            let entry: UndoEntry
            do { entry = try UndoEntry(reading: try JSONText.parse(line)) } catch {
                let reason = (error as? UndoProblem)?.message ?? (error as? JSONError)?.description ?? "not understood"
                throw UndoProblem("line \(lines.number): \(reason)")
            }
            if !body(entry) { break }
        }
        return UndoEnd(isCut: lines.endsCut, offset: lines.end)
    }
}

/// The end of an undo file.
struct UndoEnd {
    /// Whether a part of a line follows: its change was not made.
    var isCut: Bool
    /// Of the last whole line, in bytes.
    var offset: Int64
}

/// The lines of an open file, of which one is kept.
private struct UndoLines {
    private let file: SharedDescriptor
    private var offset: Int64 = 0
    private var buffer: [UInt8] = []
    private var isAtEnd = false
    /// Of the line that was returned last.
    private(set) var number = 0
    /// Whether the file ends without a line feed.
    private(set) var endsCut = false
    /// The offset after the line that was returned last.
    var end: Int64 { offset - Int64(buffer.count) }

    init(_ file: SharedDescriptor) { self.file = file }

    /// - Returns: the next whole line; nil at the end.
    mutating func next() throws(UndoProblem) -> [UInt8]? {
        var searched = 0
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                let line = Array(buffer[..<end])
                buffer.removeSubrange(...end)
                number += 1
                return line
            }
            searched = buffer.count
            if isAtEnd {
                endsCut = !buffer.isEmpty
                return nil
            }
            guard buffer.count <= JSONText.maximumSize else {
                throw UndoProblem("line \(number + 1): longer than \(JSONText.maximumSize) bytes")
            }
            do { try read() } catch { throw UndoProblem(error.text) }
        }
    }

    private mutating func read() throws(Errno) {
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
        buffer += piece[..<count]
    }
}
