import Foundation
import MountOptions
import TestSupport

/// Words of `-o` that a document explains together, and what it says of them.
struct DocumentedOptions {
    /// As `OptionWord.texts`: `name`, `name=word`, and `name=` where a value is left open.
    var texts: [String] = []
    /// Values that stand for an open one, as `1G` in `zerofill_max=1G`.
    var examples: [String: String] = [:]
    var meaning = ""

    var names: [String] { texts.map { String($0.prefix { $0 != "=" }) } }

    /// - Parameter isOpen: the value is a placeholder.
    mutating func add(_ name: String, _ value: String, isOpen: Bool) {
        if isOpen {
            texts.append("\(name)=")
        } else if OptionDocument.listed.contains("\(name)=\(value)") || !OptionDocument.listed.contains("\(name)=") {
            texts.append("\(name)=\(value)")
        } else {
            texts.append("\(name)=")
            examples[name] = value
        }
    }
}

enum OptionDocument {
    static let listed = Set(OptionTable.rows.flatMap { $0.words.flatMap(\.texts) })

    static func text(_ path: String) throws -> String {
        try String(contentsOf: Repository.top.appendingPathComponent("docs").appendingPathComponent(path), encoding: .utf8)
    }

    /// The lines of a section, without its heading.
    static func section(_ heading: String, of path: String, until next: String) throws -> [String] {
        let lines = try text(path).components(separatedBy: "\n")
        guard let start = lines.firstIndex(of: heading) else { return [] }
        return Array(lines[(start + 1)...].prefix { !$0.hasPrefix(next) })
    }

    /// The lines of a Markdown table that begin with a word of `-o`.
    static func table(_ lines: [String]) -> [DocumentedOptions] {
        lines.filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.dropFirst(2).components(separatedBy: " | ")
            var options = DocumentedOptions(meaning: plain(cells.dropFirst().joined(separator: " | ")))
            for group in cells[0].components(separatedBy: ", ") { add(group, to: &options) }
            return options
        }
    }

    /// `a=b` / `c` / PLACEHOLDER
    private static func add(_ group: String, to options: inout DocumentedOptions) {
        var name: String?
        for alternative in group.components(separatedBy: " / ") {
            let parts = alternative.components(separatedBy: "`")
            let word = parts.count > 1 ? parts[1] : alternative
            let value: Substring
            if let equals = word.firstIndex(of: "=") {
                name = String(word[..<equals])
                value = word[word.index(after: equals)...]
            } else if name != nil {
                value = word[...]
            } else {
                options.texts.append(word)
                continue
            }
            options.add(name ?? "", String(value), isOpen: !value.isEmpty && value.allSatisfy { $0.isUppercase && $0.isLetter })
        }
    }

    /// Without the marks of code and links.
    private static func plain(_ cell: String) -> String {
        cell.replacingOccurrences(of: #"\[([^\]]*)\]\([^)]*\)"#, with: "$1", options: .regularExpression)
            .replacingOccurrences(of: "`", with: "")
    }

    /// The tags of a manual page's paragraphs. Words are bold; what is italic stands for something else.
    static func tags(_ lines: [String]) -> [DocumentedOptions] {
        var found: [DocumentedOptions] = []
        for (macro, line) in zip(lines, lines.dropFirst()) where macro == ".TP" || macro == ".TQ" {
            if macro == ".TP" { found.append(DocumentedOptions()) }
            for item in tag(line).components(separatedBy: ", ") {
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else {
                    found[found.count - 1].texts.append(item)
                    continue
                }
                for value in parts[1].split(separator: "|", omittingEmptySubsequences: false) {
                    found[found.count - 1].add(String(parts[0]), String(value), isOpen: value == placeholder)
                }
            }
        }
        return found
    }

    private static let placeholder = "…"

    /// The text of a line such as `.BR a ", " b`, with `placeholder` for each piece in italics.
    private static func tag(_ line: String) -> String {
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].first == "." else { return line }
        let fonts = Array(words[0].dropFirst())
        var result = ""
        for (index, argument) in arguments(words[1]).enumerated() {
            var font = fonts[index % fonts.count]
            var rest = argument[...]
            var piece = ""
            func end() {
                if !piece.isEmpty { result += font == "I" ? placeholder : piece }
                piece = ""
            }
            while let character = rest.popFirst() {
                guard character == "\\", let next = rest.popFirst() else {
                    piece.append(character)
                    continue
                }
                if next == "f", let other = rest.popFirst() {
                    end()
                    font = other
                } else {
                    piece.append(next)
                }
            }
            end()
        }
        return result
    }

    /// Of a macro: separated by blanks outside quotes.
    private static func arguments(_ text: Substring) -> [String] {
        var result: [String] = []
        for (index, piece) in text.components(separatedBy: "\"").enumerated() {
            if index % 2 == 1 { result.append(piece) } else { result += piece.split(separator: " ").map { String($0) } }
        }
        return result
    }

    /// The words between two texts of a completion.
    static func words(of file: String, from start: String, to end: String) throws -> [String] {
        let all = try text("completions/" + file)
        guard let first = all.range(of: start), let last = all.range(of: end, range: first.upperBound..<all.endIndex) else { return [] }
        return all[first.upperBound..<last.lowerBound].split(whereSeparator: \.isWhitespace).map { String($0) }
    }
}
