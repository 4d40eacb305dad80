import ACLFormats

/// Bytes of a page. Markup is the program's own text, known when it is compiled; all else is escaped, so that no name becomes markup.
struct HTML {
    private(set) var bytes: [UInt8] = []

    /// Adds markup.
    mutating func add(_ markup: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: markup.utf8Start, count: markup.utf8CodeUnitCount))
    }
    mutating func add(_ number: Int) { bytes += String(number).utf8 }

    /// Adds text: an element's or a quoted attribute's. Control characters, bidirectional marks and what is no UTF-8 become `\x..`.
    mutating func add(text: some Collection<UInt8>) { append(escapedText(text)) }
    mutating func add(text: String) { add(text: text.utf8) }

    /// Adds a name or path; a backslash that looks like an escape is escaped as well.
    mutating func add(name: some Collection<UInt8>) { append(escapedName(name)) }

    private mutating func append(_ text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "\""): bytes += "&quot;".utf8
            case UInt8(ascii: "'"): bytes += "&#39;".utf8
            default: bytes.append(byte)
            }
        }
    }
}
