import Foundation
import TestSupport
import Testing

/// The column of Samba in docs/guide/copies.md: a tree is read from one share and written to another.
@Suite(.serialized, .enabled(if: MountTesting.isLong && SambaServer.isPossible, SambaServer.missingInLongRun))
struct SambaCopyTests {
    @Test func eachCellOfTheTable() throws {
        let program = "smbclient"
        let command = try #require(CopyTableTests.command(program))
        let server = try SambaServer()
        // The scene's directories are below /srv, a file system of the script's own mount namespace, in which smbd runs as well.
        let shares = try [
            SambaServer.share("share", as: "a", of: "/srv/a"), SambaServer.share("share", as: "in", of: "/srv/b/in"),
            "[plain]\npath = /srv/plain\nread only = no",
        ]
        func copying(_ from: String, _ to: String) -> String {
            let command = command.replacingOccurrences(
                of: "smbclient //server/from", with: "smbclient -s \"$conf\" -U root%pw //127.0.0.1/\(from)"
            )
            .replacingOccurrences(of: "smbclient //server/to", with: "smbclient -s \"$conf\" -U root%pw //127.0.0.1/\(to)")
            return "(\(command)) >said 2>&1 || { echo failed; cat said; }\n"
        }
        let script =
            CopyTableTests.prelude.replacingOccurrences(of: "A=$1;", with: "A=$aclfs;")
            + "scene; \(copying("a", "in"))state; echo then\nscene; \(copying("a", "plain"))\(copying("plain", "in"))state\n"
            + "stop; trap - EXIT; aclfs unmount a; aclfs unmount b\n"
        let result = try server.run(shares, script)
        let parts = result.output.replacingOccurrences(of: "\ndone", with: "").components(separatedBy: "\nthen\n")
        #expect(parts.count == 2, "\(result)")
        let table = CopyTableTests.table(program)
        #expect(table.count == 10)
        for part in parts {
            let found = Dictionary(
                part.split(separator: "\n").map { ($0.components(separatedBy: "|")[0], $0.hasSuffix("|yes")) },
                uniquingKeysWith: { first, _ in first })
            #expect(found == table, "\(part)\n\(result)")
        }
    }
}
