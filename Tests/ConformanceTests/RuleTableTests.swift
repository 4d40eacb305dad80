import Conformance
import Foundation
import TestSupport
import Testing

/// The rules of a run are those of docs/reference/semantics.md.
struct RuleTableTests {
    private struct Row {
        var number: Int
        var source: String
        var vectors: [Int]
    }

    /// The rows of the document's tables whose first cell is a rule.
    private func rows() throws -> [Row] {
        let file = Repository.tests.deletingLastPathComponent().appendingPathComponent("docs/reference/semantics.md")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, cells[0].hasPrefix("S"), let number = Int(cells[0].dropFirst()) else { return nil }
            return Row(number: number, source: source(cells[2]), vectors: vectors(cells[3]))
        }
    }

    /// The third cell, sections or a link, as a line of a run has it.
    private func source(_ cell: String) -> String {
        if cell.hasPrefix("["), let start = cell.firstIndex(of: "("), let end = cell.lastIndex(of: ")") {
            let link = cell[cell.index(after: start)..<end]
            let path = link.prefix { $0 != "#" }
            return "docs/" + (path.hasPrefix("../") ? String(path.dropFirst(3)) : "reference/\(path)")
        }
        return ["docs/reference/authorization.md", cell.hasPrefix("A ") ? String(cell.dropFirst(2)) : cell].joined(separator: " ")
    }

    /// "V019–V022, V058" as numbers; names of suites are left out.
    private func vectors(_ cell: String) -> [Int] {
        cell.split(separator: ",").flatMap { item -> [Int] in
            let ends = item.trimmingCharacters(in: .whitespaces).split(separator: "–").map(String.init)
            let numbers = ends.compactMap { $0.hasPrefix("V") ? Int($0.dropFirst()) : nil }
            guard let first = numbers.first, let last = numbers.last, numbers.count == ends.count else { return [] }
            return Array(first...last)
        }
    }

    @Test func theTableIsTheDocuments() throws {
        let rows = try rows()
        #expect(rows.count > 70)
        #expect(Rule.all.map(\.number) == rows.map(\.number).sorted())
        for row in rows {
            let rule = try #require(Rule.numbered(row.number))
            #expect(Rule.Source.text([rule.source]) == row.source, "S\(row.number)")
            #expect(rule.vectors == row.vectors, "S\(row.number)")
        }
    }

    @Test func everyRuleHasACaseOrAReason() throws {
        let cases = CaseList.all(Numbers(first: Numbers.usual))
        let shown = Set(cases.flatMap(\.rules))
        for row in try rows() { #expect(shown.contains(row.number), "S\(row.number)") }
        for item in cases {
            #expect(!item.rules.isEmpty && !item.source.isEmpty, "\(item.name)")
            #expect(item.skipped != nil || !item.steps.isEmpty, "\(item.name) asks nothing")
        }
    }

    @Test func casesAreSortedAndNamedOnce() {
        let cases = CaseList.all(Numbers(first: Numbers.usual))
        let first = cases.compactMap(\.rules.first)
        #expect(first == first.sorted())
        #expect(Set(cases.map(\.name)).count == cases.count)
    }
}
