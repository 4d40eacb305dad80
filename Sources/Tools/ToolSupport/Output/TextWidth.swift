import Glibc

/// Breaks the program's own text, such as help, so that no line is wider than the terminal.
package enum TextWidth {
    /// Of a text that goes to no terminal.
    package static let usual = 80
    /// Below this, words no longer fit.
    private static let least = 20

    /// - Returns: the columns of the terminal behind a descriptor; `usual` if there is none, or it does not say.
    package static func columns(of descriptor: Int32) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return usual }
        return max(Int(size.ws_col), least)
    }

    /// Breaks lines at blanks. What follows a break begins below the second column of a table, else a little to the right of the line.
    /// A word that is wider than the text is not broken.
    package static func wrapped(_ text: String, to columns: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line($0, columns) }.joined(separator: "\n")
    }

    private static func line(_ line: Substring, _ columns: Int) -> String {
        guard line.count > columns else { return String(line) }
        let margin = min(hangingIndent(line, columns), columns - 10)
        let indent = String(repeating: " ", count: max(0, margin))
        var lines: [String] = []
        var rest = line
        while rest.count > columns {
            let body = rest.drop { $0 == " " }
            // The last blank within the columns, or the first one behind them.
            let end = rest.index(rest.startIndex, offsetBy: columns)
            let within = rest[body.startIndex...end].lastIndex(of: " ")
            guard let blank = within ?? rest[end...].firstIndex(of: " ") else { break }
            var kept = rest[..<blank]
            while kept.last == " " { kept.removeLast() }
            lines.append(String(kept))
            rest = Substring(indent + rest[blank...].drop { $0 == " " })
        }
        return (lines + [String(rest)]).joined(separator: "\n")
    }

    private static func hangingIndent(_ line: Substring, _ columns: Int) -> Int {
        let leading = line.prefix { $0 == " " }.count
        var column = leading
        var gap = 0
        var found: Int?
        for character in line.dropFirst(leading) {
            if character != " ", gap >= 2 { found = column }
            gap = character == " " ? gap + 1 : 0
            column += 1
        }
        if let found, found <= columns / 2 { return found }
        return leading + (line.lowercased().hasPrefix("usage: ") ? 11 : 4)
    }
}
