import Foundation
import TestSupport
import Testing

/// Samba's own tests of lists, on a mount and beside it on the file system below with lists of Samba: each result is in the table of docs/guide/samba.md.
@Suite(.serialized, .enabled(if: MountTesting.isLong && SambaServer.isPossible(with: "smbd smbtorture"), SambaServer.missingInLongRun))
struct SambaTortureTests {
    private struct Row: Hashable {
        var test: String
        /// On the file system below, and on a mount.
        var passes: [Bool]
    }

    private static func table() throws -> [Row] {
        let text = try String(contentsOf: Repository.top.appendingPathComponent("docs/guide/samba.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## smbtorture\n").dropFirst().first).components(separatedBy: "\n## ")[0]
        return section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
            return Row(test: cells[1].replacingOccurrences(of: "`", with: ""), passes: [cells[2] == "pass", cells[3] == "pass"])
        }
    }

    @Test func eachResultIsAsTheDocumentSays() throws {
        let table = try Self.table()
        #expect(table.count == 15)
        let below = try results { server in
            { name in
                "[\(name)]\npath = \(server.plain)\nread only = no\nvfs objects = acl_xattr"
            }
        }
        let mount = try results { server in { name in try SambaServer.share("share", as: name, of: server.fixture.mountpoint) } }
        #expect(Set(below.keys) == Set(table.map(\.test)) && Set(mount.keys) == Set(table.map(\.test)))
        for row in table { #expect([below[row.test], mount[row.test]] == row.passes, "\(row.test)") }
    }

    /// What fruit does of what Macs need is the same on a mount: streams, resource forks, listings.
    @Test func fruitDoesTheSameAsBelow() throws {
        let server = try SambaServer()
        let module = "vfs objects = catia fruit streams_xattr acl_xattr\nfruit:metadata = stream\nfruit:encoding = native"
        let shares = [
            // The first line belongs to the general settings: some tests need it.
            "fruit:copyfile = yes", "[plain]\npath = \(server.plain)\nread only = no\n\(module)",
            try SambaServer.share("mac", of: server.fixture.mountpoint),
        ]
        let result = try server.run(
            shares,
            #"""
            $aclfs chmod +a 'user:alice allow full_control,file_inherit,directory_inherit' "$mnt"
            for share in plain mac; do
                timeout 120 smbtorture -s "$conf" -U alice%pw //127.0.0.1/$share vfs.fruit 2>&1 | sed -nE 's/^(success|failure|error|skip): ([^[]+).*/\1 \2/p' >"$1/$share.said"
            done
            is 'the same' '' "$(diff "$1/plain.said" "$1/mac.said")"; is 'tests' 32 "$(wc -l <"$1/mac.said")"; is 'of which succeed' 28 "$(grep -c ^success "$1/mac.said")"
            """#)
        #expect(result.output == "done", "\(result)")
    }

    /// - Parameter share: a share by its name, with the directory of a server.
    private func results(_ share: (SambaServer) -> (String) throws -> String) throws -> [String: Bool] {
        let server = try SambaServer()
        let share = share(server)
        let shares = try [
            share("acls"), share("hideunread") + "\nhide unreadable = yes",
            share("acls_non_canonical") + "\nacl flag inherited canonicalization = no",
        ]
        let result = try server.run(
            shares,
            #"""
            for test in smb2.acls smb2.acls_non_canonical; do
                timeout 60 smbtorture -s "$conf" -U alice%pw "//127.0.0.1/${test#smb2.}" $test 2>&1 | tee -a "$1/torture" |
                    sed -nE "s/^(success|failure|error|skip): ([A-Za-z0-9_-]+).*/\1 $test.\2/p"
            done
            """#)
        let lines = result.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines.last == ["done"], "\(result)")
        let said = try String(contentsOfFile: server.fixture.top + "/torture", encoding: .utf8)
        let found = Dictionary(lines.filter { $0.count == 2 }.map { ($0[1], $0[0] == "success") }, uniquingKeysWith: { first, _ in first })
        // What an unexpected result says is found in the log of the tests.
        for reason in said.components(separatedBy: "\n").filter({ $0.hasPrefix("(../") || $0.hasPrefix("../") }) {
            print("smbtorture: \(reason)")
        }
        return found
    }
}
