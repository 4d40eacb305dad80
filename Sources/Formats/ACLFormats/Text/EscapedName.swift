/// Bytes of another user, shown so that they cannot act on a terminal or reorder a line. Control characters, bidirectional marks,
/// line separators and invalid UTF-8 become `\x..`.
///
/// Each output has exactly one input: a backslash that looks like such an escape is escaped too.
public func escapedName(_ bytes: some Collection<UInt8>) -> String {
    let bytes = Array(bytes)
    var shown: [UInt8] = []
    shown.reserveCapacity(bytes.count)
    var position = 0
    while position < bytes.count {
        let (length, scalar) = scalarAt(position, of: bytes)
        let characters = bytes[position..<position + length]
        if let scalar, !isUnsafeToShow(scalar), !(scalar == 0x5C && beginsEscape(bytes[position...])) {
            shown.append(contentsOf: characters)
        } else {
            for byte in characters {
                shown.append(contentsOf: "\\x\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
            }
        }
        position += length
    }
    return String(decoding: shown, as: UTF8.self)
}

/// A text of another process, in which names may already be escaped. What could act on a terminal is escaped as by `escapedName`; a
/// backslash is kept.
public func escapedText(_ text: String) -> String { escapedText(text.utf8) }

/// As `escapedText`, of bytes.
public func escapedText(_ text: some Collection<UInt8>) -> String {
    if text.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return String(decoding: text, as: UTF8.self) }
    return text.split(separator: UInt8(ascii: "\\"), omittingEmptySubsequences: false).map { escapedName($0) }
        .joined(separator: "\\")
}

/// Whether no byte needs an escape. It decides between `path` and `path_b64` in JSON.
public func isShownUnescaped(_ bytes: some Collection<UInt8>) -> Bool {
    escapedName(bytes).utf8.elementsEqual(bytes)
}

/// The bytes of a text that `escapedName` made, or that a user wrote with escapes: each `\x` and two digits is a byte.
public func unescapedName(_ text: some Collection<UInt8>) -> [UInt8] {
    let text = Array(text)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var position = 0
    while position < text.count {
        if text[position] == UInt8(ascii: "\\"), beginsEscape(text[position...]), let high = hexadecimalDigit(text[position + 2]),
            let low = hexadecimalDigit(text[position + 3])
        {
            bytes.append(high << 4 | low)
            position += 4
        } else {
            bytes.append(text[position])
            position += 1
        }
    }
    return bytes
}

private func beginsEscape(_ rest: ArraySlice<UInt8>) -> Bool {
    let next = Array(rest.prefix(4))
    return next.count == 4 && next[1] == UInt8(ascii: "x") && hexadecimalDigit(next[2]) != nil
        && hexadecimalDigit(next[3]) != nil
}

/// Whether a scalar acts on a terminal, or is invisible.
func isUnsafeToShow(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0..<0x20, 0x7F..<0xA0: true
    // Arabic letter mark, left-to-right and right-to-left marks, embeddings, overrides, isolates.
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    // Line and paragraph separators; a byte order mark, which is invisible.
    case 0x2028, 0x2029, 0xFEFF: true
    default: false
    }
}

/// The scalar at a position and its size; nil and 1 for a byte that is not UTF-8 (overlong forms, surrogates and numbers above
/// U+10FFFF included).
private func scalarAt(_ position: Int, of bytes: [UInt8]) -> (length: Int, scalar: UInt32?) {
    let first = bytes[position]
    let (length, smallest, initial): (Int, UInt32, UInt32)
    switch first {
    case 0..<0x80: return (1, UInt32(first))
    case 0xC2..<0xE0: (length, smallest, initial) = (2, 0x80, UInt32(first & 0x1F))
    case 0xE0..<0xF0: (length, smallest, initial) = (3, 0x800, UInt32(first & 0x0F))
    case 0xF0..<0xF5: (length, smallest, initial) = (4, 0x1_0000, UInt32(first & 0x07))
    default: return (1, nil)
    }
    guard position + length <= bytes.count else { return (1, nil) }
    var scalar = initial
    for byte in bytes[position + 1..<position + length] {
        guard byte & 0xC0 == 0x80 else { return (1, nil) }
        scalar = scalar << 6 | UInt32(byte & 0x3F)
    }
    let isValid = scalar >= smallest && scalar <= 0x10_FFFF && !(0xD800..<0xE000).contains(scalar)
    return isValid ? (length, scalar) : (1, nil)
}
