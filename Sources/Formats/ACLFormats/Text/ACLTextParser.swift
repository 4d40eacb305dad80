import Authorization

/// Reads entries as `chmod +a`, `-a`, `=a#` and `-E` accept them (docs/reference/authorization.md 7.1).
///
/// It is case-sensitive and trims nothing: it refuses a permission text rather than guess. A line of `ls -le` is accepted as it is,
/// with its position and with `inherited` before the kind.
public enum ACLTextParser {
    public static let maximumLength = 4095
    public static let maximumEntryCount = 126

    /// The entries of a text, in order; empty lines are skipped.
    ///
    /// - Parameters:
    ///   - text: one entry a line.
    ///   - names: gives identities to names.
    ///   - isDirectory: whether sets such as `full_control` have the rights of directories.
    /// - Throws: the first error, with its position.
    public static func parse(
        _ text: some Collection<UInt8>, names: some IdentityNames, isDirectory: Bool = true
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
            var reader = EntryReader(line: line, number: index, dialect: .chmod, isDirectory: isDirectory)
            entries.append(try reader.entry(names: names))
        }
        if entries.isEmpty {
            throw ACLTextError(.noName, line: 1, column: 1, found: "", expected: "an entry")
        }
        return entries
    }

    /// As above, of text.
    public static func parse(_ text: String, names: some IdentityNames, isDirectory: Bool = true) throws(ACLTextError) -> [ACE] {
        try parse(Array(text.utf8), names: names, isDirectory: isDirectory)
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
        /// docs/reference/authorization.md 7.1.
        case chmod
        /// The attribute `system.aclfs.acl`, which has words for every stored bit as well (docs/reference/authorization.md 7.3).
        case attribute
    }
    let line: ArraySlice<UInt8>
    let number: Int
    private let isDirectory: Bool
    private let isTyped: Bool
    private var position: Int
    /// Whether the line began with a position, as `ls -le` prints it.
    private var isNumbered = false

    /// - Parameter isDirectory: whether sets such as `full_control` have the rights of directories.
    init(line: ArraySlice<UInt8>, number: Int, dialect: Dialect, isDirectory: Bool) {
        (self.line, self.number, self.isDirectory, isTyped) = (line, number, isDirectory, dialect == .chmod)
        position = line.startIndex
    }

    mutating func entry(names: some IdentityNames) throws(ACLTextError) -> ACE {
        skipPosition()
        let guid = try identity(names: names)
        var flagsWord: UInt32 = 0
        var kindWord = token { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ":") }
        if kindWord.spells("inherited") {
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
            } else if let set = RightSet.set(named: word) {
                rights.formUnion(set.rights(isDirectory: isDirectory))
            } else if !isTyped, let right = AttributeWord.right(named: word) {
                rights.formUnion(right)
            } else if !isTyped, let bits = AttributeWord.flagBits(word) {
                flagsWord |= bits
            } else {
                throw error(
                    .badWord, at: word, expected: "a right or an inheritance flag",
                    suggestion: isSeveral(word) ? nil : nearestWord(to: trimmed(word), in: vocabulary))
            }
        }
        if !sawWord {
            throw error(.noWords, at: line[line.endIndex...], expected: "a right or an inheritance flag")
        }
        return ACE(guid: guid, flagsWord: flagsWord, rights: rights)
    }

    /// Skips blanks, digits, a colon and a blank: no other valid entry begins like this.
    private mutating func skipPosition() {
        let digits = line.drop { $0 == UInt8(ascii: " ") }
        let rest = digits.drop { hexadecimalDigit($0).map { $0 < 10 } ?? false }
        guard rest.startIndex > digits.startIndex, rest.starts(with: ": ".utf8) else { return }
        (position, isNumbered) = (rest.startIndex + 2, true)
    }

    /// The end of the name in a line of `ls -le`. The name may contain blanks there, and what follows it contains none.
    private var endOfListedName: Int? {
        let blank = UInt8(ascii: " ")
        let listed = line[position...]
        guard isNumbered, let words = listed.lastIndex(of: blank), let kind = listed[..<words].lastIndex(of: blank),
            ["allow", "deny"].contains(where: { listed[(kind + 1)..<words].elementsEqual($0.utf8) })
        else { return nil }
        guard let flag = listed[..<kind].lastIndex(of: blank), listed[(flag + 1)..<kind].elementsEqual("inherited".utf8) else {
            return kind
        }
        return flag
    }

    private mutating func identity(names: some IdentityNames) throws(ACLTextError) -> GUID {
        var prefix: IdentityKind?
        let start = position
        for kind in [IdentityKind.user, .group] where line[start...].starts(with: "\(kind.rawValue):".utf8) {
            prefix = kind
            position = start + kind.rawValue.utf8.count + 1
        }
        // A colon after the prefix makes the colon the separator, so that a name can contain blanks.
        let separator = line[position...].contains(UInt8(ascii: ":")) ? UInt8(ascii: ":") : UInt8(ascii: " ")
        let name: ArraySlice<UInt8>
        if let end = endOfListedName {
            name = line[position..<end]
            position = end + 1
        } else {
            name = token { $0 == separator }
        }
        if name.isEmpty { throw error(.noName, at: name, expected: "a user, a group or a UUID") }
        if prefix == nil, let guid = GUID(nfsWord: name) { return guid }
        if let guid = ACLFormats.identity(written: name, kind: prefix, names: names) { return guid }
        throw error(
            .identity, at: name, expected: "\(prefix.map { "a \($0.rawValue)" } ?? "a user, a group") or a UUID",
            suggestion: prefix == nil ? meantIdentity(name) : nil, identityKind: prefix)
    }

    /// The identity that a number without a prefix, or a word of NFSv4, probably meant. Never root's: a slip must not lead to more than was
    /// typed.
    private func meantIdentity(_ name: ArraySlice<UInt8>) -> String? {
        if name.last == UInt8(ascii: "@") { return nearestWord(to: name, in: GUID.nfsWords.map(\.word)) }
        let number = unsignedNumber(name.first == UInt8(ascii: "#") ? name.dropFirst() : name, radix: 10)
        let rest = line[min(position, line.endIndex)...]
        guard let number, number != 0, rest.starts(with: "allow".utf8) || rest.starts(with: "deny".utf8) else { return nil }
        return "user:\(String(decoding: name, as: UTF8.self))"
    }

    private func kind(_ word: ArraySlice<UInt8>) throws(ACLTextError) -> UInt32 {
        if word.spells("allow") { return ACE.Kind.allow.rawValue }
        if word.spells("deny") { return ACE.Kind.deny.rawValue }
        // Users cannot type reserved kinds, but reading and writing back must keep a stored one.
        if !isTyped, let kind = prefixedHexadecimal(word), kind <= 0xF { return kind }
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
        RightName.words + ACEFlagName.all.map(\.word) + RightSet.all.map(\.word)
            + (isTyped ? [] : RightName.storedOnly.map(\.directoryWord))
    }

    /// Whether the text between two commas seems to be several words.
    private func isSeveral(_ word: ArraySlice<UInt8>) -> Bool {
        trimmed(word).contains { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ";") }
    }

    private func trimmed(_ word: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let blank = UInt8(ascii: " ")
        guard let last = word.lastIndex(where: { $0 != blank }) else { return word }
        return word[...last].drop { $0 == blank }
    }

    private func error(
        _ code: ACLTextError.Code, at word: ArraySlice<UInt8>, expected: String, suggestion: String? = nil,
        identityKind: IdentityKind? = nil
    ) -> ACLTextError {
        // Continuation bytes are not characters of their own.
        let column = line[..<word.startIndex].count { $0 & 0xC0 != 0x80 } + 1
        return ACLTextError(
            code, line: number, column: column, found: escapedName(word), expected: expected, suggestion: suggestion,
            identityKind: identityKind)
    }
}
