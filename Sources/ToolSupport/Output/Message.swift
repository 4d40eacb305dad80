import ACLFormats

/// The lines that programs print for people (docs/security.md "What a terminal is shown"): every message, and every line of text, on
/// standard error and standard output alike, is made here.
///
/// Names, options, words of profiles and answers of daemons stand in them, which others chose. Whatever could act on a terminal is
/// shown as `\x..`, so that no caller can forget it. What is escaped already stays as it is.
enum Message {
    /// One line. A line feed in it is somebody's, and is escaped as well.
    static func line(_ text: String) -> [UInt8] { Array(escapedText(text).utf8) + [0x0A] }

    /// One line of a table, in which tabs stand between the columns.
    static func row(_ text: String) -> [UInt8] {
        let cells = text.utf8.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        return Array(cells.map { escapedText($0) }.joined(separator: "\t").utf8) + [0x0A]
    }

    /// A text of the program's own, of several lines, such as its usage.
    static func lines(_ text: String) -> [UInt8] {
        text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).flatMap { Array(escapedText($0).utf8) + [0x0A] }
    }
}
