import ACLFormats

/// Makes every line of text on standard output and standard error (docs/reference/security.md "What a terminal is shown").
///
/// Lines contain names, options, words of profiles and answers of daemons, which others chose. Bytes that could act on a terminal become
/// `\x..` here, so that no caller can forget it. Escaped text stays as it is.
enum Message {
    /// One line. A line feed in it comes from a name, and is escaped as well.
    static func line(_ text: String) -> [UInt8] { Array(escapedText(text).utf8) + [0x0A] }

    /// One line of a table with tabs between the columns.
    static func row(_ text: String) -> [UInt8] {
        let cells = text.utf8.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        return Array(cells.map { escapedText($0) }.joined(separator: "\t").utf8) + [0x0A]
    }

    /// Several lines of the program's own text, such as its usage, none of them wider than so many columns if a blank allows it.
    static func lines(_ text: String, columns: Int) -> [UInt8] {
        TextWidth.wrapped(text, to: columns).utf8.split(separator: 0x0A, omittingEmptySubsequences: false).flatMap {
            Array(escapedText($0).utf8) + [0x0A]
        }
    }
}
