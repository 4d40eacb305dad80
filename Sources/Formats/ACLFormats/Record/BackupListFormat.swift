/// The format in which `aclfs backup list` names excluded objects, for a program that does not see the mark (docs/guide/backup.md).
public enum BackupListFormat: String, CaseIterable, Sendable {
    /// The paths, each ended by NUL or by a newline.
    case null, lines
    /// `rsync --exclude-from=LIST DIRECTORY/ …`
    case rsync
    /// `tar -C DIRECTORY --exclude-from=LIST -c .`
    case tar
    /// `restic backup --exclude-file=LIST PATH`
    case restic
    /// `borg create --exclude-from LIST REPOSITORY::ARCHIVE PATH`
    case borg

    /// Whether patterns are relative to the one directory that the program saves.
    public var isRelative: Bool { self == .rsync || self == .tar }
}

/// An excluded object, as the walk found it.
public struct BackupListItem: Sendable {
    /// The operand above it, as the caller wrote it.
    public var operand: [UInt8]
    /// The names below the operand, joined by `/`; empty for the operand itself.
    public var below: [UInt8]
    public init(operand: [UInt8], below: [UInt8]) { (self.operand, self.below) = (operand, below) }

    var path: [UInt8] { below.isEmpty ? operand : joined(operand, below) }
}

private let slash = UInt8(ascii: "/")
private let newline = UInt8(ascii: "\n")
private let carriageReturn = UInt8(ascii: "\r")
private let backslash = UInt8(ascii: "\\")

extension BackupListFormat {
    /// One item with its terminator.
    ///
    /// - Parameters:
    ///   - item: the excluded object.
    ///   - endsInNUL: for rsync's `--from0`; `null` always ends in NUL.
    ///   - workingDirectory: the directory of relative operands.
    /// - Returns: the bytes, or nil if no pattern of this program matches exactly this object.
    public func text(_ item: BackupListItem, endsInNUL: Bool, workingDirectory: [UInt8]) -> [UInt8]? {
        let endsInNUL = endsInNUL || self == .null
        guard let pattern = pattern(item, workingDirectory) else { return nil }
        if !endsInNUL {
            if pattern.contains(newline) { return nil }
            // rsync ends lines at a carriage return too. The others remove it before a newline; their patterns allow for that.
            if self == .rsync, pattern.contains(carriageReturn) { return nil }
        }
        return pattern + [endsInNUL ? 0 : newline]
    }

    private func pattern(_ item: BackupListItem, _ workingDirectory: [UInt8]) -> [UInt8]? {
        switch self {
        case .null, .lines: return item.path
        case .rsync: return rsyncPattern(item.below)
        case .tar:
            // Member names begin with `./` and contain it nowhere else, so the pattern is effectively anchored.
            return item.below.isEmpty ? [UInt8(ascii: ".")] : Array("./".utf8) + globbed(item.below, lengthOfLastSpace)
        case .restic:
            // $ begins a variable, $$ is the character.
            let absolute = cleanedPath(item.path.first == slash ? item.path : joined(workingDirectory, item.path))
            return globbed(absolute, lengthOfLastUnicodeSpace).flatMap { $0 == UInt8(ascii: "$") ? [$0, $0] : [$0] }
        case .borg: return borgPattern(cleanedPath(item.path))
        }
    }
}

/// rsync(1): `\` escapes only in patterns with a wildcard; elsewhere it is an ordinary character.
private func rsyncPattern(_ below: [UInt8]) -> [UInt8]? {
    if below.isEmpty { return Array("/*".utf8) }
    let wildcards = Array("*?[".utf8)
    var pattern = [slash]
    if below.contains(where: wildcards.contains) {
        for byte in below {
            if byte == backslash || wildcards.contains(byte) { pattern.append(backslash) }
            pattern.append(byte)
        }
    } else {
        pattern += below
    }
    // rsync skips longer patterns with just a warning.
    return pattern.count < 4096 ? pattern : nil
}

/// A glob that matches exactly this text. Programs trim white space at the end of a line, so there it is in brackets.
private func globbed(_ text: [UInt8], _ lengthOfTrimmed: ([UInt8]) -> Int) -> [UInt8] {
    let special = Array("*?[\\".utf8)
    let end = text.count - lengthOfTrimmed(text)
    var pattern: [UInt8] = []
    for byte in text[..<end] {
        if special.contains(byte) { pattern.append(backslash) }
        pattern.append(byte)
    }
    if end < text.count { pattern += [UInt8(ascii: "[")] + text[end...] + [UInt8(ascii: "]")] }
    return pattern
}

/// The size of the last character if it is ASCII white space, else 0.
private func lengthOfLastSpace(_ text: [UInt8]) -> Int {
    text.last.map { $0 == 0x20 || (0x09...0x0D).contains($0) } ?? false ? 1 : 0
}

/// The same with Unicode's white space, which Go trims.
private func lengthOfLastUnicodeSpace(_ text: [UInt8]) -> Int {
    if lengthOfLastSpace(text) > 0 { return 1 }
    let spaces = ["\u{85}", "\u{A0}", "\u{1680}", "\u{2028}", "\u{2029}", "\u{202F}", "\u{205F}", "\u{3000}"]
    let wide = spaces.map { Array($0.utf8) } + (0x80...0x8A).map { [0xE2, 0x80, UInt8($0)] }
    return wide.first { text.suffix($0.count).elementsEqual($0) }?.count ?? 0
}

/// borg(1): the full path if it can be a line of text, because borg finds it fastest. Otherwise a regular expression in ASCII.
/// Matching ignores the first slash.
private func borgPattern(_ path: [UInt8]) -> [UInt8] {
    let path = path.count > 1 && path.first == slash ? Array(path.dropFirst()) : path
    if path.allSatisfy({ (0x20..<0x7F).contains($0) }), path.last != 0x20 { return Array("pf:".utf8) + path }
    var pattern = "re:^"
    var rest = path[...]
    while let first = rest.first {
        let (length, scalar) = firstScalar(of: rest)
        if let scalar, length > 1 {
            pattern += "\\U" + hexadecimal(scalar, digits: 8)
        } else if first >= 0x80 {
            // Python represents a byte that is not UTF-8 as a lone surrogate.
            pattern += "\\u" + hexadecimal(0xDC00 + UInt32(first), digits: 4)
        } else if isAlphanumeric(first) || first == slash {
            pattern.unicodeScalars.append(UnicodeScalar(first))
        } else {
            pattern += "\\x" + hexadecimal(UInt32(first), digits: 2)
        }
        rest = rest.dropFirst(length)
    }
    // $ would also match before a newline.
    return Array((pattern + "\\Z").utf8)
}

private func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
    default: false
    }
}

/// The first scalar and its size; nil and 1 for a byte that is not UTF-8.
private func firstScalar(of bytes: ArraySlice<UInt8>) -> (length: Int, scalar: UInt32?) {
    var decoder = Unicode.UTF8()
    var iterator = bytes.prefix(4).makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return (1, nil) }
    return (String(scalar).utf8.count, scalar.value)
}

private func hexadecimal(_ number: UInt32, digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
}

private func joined(_ directory: [UInt8], _ name: [UInt8]) -> [UInt8] {
    directory.last == slash ? directory + name : directory + [slash] + name
}

/// The path without `.`, empty names and names that `..` cancels, by the text alone, as in Go and Python.
func cleanedPath(_ path: [UInt8]) -> [UInt8] {
    let isAbsolute = path.first == slash
    let (here, up) = (Array(".".utf8), Array("..".utf8))
    var names: [[UInt8]] = []
    for name in path.split(separator: slash).map({ Array($0) }) where name != here {
        if name == up, let last = names.last, last != up {
            names.removeLast()
        } else if name != up || !isAbsolute {
            names.append(name)
        }
    }
    let text = Array(names.joined(separator: [slash]))
    if isAbsolute { return [slash] + text }
    return text.isEmpty ? here : text
}
