import Authorization

/// The value of the attribute `system.aclfs.acl`: one entry a line, with every stored bit. Writing back what was read gives the
/// same list, bit for bit.
///
///     !#acl 1 no_inherit                         only when the list has flags
///     user:bob deny write
///     group:#20 inherited allow list,search,file_inherit
///     FFFFEEEE-DDDD-CCCC-BBBB-AAAA000007D0 allow read,synchronize,0x40000000,flags=0x600
///
/// `0x..` among the words are bits of the rights without a word, `flags=0x..` bits of the flags without one. `0x3` in place of
/// allow or deny is a reserved kind, `0x0` an entry without any right. All that docs/reference/authorization.md 7.1 takes is accepted as well:
/// `inherited` among the words, sets of rights, `owner@`, a position.
public enum ACLAttributeText {
    public static let maximumLength = 65_536
    /// The first line of Libc's long form (docs/reference/authorization.md 7.3), the only text with the flags of a list.
    static let header = "!#acl 1"

    /// The text of a list.
    ///
    /// - Parameters:
    ///   - acl: the list.
    ///   - isDirectory: whether rights have the words of directories.
    ///   - names: gives names to identities.
    public static func write(_ acl: ACL, isDirectory: Bool, names: some IdentityNames) -> [UInt8] {
        var text = ""
        if acl.listFlags != 0 {
            var flags: [String] = []
            if acl.listFlags & ACL.noInherit != 0 { flags.append("no_inherit") }
            let others = acl.listFlags & ~ACL.noInherit
            if others != 0 { flags.append(hexadecimal(others)) }
            text += "\(header) \(flags.joined(separator: ","))\n"
        }
        for entry in acl.entries {
            let inherited = entry.flags.contains(.inherited) ? " inherited" : ""
            let kind =
                switch entry.kind {
                case .allow: "allow"
                case .deny: "deny"
                case nil: hexadecimal(entry.flagsWord & 0xF)
                }
            let words = AttributeWord.words(of: entry, isDirectory: isDirectory).joined(separator: ",")
            text += "\(who(entry.guid, names: names))\(inherited) \(kind) \(words)\n"
        }
        return Array(text.utf8)
    }

    /// Reads the text of a list. An empty text is an empty list, which is not the same as no list (docs/reference/authorization.md 1.3).
    ///
    /// - Parameters:
    ///   - text: of the list.
    ///   - names: gives identities to names.
    ///   - isDirectory: whether sets such as `full_control` have the rights of directories. No text that `write` made has one.
    /// - Throws: the first error, with its position.
    public static func parse(
        _ text: some Collection<UInt8>, names: some IdentityNames, isDirectory: Bool = true
    ) throws(ACLTextError) -> ACL {
        if text.count > maximumLength {
            throw ACLTextError(
                .tooLong, line: 1, column: maximumLength + 1, found: "", expected: "at most \(maximumLength) bytes")
        }
        var acl = ACL([])
        var isFirst = true
        for (number, line) in linesOf(Array(text)) {
            defer { isFirst = false }
            if isFirst, line.starts(with: header.utf8) {
                acl.listFlags = try listFlags(line, number: number)
                continue
            }
            if acl.entries.count == ACL.maximumEntryCount {
                throw ACLTextError(
                    .tooMany, line: number, column: 1, found: escapedName(line),
                    expected: "at most \(ACL.maximumEntryCount) entries")
            }
            var reader = EntryReader(line: line, number: number, dialect: .attribute, isDirectory: isDirectory)
            acl.entries.append(try reader.entry(names: names))
        }
        return acl
    }

    /// A name if it resolves to the same identity; else a number; else the UUID.
    static func who(_ identity: GUID, names: some IdentityNames) -> String {
        let number: String?
        switch Principal(identity) {
        case .everyone: return "group:everyone"
        case .owner, .owningGroup, .nobody: return identity.uuidText
        // Only the canonical identity: one gid may have two (docs/reference/authorization.md Q20).
        case .user(let uid): number = uid == .max ? nil : "user:#\(uid)"
        case .group(let gid): number = gid == .max || GUID(group: gid) != identity ? nil : "group:#\(gid)"
        case .other: number = nil
        }
        guard let known = names.name(of: identity) else { return identity.uuidText }
        if isPlain(known), names.identity(named: known.name, kind: known.kind) == identity {
            return "\(known.kind.rawValue):\(known.name)"
        }
        return number ?? identity.uuidText
    }

    /// Whether the text can contain the name without another meaning.
    private static func isPlain(_ known: IdentityName) -> Bool {
        let name = known.name.utf8
        let looksOtherwise =
            name.first == UInt8(ascii: "#") || name.allSatisfy { hexadecimalDigit($0).map { $0 < 10 } ?? false }
            || GUID(uuidText: name) != nil || known == IdentityName(.group, "everyone")
        return !looksOtherwise
            && name.allSatisfy { (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ",") }
    }

    private static func listFlags(_ line: ArraySlice<UInt8>, number: Int) throws(ACLTextError) -> UInt32 {
        var flags: UInt32 = 0
        let rest = line.dropFirst(header.utf8.count)
        if rest.isEmpty { return 0 }
        for word in rest.dropFirst().split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            if rest.first == UInt8(ascii: " "), word.elementsEqual("no_inherit".utf8) {
                flags |= ACL.noInherit
            } else if rest.first == UInt8(ascii: " "), let bits = prefixedHexadecimal(word) {
                flags |= bits
            } else {
                // `defer_inherit` too: Libc and the kernel use different bits for it (docs/reference/authorization.md 1.3).
                throw ACLTextError(
                    .badList, line: number, column: word.startIndex - line.startIndex + 1, found: escapedName(word),
                    expected: "'no_inherit' or a hexadecimal number",
                    suggestion: nearestWord(to: word, in: ["no_inherit"]))
            }
        }
        return flags
    }
}

/// The words that only the attribute text has.
enum AttributeWord {
    private static let flagsPrefix = "flags="

    static func right(named word: ArraySlice<UInt8>) -> Rights? {
        if let name = RightName.storedOnly.first(where: { $0.directoryWord.utf8.elementsEqual(word) }) {
            return name.right
        }
        return prefixedHexadecimal(word).map(Rights.init(rawValue:))
    }

    static func flagBits(_ word: ArraySlice<UInt8>) -> UInt32? {
        guard word.starts(with: flagsPrefix.utf8),
            let bits = prefixedHexadecimal(word.dropFirst(flagsPrefix.utf8.count)),
            // The kind is a word of its own.
            bits & 0xF == 0
        else { return nil }
        return bits
    }

    static func words(of entry: ACE, isDirectory: Bool) -> [String] {
        var words: [String] = []
        var rights = entry.rights
        for name in RightName.all + RightName.storedOnly where rights.contains(name.right) {
            words.append(isDirectory ? name.directoryWord : name.fileWord ?? name.directoryWord)
            rights.subtract(name.right)
        }
        if rights.rawValue != 0 { words.append(hexadecimal(rights.rawValue)) }
        var flags = entry.flags.subtracting(.inherited)
        for name in ACEFlagName.inheritance where flags.contains(name.flag) {
            words.append(name.word)
            flags.subtract(name.flag)
        }
        if flags.rawValue != 0 { words.append(flagsPrefix + hexadecimal(flags.rawValue)) }
        return words.isEmpty ? [hexadecimal(0)] : words
    }
}
