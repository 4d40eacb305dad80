import ACLFormats
import Authorization

/// Reads what `ls -leR@O` printed on a Mac: modes, owners, groups, flags and the entries that it shows (docs/reference/authorization.md 7.2).
///
/// Such a text is made for people. A line that can mean several things is a problem and no object: a date of any language is skipped, and a
/// name with a question mark may have been another. A line feed in a name can look like a row of its own; the text cannot show that.
public struct MacListing {
    public enum Item: Sendable, Hashable {
        case object(ExportedObject)
        case problem(ExportProblem)
    }

    private let identities: ExportIdentities
    private var number = 0
    /// What the rows of a path have before the names below the top; nil until a heading states it.
    private var prefix: [UInt8]?
    /// The directory whose rows follow; nil if it is none of the listing.
    private var directory: [UInt8]? = ExportPath.top
    /// Directories with a row, and without rows of their own so far.
    private var listed: Set<[UInt8]> = []
    private var row: MacRow?
    private var isAfterBlank = true
    private var hasRows = false

    public init(_ identities: ExportIdentities) { self.identities = identities }

    /// Reads the next line.
    /// - Parameter line: without its line end.
    public mutating func read(_ line: ArraySlice<UInt8>) -> [Item] {
        number += 1
        if line.isEmpty {
            let items = takeRow()
            isAfterBlank = true
            return items
        }
        defer { isAfterBlank = false }
        if row != nil, let below = MacRow.Below(line) { return add(below, line) }
        if let parsed = MacRow(line, at: number) {
            let items = takeRow()
            hasRows = true
            guard directory != nil else { return items + [problem("below a directory that has no row above")] }
            row = parsed
            return items
        }
        if line.starts(with: "total ".utf8), line.count < 32 { return takeRow() }
        if isAfterBlank, line.last == UInt8(ascii: ":") {
            let items = takeRow()
            return items + enter(Array(line.dropLast()))
        }
        if line.starts(with: "ls: ".utf8) { return takeRow() + [problem("ls could not list: \(escapedText(line.dropFirst(4)))")] }
        // Perhaps the rest of a name with a line feed, so the row before is not certain.
        let broken = row
        row = nil
        let reason = "not understood: '\(escapedName(line.prefix(200)))'"
        guard let broken else { return [problem(reason)] }
        return [problem("\(reason); '\(escapedName(broken.name))' in line \(broken.line) may have a line feed, and is left out")]
    }

    /// Call after the last line.
    public mutating func finish() -> [Item] { takeRow() }

    // MARK: Rows

    private mutating func add(_ below: MacRow.Below, _ line: ArraySlice<UInt8>) -> [Item] {
        switch below {
        case .attribute(let name):
            row?.attributes.append(name)
            return []
        case .entry(let index):
            guard index == row?.entries.count else {
                row = nil
                return [problem("entry \(index) is not in its place; the object is left out")]
            }
            do throws(ACLTextError) { row?.entries.append(try MacRow.entry(line, identities)) } catch {
                var error = error
                error.line = 1
                row = nil
                return [problem("\(error.message); the object is left out")]
            }
            return []
        }
    }

    private mutating func takeRow() -> [Item] {
        guard let row, let directory else { return [] }
        self.row = nil
        func left(_ reason: String) -> [Item] { [.problem(ExportProblem(line: row.line, reason))] }
        if row.name.elementsEqual("..".utf8) { return [] }
        // With -a. Below the top it is the row of the directory in the one above.
        if row.name.elementsEqual(".".utf8) {
            guard directory == ExportPath.top else { return [] }
        } else if row.name.contains(UInt8(ascii: "/")) {
            return left("'\(escapedName(row.name))' is a path; list directories with -R")
        }
        if row.name.contains(UInt8(ascii: "?")) {
            return left("'\(escapedName(row.name))' may have other characters in place of '?'; the object is left out")
        }
        if row.isLinkUnclear { return left("the name and the target of a link cannot be told apart; the object is left out") }
        if row.hasList, row.entries.isEmpty {
            return left("'\(escapedName(row.name))' has entries that are not listed: use ls -leR@O; the object is left out")
        }
        let path = row.name == ExportPath.top ? row.name : Self.joined(directory, row.name)
        if let reason = ExportPath.problem(path) { return left(reason) }
        if row.kind == .directory, path != ExportPath.top { listed.insert(path) }
        do throws(MacRow.Unknown) { return [.object(try row.object(path, identities))] } catch { return left(error.reason) }
    }

    // MARK: Headings

    private mutating func enter(_ heading: [UInt8]) -> [Item] {
        let slash = UInt8(ascii: "/")
        guard let prefix else {
            // The first heading names the top, or the first directory in it.
            if !hasRows {
                self.prefix = heading
                return []
            }
            guard let end = heading.lastIndex(of: slash), listed.remove(Array(heading[(end + 1)...])) != nil else {
                directory = nil
                return [problem("'\(escapedName(heading))' has no row above")]
            }
            self.prefix = Array(heading[..<end])
            directory = Array(heading[(end + 1)...])
            return []
        }
        let start = prefix.last == slash ? prefix : prefix + [slash]
        let path = Array(heading.dropFirst(start.count))
        guard heading.starts(with: start), listed.remove(path) != nil else {
            directory = nil
            return [problem("'\(escapedName(heading))' has no row above; one listing has one directory with -R")]
        }
        directory = path
        return []
    }

    private static func joined(_ directory: [UInt8], _ name: [UInt8]) -> [UInt8] {
        directory == ExportPath.top ? name : directory + [UInt8(ascii: "/")] + name
    }

    private func problem(_ reason: String) -> Item { .problem(ExportProblem(line: number, reason)) }
}
