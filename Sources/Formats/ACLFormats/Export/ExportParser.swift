import Authorization

/// Reads an export, line by line, in either form. The file may be any bytes: nothing in it is believed before it is examined, and memory
/// does not depend on its size.
public struct ExportParser {
    /// Of a line, in bytes: a path in Base64 and a full list.
    public static let longestLine = 1 << 20

    public let identities: ExportIdentities
    /// Set when the first object is read.
    public private(set) var header: ExportHeader?
    private var form: ExportForm?
    private var lines = ExportLines()
    /// Of the line that is read.
    private var number = 0
    private var count: Int64 = 0
    private var last: [UInt8]?
    private var hasEnded = false

    public init(_ identities: ExportIdentities) { self.identities = identities }

    /// Whether a file begins as an export does.
    /// - Parameter line: its first line.
    public static func begins(_ line: some Collection<UInt8>) -> Bool {
        line.first == UInt8(ascii: "{") || line.starts(with: "# \(ExportWord.aclfs.rawValue): \(ExportWord.export)".utf8)
    }

    /// Reads the next line.
    /// - Parameter line: without its line end.
    /// - Returns: the element that ends here, if one does.
    public mutating func read(_ line: ArraySlice<UInt8>) throws(ExportProblem) -> ExportItem? {
        number += 1
        let item: (ExportItem, line: Int)?
        if line.count > Self.longestLine { throw problem("longer than \(Self.longestLine) bytes") }
        switch form {
        case .text: item = try readText(line)
        case .json: item = try readJSON(line)
        case nil:
            guard Self.begins(line) else {
                throw problem(
                    "not an aclfs export, which begins with '# aclfs: export \(ExportHeader.version)' or {\"aclfs\":\"export\" as JSON")
            }
            form = line.first == UInt8(ascii: "{") ? .json : .text
            item = form == .json ? try readJSON(line) : try readText(line)
        }
        return try item.map { (item) throws(ExportProblem) in try checked(item.0, line: item.line) }
    }

    /// Call after the last line.
    /// - Throws: the file was cut.
    public func finish() throws(ExportProblem) {
        if hasEnded { return }
        throw ExportProblem(line: number + 1, "the file was truncated: the line with the number of objects is missing at its end")
    }

    // MARK: The text form

    private mutating func readText(_ line: ArraySlice<UInt8>) throws(ExportProblem) -> (ExportItem, line: Int)? {
        if line.isEmpty { return try takeDraft() }
        // A note of the user.
        if line.starts(with: "##".utf8) { return nil }
        if hasEnded { throw problem("unexpected text after the end") }
        guard line.first == UInt8(ascii: "#") else {
            guard lines.hasBegun else { throw problem("'\(shown(line))' belongs to no object: '# file:' is missing") }
            try lines.addEntry(line, at: number)
            return nil
        }
        let (word, value) = try field(line)
        switch word {
        case .aclfs, .source, .order, .entries:
            if lines.hasBegun || count > 0 { throw problem("'# \(word.rawValue):' stands before all objects") }
            try takeHeader(word, value)
            return nil
        case .name:
            let item = try takeDraft()
            try takeName(value)
            return item
        case .file, .unread:
            let item = try takeDraft()
            try requireHeader()
            lines.begin(path: unescapedName(value), isUnread: word == .unread, at: number)
            return item
        case .end:
            let item = try takeDraft()
            // The object that ends here counts.
            try takeEnd(unsignedNumber(value, radix: 10).map { Int64($0) }, counting: item == nil ? 0 : 1)
            return item
        case .kind, .owner, .group, .mode, .flags, .backup, .acl, .reason:
            guard lines.hasBegun else { throw problem("'# \(word.rawValue):' belongs to no object: '# file:' is missing") }
            try lines.add(word, Array(value), at: number)
            return nil
        case .version, .uuid, .path: throw unknown(word.rawValue.utf8)
        }
    }

    private mutating func takeDraft() throws(ExportProblem) -> (ExportItem, line: Int)? {
        guard lines.hasBegun else { return nil }
        let line = lines.number
        return (try lines.take(identities), line)
    }

    /// A line `# WORD: VALUE`.
    private func field(_ line: ArraySlice<UInt8>) throws(ExportProblem) -> (ExportWord, ArraySlice<UInt8>) {
        let rest = line.dropFirst(2)
        guard line.starts(with: "# ".utf8), let colon = rest.firstIndex(of: UInt8(ascii: ":")) else {
            throw problem("'\(shown(line))' is not of the form '# WORD: VALUE'; a note begins with '##'")
        }
        guard let word = ExportWord.allCases.first(where: { $0.rawValue.utf8.elementsEqual(rest[..<colon]) }) else {
            throw unknown(rest[..<colon])
        }
        let value = rest[(colon + 1)...]
        guard value.isEmpty || value.first == UInt8(ascii: " ") else { throw problem("a space belongs after '# \(word.rawValue):'") }
        return (word, value.dropFirst())
    }

    private func unknown(_ word: some Collection<UInt8>) -> ExportProblem {
        let words: [ExportWord] = [
            .file, .kind, .owner, .group, .mode, .flags, .backup, .acl, .name, .unread, .reason, .source, .order, .entries, .end,
        ]
        let near = nearestWord(to: word, in: words.map(\.rawValue))
        return problem("'\(shown(word))' is not an export word" + (near.map { "; did you mean '\($0)'?" } ?? "; a note begins with '##'"))
    }

    // MARK: Lines of JSON

    private mutating func readJSON(_ line: ArraySlice<UInt8>) throws(ExportProblem) -> (ExportItem, line: Int)? {
        if line.isEmpty { return nil }
        if hasEnded { throw problem("unexpected text after the end") }
        let json: JSON
        do { json = try JSONText.parse(Array(line), limit: Self.longestLine) } catch { throw problem(error.description) }
        guard case .object(let members) = json else { throw problem("not a JSON object") }
        let kind = ExportJSON(members)
        switch try kind.form(at: number) {
        case .header:
            try takeHeader(.aclfs, Array(kind.headerText.utf8)[...])
            if json[ExportWord.source.rawValue] != nil || json["\(ExportWord.source.rawValue)_b64"] != nil {
                guard let source = json.path(ExportWord.source.rawValue) else { throw problem("'source' is not a path") }
                header?.source = source
            }
            for word in [ExportWord.order, .entries] {
                if let value = json[word.rawValue] { try takeHeader(word, Array((value.string ?? "").utf8)[...]) }
            }
            return nil
        case .name:
            try takeName(Array("\(json[ExportWord.name.rawValue]?.string ?? "") \(json[ExportWord.uuid.rawValue]?.string ?? "")".utf8)[...])
            return nil
        case .object, .unread:
            try requireHeader()
            return (try kind.item(identities, at: number), number)
        case .end:
            try takeEnd(json[ExportWord.end.rawValue]?.integer)
            return nil
        }
    }

    // MARK: What both have

    private mutating func takeHeader(_ word: ExportWord, _ value: ArraySlice<UInt8>) throws(ExportProblem) {
        switch word {
        case .aclfs:
            let words = value.split(separator: UInt8(ascii: " "))
            guard header == nil, words.count == 2, words[0].elementsEqual(ExportWord.export.utf8),
                let version = unsignedNumber(words[1], radix: 10)
            else { throw problem("'\(shown(value))' is not '\(ExportWord.export) \(ExportHeader.version)'") }
            guard Int64(version) == ExportHeader.version else {
                throw problem("an export of version \(version); this aclfs reads version \(ExportHeader.version)")
            }
            header = ExportHeader(source: nil, isOrdered: false)
        case .order:
            guard value.elementsEqual(ExportWord.bytes.utf8) else {
                throw problem("the order '\(shown(value))' is not '\(ExportWord.bytes)'")
            }
            header?.isOrdered = true
        case .entries:
            guard value.elementsEqual(ExportWord.shown.utf8) else { throw problem("'\(shown(value))' is not '\(ExportWord.shown)'") }
            header?.isAsShown = true
        default: header?.source = unescapedName(value)
        }
    }

    private func requireHeader() throws(ExportProblem) { if header == nil { throw problem("the first line of an export is missing") } }

    /// `user:alice UUID`; the name may contain blanks.
    private func takeName(_ value: ArraySlice<UInt8>) throws(ExportProblem) {
        guard let blank = value.lastIndex(of: UInt8(ascii: " ")), let identity = GUID(uuidText: value[(blank + 1)...]) else {
            throw problem("'\(shown(value))' does not end in a UUID")
        }
        for kind in [IdentityKind.user, .group] where value.starts(with: "\(kind.rawValue):".utf8) {
            let bytes = unescapedName(value[..<blank].dropFirst(kind.rawValue.utf8.count + 1))
            guard let name = String(validating: bytes, as: UTF8.self) else { throw problem("'\(shown(value))' is not UTF-8 text") }
            if let reason = identities.state(IdentityName(kind, name), identity) { throw problem(reason) }
            return
        }
        throw problem("'\(shown(value))' begins with neither 'user:' nor 'group:'")
    }

    private mutating func takeEnd(_ stated: Int64?, counting more: Int64 = 0) throws(ExportProblem) {
        try requireHeader()
        guard stated == count + more else {
            throw problem("the end states \(stated.map(String.init) ?? "no number of") objects, and there are \(count + more)")
        }
        hasEnded = true
    }

    private mutating func checked(_ item: ExportItem, line: Int) throws(ExportProblem) -> ExportItem {
        let path = item.path
        if let reason = ExportPath.problem(path) { throw ExportProblem(line: line, reason) }
        if header?.isOrdered == true, case .object = item {
            if let last, !ExportPath.precedes(last, path) {
                throw ExportProblem(line: line, "'\(shown(path))' is not in its order, or appears twice")
            }
            last = path
        }
        count += 1
        return item
    }

    private func shown(_ bytes: some Collection<UInt8>) -> String { escapedName(bytes.prefix(200)) }
    private func problem(_ reason: String) -> ExportProblem { ExportProblem(line: number, reason) }
}
