import Foundation
import TestSupport
import Testing

/// Samba's own tests of lists, on a mount and beside it on the file system below with lists of Samba: each result is in the table of docs/samba.md.
@Suite(.serialized, .enabled(if: SambaServer.isPossible(with: "smbd smbtorture"), SambaServer.missing))
struct SambaTortureTests {
    private struct Row: Hashable {
        var test: String
        /// On the file system below, and on a mount.
        var passes: [Bool]
    }

    private static func table() throws -> [Row] {
        let text = try String(contentsOf: Repository.top.appendingPathComponent("docs/samba.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## smbtorture\n").dropFirst().first).components(separatedBy: "\n## ")[0]
        return section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
            return Row(test: cells[1].replacingOccurrences(of: "`", with: ""), passes: [cells[2] == "pass", cells[3] == "pass"])
        }
    }

    @Test func eachResultIsAsTheDocumentSays() throws {
        let table = try Self.table()
        #expect(table.count == 15)
        let server = try SambaServer()
        let shares = [
            try SambaServer.share("share", of: server.fixture.mountpoint),
            "[plain]\npath = \(server.plain)\nread only = no\nvfs objects = acl_xattr\nacl flag inherited canonicalization = no\n",
        ]
        let result = try server.run(
            shares,
            #"""
            for share in plain share; do for test in smb2.acls smb2.acls_non_canonical; do
                timeout 60 smbtorture -s "$conf" -U alice%pw "//127.0.0.1/$share" $test 2>&1 |
                    sed -nE "s/^(success|failure|error|skip): ([A-Za-z0-9_-]+).*/$share \1 $test.\2/p"
            done; done
            """#)
        let lines = result.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines.last == ["done"])
        func passes(_ test: String, on share: String) -> Bool? {
            lines.first { $0.count == 3 && $0[0] == share && $0[2] == test }.map { $0[1] == "success" }
        }
        let found = lines.filter { $0.count == 3 }
        #expect(found.count == 2 * table.count, "\(result)")
        for row in table {
            #expect([passes(row.test, on: "plain"), passes(row.test, on: "share")] == row.passes, "\(row.test): \(result)")
        }
    }
}
