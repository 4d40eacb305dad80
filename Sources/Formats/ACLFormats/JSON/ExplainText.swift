extension Explanation {
    /// The lines that `aclfs explain` prints.
    ///
    /// - Parameter path: the path of a place, as bytes.
    public func text(path: (Place) -> [UInt8]) -> [String] {
        var lines = ExplainTable.lines(
            steps.map { step in
                [
                    escapedName(path(step.place)), step.words.joined(separator: ","),
                    step.isAllowed ? "allowed" : "denied", step.stage, step.entry ?? "",
                ]
            })
        // A single entry that decided is already in the line of its step.
        if considered.count > 1 || considered.first.map({ !$0.effect.hasPrefix("denies") }) ?? false {
            var shown: Place?
            for entry in considered {
                if entry.place != shown { lines.append("entries of \(escapedName(path(entry.place))):") }
                shown = entry.place
                lines.append(" \(entry.index): \(escapedText(entry.entry))  (\(escapedText(entry.effect)))")
            }
        }
        lines += notes.map { "note: \(escapedText($0))" }
        lines.append(denial.map { "denied: \(escapedText($0))" } ?? "allowed")
        return lines
    }
}

/// Columns with two blanks between them; the last of a line is not padded.
public enum ExplainTable {
    /// - Parameter rows: the cells. They may come from another user's daemon, so they are escaped for the terminal.
    public static func lines(_ rows: [[String]]) -> [String] {
        let rows = rows.map { $0.map { escapedText($0) } }
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.count)
            }
        }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell + String(repeating: " ", count: widths[column] - cell.count + 2)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
