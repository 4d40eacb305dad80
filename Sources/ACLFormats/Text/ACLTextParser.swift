import Authorization

/// Reads entries as `chmod +a`, `-a`, `=a#` and `-E` accept them (docs/authorization.md 7.1).
///
/// It is case-sensitive and trims nothing: it refuses a permission text rather than guess.
public enum ACLTextParser {
    public static let maximumLength = 4095
    public static let maximumEntryCount = 126

    /// The entries of a text, in order; empty lines are skipped.
    ///
    /// - Throws: the first error, with its position.
    public static func parse(
        _ text: some Collection<UInt8>, names: some IdentityNames
    ) throws(ACLTextError) -> [ACE] {
        if text.count > maximumLength {
            throw ACLTextError(
                .tooLong, line: 1, column: maximumLength + 1, found: "", expected: "at most \(maximumLength) bytes")
        }
        let bytes = Array(text)
        var entries: [ACE] = []
        for (index, line) in linesOf(bytes) {
            if entries.count == maximumEntryCount {
                throw ACLTextError(
                    .tooMany, line: index, column: 1, found: escapedName(line),
                    expected: "at most \(maximumEntryCount) entries")
            }
            var reader = EntryReader(line: line, number: index, dialect: .chmod)
            entries.append(try reader.entry(names: names))
        }
        if entries.isEmpty {
            throw ACLTextError(.noName, line: 1, column: 1, found: "", expected: "an entry")
        }
        return entries
    }

    public static func parse(_ text: String, names: some IdentityNames) throws(ACLTextError) -> [ACE] {
        try parse(Array(text.utf8), names: names)
    }
}

/// The non-empty lines, with their numbers from 1.
func linesOf(_ bytes: [UInt8]) -> [(Int, ArraySlice<UInt8>)] {
    bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        .compactMap { $1.isEmpty ? nil : ($0 + 1, $1) }
}

/// Reads one entry of one line. It keeps the position for diagnostics.
struct EntryReader {
    enum Dialect {
        /// As users type it (docs/authorization.md 7.1).
        case chmod
        /// The attribute `system.aclfs.acl`: every stored bit, `inherited` before the kind.
        case attribute
    }
    let line: ArraySlice<UInt8>
    let number: Int
    let dialect: Dialect
    private var position: Int

    init(line: ArraySlice<UInt8>, number: Int, dialect: Dialect) {
        (self.line, self.number, self.dialect) = (line, number, dialect)
        position = line.startIndex
    }

    mutating func entry(names: some IdentityNames) throws(ACLTextError) -> ACE {
        let guid = try identity(names: names)
        var flagsWord: UInt32 = 0
        var kindWord = token { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ":") }
        if dialect == .attribute, kindWord.elementsEqual("inherited".utf8) {
            flagsWord |= ACEFlags.inherited.rawValue
            kindWord = token { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ":") }
        }
        flagsWord |= try kind(kindWord)
        var rights: Rights = []
        var sawWord = false
        while position <= line.endIndex {
            let word = token { $0 == UInt8(ascii: ",") }
            if word.isEmpty { continue }
            sawWord = true
            if let right = RightName.right(named: word) {
                rights.formUnion(right)
            } else if let flag = ACEFlagName.flag(named: word) {
                flagsWord |= flag.rawValue
            } else if dialect == .attribute, let right = AttributeWord.right(named: word) {
                rights.formUnion(right)
            } else if dialect == .attribute, let bits = AttributeWord.flagBits(word) {
                flagsWord |= bits
            } else {
                throw error(
                    .badWord, at: word, expected: "a right or an inheritance flag",
                    suggestion: nearestWord(to: trimmed(word), in: vocabulary))
            }
        }
        if !sawWord {
            throw error(.noWords, at: line[line.endIndex...], expected: "a right or an inheritance flag")
        }
        return ACE(guid: guid, flagsWord: flagsWord, rights: rights)
    }

    private mutating func identity(names: some IdentityNames) throws(ACLTextError) -> GUID {
        var prefix: IdentityKind?
        for kind in [IdentityKind.user, .group] where line.starts(with: "\(kind.rawValue):".utf8) {
            prefix = kind
            position += kind.rawValue.utf8.count + 1
        }
        // A colon after the prefix makes the colon the separator, so that a name can contain blanks.
        let separator = line[position...].contains(UInt8(ascii: ":")) ? UInt8(ascii: ":") : UInt8(ascii: " ")
        let name = token { $0 == separator }
        if name.isEmpty { throw error(.noName, at: name, expected: "a user, a group or a UUID") }
        if let guid = ACLFormats.identity(written: name, kind: prefix, names: names) { return guid }
        var suggestion: String?
        if prefix == nil, unsignedNumber(name.first == UInt8(ascii: "#") ? name.dropFirst() : name, radix: 10) != nil {
            suggestion = "user:\(String(decoding: name, as: UTF8.self))"
        }
        throw error(.identity, at: name, expected: "a user, a group or a UUID", suggestion: suggestion)
    }

    private func kind(_ word: ArraySlice<UInt8>) throws(ACLTextError) -> UInt32 {
        if word.elementsEqual("allow".utf8) { return ACE.Kind.allow.rawValue }
        if word.elementsEqual("deny".utf8) { return ACE.Kind.deny.rawValue }
        // Users cannot type reserved kinds, but reading and writing back must keep a stored one.
        if dialect == .attribute, let kind = prefixedHexadecimal(word), kind <= 0xF { return kind }
        if word.isEmpty { throw error(.noKind, at: word, expected: "'allow' or 'deny'") }
        throw error(
            .badKind, at: word, expected: "'allow' or 'deny'", suggestion: nearestWord(to: word, in: ["allow", "deny"]))
    }

    /// The bytes up to the next separator, which is skipped. At the end of the line the position moves one past it: no token
    /// follows, not even an empty one.
    private mutating func token(until isSeparator: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        guard position <= line.endIndex else { return line[line.endIndex...] }
        let end = line[position...].firstIndex(where: isSeparator) ?? line.endIndex
        defer { position = end + 1 }
        return line[position..<end]
    }

    private var vocabulary: [String] {
        RightName.words + ACEFlagName.all.map(\.word)
            + (dialect == .attribute ? RightName.storedOnly.map(\.directoryWord) : [])
    }

    private func trimmed(_ word: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let blank = UInt8(ascii: " ")
        guard let last = word.lastIndex(where: { $0 != blank }) else { return word }
        return word[...last].drop { $0 == blank }
    }

    private func error(
        _ code: ACLTextError.Code, at word: ArraySlice<UInt8>, expected: String, suggestion: String? = nil
    ) -> ACLTextError {
        // Continuation bytes are not characters of their own.
        let column = line[..<word.startIndex].count { $0 & 0xC0 != 0x80 } + 1
        return ACLTextError(
            code, line: number, column: column, found: escapedName(word), expected: expected, suggestion: suggestion)
    }
}
