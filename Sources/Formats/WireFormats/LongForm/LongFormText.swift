import ACLFormats
import Authorization

/// The long form of macOS' library, in which a Mac packs a list into archives and copies (`acl_to_text`):
///
///     !#acl 1
///     user:FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5:alice:501:allow,file_inherit:read,write
///
/// Rights have the words of files. A bit without a word is `0x` and hexadecimal digits, in its place. Reading ends at an empty line.
public enum LongFormText {
    public static let maximumLength = 65_536
    static let header = "!#acl 1"

    private static let listFlags: [(word: String, bit: UInt32)] = [("defer_inherit", 1), ("no_inherit", ACL.noInherit)]
    private static let rights: [(word: String, right: Rights)] =
        RightName.all.map { ($0.fileWord ?? $0.directoryWord, $0.right) } + [("synchronize", .synchronize)]
    private static let flags: [(word: String, flag: ACEFlags)] = ACEFlagName.all.map { ($0.word, $0.flag) }

    // MARK: Writing

    /// - Parameter names: gives names to identities. Account databases may be asked.
    public static func write(_ acl: ACL, names: some WireNames) -> [UInt8] {
        var words: [String] = []
        var rest = acl.listFlags
        for flag in listFlags where rest & flag.bit != 0 {
            words.append(flag.word)
            rest &= ~flag.bit
        }
        if rest != 0 { words.append(hexadecimal(rest)) }
        var text = header + (words.isEmpty ? "" : " " + words.joined(separator: ",")) + "\n"
        for entry in acl.entries { text += line(of: entry, names) + "\n" }
        return Array(text.utf8)
    }

    private static func line(of entry: ACE, _ names: some WireNames) -> String {
        var tags: [String]
        switch entry.kind {
        case .allow: tags = ["allow"]
        case .deny: tags = ["deny"]
        case nil: tags = [hexadecimal(entry.flagsWord & 0xF)]
        }
        var (restOfFlags, restOfRights) = (entry.flags, entry.rights)
        for flag in flags where restOfFlags.contains(flag.flag) {
            tags.append(flag.word)
            restOfFlags.remove(flag.flag)
        }
        if !restOfFlags.isEmpty { tags.append(hexadecimal(restOfFlags.rawValue)) }
        var words: [String] = []
        for right in rights where restOfRights.contains(right.right) {
            words.append(right.word)
            restOfRights.subtract(right.right)
        }
        if !restOfRights.isEmpty { words.append(hexadecimal(restOfRights.rawValue)) }
        let end = words.isEmpty ? "" : ":" + words.joined(separator: ",")
        return LongFormIdentity.write(entry.guid, names: names) + tags.joined(separator: ",") + end
    }

    // MARK: Reading

    /// - Throws: the first error, with its line.
    public static func read(_ text: [UInt8], names: some WireNames) throws(LongFormError) -> ACL {
        if text.count > maximumLength { throw LongFormError(.tooLong(text.count), line: 1) }
        // A string of C may come with its end.
        let text = text.last == 0 ? text.dropLast() : text[...]
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).prefix { !$0.isEmpty }
        var acl = ACL([])
        for (index, line) in lines.enumerated() {
            do throws(LongFormError.Problem) {
                if index == 0 {
                    acl.listFlags = try readHeader(Array(line))
                } else {
                    if index > ACL.maximumEntryCount { throw .tooManyEntries(lines.count - 1) }
                    acl.entries.append(try readEntry(line, names))
                }
            } catch { throw LongFormError(error, line: index + 1) }
        }
        if lines.isEmpty { throw LongFormError(.badHeader([]), line: 1) }
        return acl
    }

    private static func readHeader(_ line: [UInt8]) throws(LongFormError.Problem) -> UInt32 {
        guard line.starts(with: header.utf8) else { throw .badHeader(line) }
        let rest = Array(line.dropFirst(header.utf8.count))
        if rest.isEmpty { return 0 }
        guard rest.first == UInt8(ascii: " ") else { throw .badHeader(line) }
        var bits: UInt32 = 0
        for word in parts(rest.dropFirst(), UInt8(ascii: ",")) {
            guard let bit = listFlags.first(where: { word.elementsEqual($0.word.utf8) })?.bit ?? number(word) else {
                throw .badListFlag(word)
            }
            bits |= bit
        }
        return bits
    }

    private static func readEntry(_ line: ArraySlice<UInt8>, _ names: some WireNames) throws(LongFormError.Problem) -> ACE {
        let fields = parts(line, UInt8(ascii: ":"))
        guard fields.count == 5 || fields.count == 6 else { throw .wrongFields(fields.count) }
        let isGroup = fields[0].elementsEqual("group".utf8)
        guard isGroup || fields[0].elementsEqual("user".utf8) else { throw .badIdentityKind(fields[0]) }
        let identity = try LongFormIdentity.read(isGroup: isGroup, uuid: fields[1], name: fields[2], number: fields[3], names: names)
        var flagsWord: UInt32 = 0
        for (index, word) in parts(fields[4][...], UInt8(ascii: ",")).enumerated() {
            flagsWord |= try index == 0 ? readKind(word) : readFlag(word)
        }
        var rights: Rights = []
        for word in fields.count == 6 ? parts(fields[5][...], UInt8(ascii: ",")) : [] {
            guard
                let right = self.rights.first(where: { word.elementsEqual($0.word.utf8) })?.right
                    ?? number(word).map(Rights.init(rawValue:))
            else { throw .badRight(word) }
            rights.formUnion(right)
        }
        return ACE(guid: identity, flagsWord: flagsWord, rights: rights)
    }

    private static func readKind(_ word: [UInt8]) throws(LongFormError.Problem) -> UInt32 {
        if word.elementsEqual("allow".utf8) { return ACE.Kind.allow.rawValue }
        if word.elementsEqual("deny".utf8) { return ACE.Kind.deny.rawValue }
        guard let kind = number(word), kind <= 0xF else { throw .badKind(word) }
        return kind
    }

    private static func readFlag(_ word: [UInt8]) throws(LongFormError.Problem) -> UInt32 {
        if let flag = flags.first(where: { word.elementsEqual($0.word.utf8) })?.flag { return flag.rawValue }
        // The kind is a word of its own.
        guard let bits = number(word), bits & 0xF == 0 else { throw .badFlag(word) }
        return bits
    }

    private static func parts(_ bytes: ArraySlice<UInt8>, _ separator: UInt8) -> [[UInt8]] {
        bytes.split(separator: separator, omittingEmptySubsequences: false).map { Array($0) }
    }

    /// `0x` and hexadecimal digits.
    private static func number(_ word: [UInt8]) -> UInt32? {
        guard word.starts(with: "0x".utf8), word.count > 2, word[2] != UInt8(ascii: "+"), word[2] != UInt8(ascii: "-") else { return nil }
        return UInt32(String(decoding: word.dropFirst(2), as: UTF8.self), radix: 16)
    }
}
