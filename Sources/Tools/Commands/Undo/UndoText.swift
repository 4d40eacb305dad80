import ACLFormats

/// The lines of an undo file, from pieces of it as they are read. One line is kept.
struct UndoLines {
    /// The longest line, in bytes.
    static let longest = JSONText.maximumSize

    /// What follows the line that was returned last.
    private var rest: [UInt8] = []
    /// Bytes of the rest that have no line feed.
    private var searched = 0
    /// Of the line that was returned last; 1-based.
    private(set) var number = 0
    /// The offset after the line that was returned last, in bytes.
    private(set) var end: Int64 = 0
    /// Whether a part of a line follows: its change was not made.
    var endsCut: Bool { !rest.isEmpty }

    mutating func add(_ piece: some Collection<UInt8>) { rest += piece }

    /// - Returns: the next whole line; nil: the pieces have no other one.
    /// - Throws: the line is longer than one may be.
    mutating func next() throws(UndoProblem) -> [UInt8]? {
        guard let feed = rest[searched...].firstIndex(of: 0x0A) else {
            searched = rest.count
            guard searched <= Self.longest else { throw UndoProblem("line \(number + 1): longer than \(Self.longest) bytes") }
            return nil
        }
        let line = Array(rest[..<feed])
        rest.removeSubrange(...feed)
        searched = 0
        number += 1
        end += Int64(feed) + 1
        return line
    }
}

extension UndoHeader {
    /// The line of the file, with its line feed.
    var line: [UInt8] { JSONText.write(json) + [0x0A] }

    static let missing = UndoProblem("not an undo file of aclfs")

    /// - Parameter line: the first line of a file.
    /// - Throws: it is no header.
    init(line: [UInt8]) throws(UndoProblem) {
        guard let json = try? JSONText.parse(line, limit: UndoLines.longest) else { throw Self.missing }
        try self.init(reading: json)
    }
}

extension UndoEntry {
    /// The line of the file, with its line feed.
    var line: [UInt8] { JSONText.write(json) + [0x0A] }

    /// - Parameter number: of the line.
    /// - Throws: it is no entry.
    init(line: [UInt8], number: Int) throws(UndoProblem) {
        func wrong(_ reason: String) -> UndoProblem { UndoProblem("line \(number): \(reason)") }
        let json: JSON
        do { json = try JSONText.parse(line, limit: UndoLines.longest) } catch { throw wrong(error.description) }
        do throws(UndoProblem) { try self.init(reading: json) } catch { throw wrong(error.message) }
    }
}

/// A whole undo file as bytes, understood as the commands understand it.
package struct UndoText: Hashable {
    let header: UndoHeader
    let entries: [UndoEntry]
    /// Whether a part of a line follows.
    package var endsCut: Bool

    /// - Parameter size: of the pieces in which the file is read, in bytes.
    /// - Throws: the first line that is not understood.
    package init(_ bytes: [UInt8], inPiecesOf size: Int) throws(UndoProblem) {
        var lines = UndoLines()
        var first: UndoHeader?
        var entries: [UndoEntry] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines.add(bytes[start..<min(start + size, bytes.count)])
            while let line = try lines.next() {
                if first == nil {
                    first = try UndoHeader(line: line)
                } else {
                    entries.append(try UndoEntry(line: line, number: lines.number))
                }
            }
        }
        guard let first else { throw UndoHeader.missing }
        (header, self.entries, endsCut) = (first, entries, lines.endsCut)
    }

    /// The file that the commands write for it, without a part of a line at the end.
    package var written: [UInt8] { entries.reduce(into: header.line) { $0 += $1.line } }

    /// The names of each entry's path; none for the top.
    package var names: [[[UInt8]]] { entries.map(\.names) }
}
