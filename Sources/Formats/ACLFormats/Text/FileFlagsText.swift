import Authorization

/// One flag and its words (docs/reference/authorization.md 6.6). The first word is printed.
public struct FileFlagName: Sendable {
    public let words: [String]
    public let flag: FileFlags

    /// In the order in which macOS prints them: system flags first.
    public static let all: [FileFlagName] = [
        FileFlagName(words: ["sappnd", "sappend"], flag: .systemAppend),
        FileFlagName(words: ["arch", "archived"], flag: .archived),
        FileFlagName(words: ["schg", "schange", "simmutable"], flag: .systemImmutable),
        FileFlagName(words: ["sunlnk", "sunlink"], flag: .noUnlink),
        FileFlagName(words: ["restricted"], flag: .restricted),
        FileFlagName(words: ["uappnd", "uappend"], flag: .userAppend),
        FileFlagName(words: ["uchg", "uchange", "uimmutable"], flag: .userImmutable),
        FileFlagName(words: ["nodump"], flag: .noDump),
        FileFlagName(words: ["opaque"], flag: .opaque),
        FileFlagName(words: ["hidden"], flag: .hidden),
        FileFlagName(words: ["compressed"], flag: .compressed),
        FileFlagName(words: ["datavault"], flag: .dataVault),
        FileFlagName(words: ["dataless"], flag: .dataless),
    ]

    /// The word that clears a flag: with `no` in front, or `dump` for `nodump`.
    static func clearing(_ word: String) -> String { word.hasPrefix("no") ? String(word.dropFirst(2)) : "no" + word }
}

/// The change that a flags argument describes.
public struct FileFlagsChange: Sendable, Hashable {
    public var set: FileFlags
    public var cleared: FileFlags
    /// The argument is a number: the complete new value.
    public var replacesAll: Bool

    public init(set: FileFlags = [], cleared: FileFlags = [], replacesAll: Bool = false) {
        (self.set, self.cleared, self.replacesAll) = (set, cleared, replacesAll)
    }
    /// The flags after the change. A flag that is both set and cleared is cleared, as in chflags(1).
    public func applied(to flags: FileFlags) -> FileFlags {
        replacesAll ? set : flags.union(set).subtracting(cleared)
    }
}

/// Why a text of flags cannot be parsed.
public struct FileFlagsTextError: Error, Sendable, Hashable {
    /// 1-based, in bytes.
    public var column: Int
    /// Escaped for the terminal.
    public var found: String
    public var suggestion: String?

    public init(column: Int, found: String, suggestion: String? = nil) {
        (self.column, self.found, self.suggestion) = (column, found, suggestion)
    }

    public var message: String {
        let problem = found.isEmpty ? "no flag is named" : "'\(found)' is not a flag"
        return "column \(column): \(problem)" + (suggestion.map { "; did you mean '\($0)'?" } ?? "")
    }
}

/// Flags as text.
public enum FileFlagsText {
    /// The words with commas, `-` for none, as `ls -O` shows them. Bits without a word are not shown.
    public static func shown(_ flags: FileFlags) -> String {
        let words = FileFlagName.all.filter { flags.contains($0.flag) }.map { $0.words[0] }
        return words.isEmpty ? "-" : words.joined(separator: ",")
    }

    /// The value of `system.aclfs.flags`: as `shown`, with bits without a word as `0x..`, so that writing it back loses nothing.
    public static func attribute(_ flags: FileFlags) -> String {
        let unnamed = FileFlagName.all.reduce(flags) { $0.subtracting($1.flag) }
        if unnamed.isEmpty { return shown(flags) }
        return (unnamed == flags ? "" : shown(flags) + ",") + hexadecimal(unnamed.rawValue)
    }

    /// Reads the value of `system.aclfs.flags`, which replaces all flags. `-` and the empty value are no flags. A final newline is
    /// allowed, because `echo` writes one.
    ///
    /// - Throws: the first error, with its position.
    public static func parseAttribute(_ text: some Collection<UInt8>) throws(FileFlagsTextError) -> FileFlags {
        var bytes = Array(text)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.isEmpty || bytes == [UInt8(ascii: "-")] { return [] }
        var flags: FileFlags = []
        for word in bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            if let bits = prefixedHexadecimal(word) {
                flags.formUnion(FileFlags(rawValue: bits))
            } else if case (let flag, true)? = flag(named: word) {
                flags.formUnion(flag)
            } else {
                throw unknown(word, in: bytes[...], words: FileFlagName.all.flatMap(\.words))
            }
        }
        return flags
    }

    /// Reads the argument of chflags(1): an octal number, or words that set or clear (docs/reference/authorization.md 6.6).
    ///
    /// - Throws: the first error, with its position.
    public static func parseChange(_ text: some Collection<UInt8>) throws(FileFlagsTextError) -> FileFlagsChange {
        let bytes = Array(text)
        if let first = bytes.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
            guard let number = unsignedNumber(bytes, radix: 8) else {
                throw unknown(bytes[...], in: bytes[...], words: [])
            }
            return FileFlagsChange(set: FileFlags(rawValue: number), replacesAll: true)
        }
        var change = FileFlagsChange()
        var sawWord = false
        for word in bytes.split(separator: UInt8(ascii: ",")) {
            sawWord = true
            switch flag(named: word) {
            case (let flag, true)?: change.set.formUnion(flag)
            case (let flag, false)?: change.cleared.formUnion(flag)
            case nil:
                let words = FileFlagName.all.flatMap(\.words)
                // `no` before a word that begins with it: the suggestion is the word that clears the flag, not the nearest one,
                // which sets it.
                let doubled = words.first { "no\($0)".utf8.elementsEqual(word) }
                throw unknown(
                    word, in: bytes[...], words: words + words.map(FileFlagName.clearing),
                    meant: doubled.map(FileFlagName.clearing))
            }
        }
        if !sawWord { throw FileFlagsTextError(column: 1, found: "") }
        return change
    }

    private static func flag(named word: ArraySlice<UInt8>) -> (FileFlags, sets: Bool)? {
        for name in FileFlagName.all {
            for candidate in name.words {
                if candidate.utf8.elementsEqual(word) { return (name.flag, true) }
                if FileFlagName.clearing(candidate).utf8.elementsEqual(word) { return (name.flag, false) }
            }
        }
        return nil
    }

    private static func unknown(
        _ word: ArraySlice<UInt8>, in text: ArraySlice<UInt8>, words: [String], meant: String? = nil
    ) -> FileFlagsTextError {
        FileFlagsTextError(
            column: word.startIndex - text.startIndex + 1, found: escapedName(word),
            suggestion: meant ?? nearestWord(to: word, in: words))
    }
}
