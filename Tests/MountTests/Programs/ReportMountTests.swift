import Foundation
import Glibc
import TestSupport
import Testing

/// `aclfs report` (docs/guide/report.md): on a mount as root and as an ordinary user, and of a backing directory.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ReportMountTests {
    /// It ends first: its mounts are in the namespace.
    private let fixture: MountFixture
    private let accounts: PrivateAccounts
    private var output: String { fixture.top + "/report.html" }

    init() throws {
        accounts = try PrivateAccounts(
            users: ["alice": 501, "bob": 502, "carol": 503],
            groups: [20: .init(name: "staff", members: ["alice", "bob"]), 30: .init(name: "interns", members: ["carol"])])
        fixture = try MountFixture(within: accounts.within)
        // Control sockets of its own: daemons of other tests may hang.
        _ = try Spawn.run(accounts.within + ["sh", "-c", "mkdir -p /run/aclfs"])
        let made = try shell(Self.tree)
        guard made.status == 0 else { throw FixtureError("no tree: \(made)") }
    }

    /// Nearly every object differs from those around it.
    private static let tree = #"""
        set -e; umask 022
        $A chmod +a "group:staff allow list,search,add_file,file_inherit,directory_inherit" .
        mkdir plans; $A chmod +a "carol deny list,delete,file_inherit" plans; touch plans/inherits
        mkdir -m 700 closed; touch closed/inside; chmod 666 closed/inside; chown -R alice:staff closed
        mkdir -m 1777 open; touch open/bobs; chown bob:staff open/bobs
        touch locked kept owned order unknown; chown alice:staff locked owned; $A chflags uchg locked; $A backup exclude kept
        chmod 604 owned; chown 4242:interns owned
        $A chmod +a "group:interns allow write,append,chown" order; $A chmod +a# 0 "carol deny append" order
        $A chmod +a "5EFD76A1-0DAF-4B6E-9E3E-55E1E4C53B1E allow write" unknown
        ln -s plans link; mkfifo -m 600 pipe; mkdir deep deep/er; chmod 710 deep; chown :interns deep; chmod 2775 deep/er; chown bob deep/er
        """#

    private func shell(_ script: String) throws -> CommandResult {
        try Spawn.run(
            accounts.within + [
                "bash", "-uc", "cd '\(fixture.mountpoint)' && export LC_ALL=C; A=\(MountTesting.program("aclfs"))\n\(script)",
            ])
    }

    private func aclfs(_ user: TestUser, _ words: [String]) throws -> CommandResult {
        try Spawn.run(accounts.within + user.arguments + ["--", MountTesting.program("aclfs")] + words)
    }

    private func lines(_ user: TestUser, _ directory: String, status: Int32 = 0) throws -> [[String: Any]] {
        let offline = directory.hasPrefix(fixture.backing) ? ["--offline"] : []
        let result = try aclfs(user, ["report", "--json"] + offline + [directory])
        #expect(result.status == status, "\(result)")
        return result.output.split(separator: "\n").compactMap { line in
            line.hasPrefix("aclfs:") ? nil : try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        }
    }

    private func lines(_ all: [[String: Any]], _ type: String) -> [[String: Any]] { all.filter { $0["type"] as? String == type } }

    /// The rights that a report gives each subject at a place, by the words of `--as`.
    private func verdicts(_ report: [[String: Any]]) throws -> [(path: String, who: String, rights: Set<String>)] {
        var looks: [Int: [String: Any]] = [:]
        for line in lines(report, "rights") { looks[try #require(line["rights"] as? Int)] = line }
        let subjects = lines(report, "subject")
        var found: [(path: String, who: String, rights: Set<String>)] = []
        for place in lines(report, "place") {
            let items = (place["count"] as? Int == 1 ? [place] : []) + (place["below"] as? [[String: Any]] ?? [])
            for item in items {
                guard let path = item["path"] as? String, let number = item["rights"] as? Int else { continue }
                let look = try #require(looks[number])
                let usual = Set(try #require(look["everyone_else"] as? [String]))
                let without = Set(try #require(look["without_account"] as? [String]))
                var own: [Int: Set<String>] = [:]
                for item in look["subjects"] as? [[String: Any]] ?? [] {
                    own[try #require(item["subject"] as? Int)] = Set(try #require(item["rights"] as? [String]))
                }
                found.append((path, "3000000:77777", usual))
                for subject in subjects {
                    let (index, number) = (try #require(subject["subject"] as? Int), try #require(subject["number"] as? Int))
                    let isUser = subject["kind"] as? String == "user"
                    let hasAccount = !isUser || subject["name"] is String
                    found.append((path, isUser ? "\(number)" : "3000000:\(number)", own[index] ?? (hasAccount ? usual : without)))
                }
            }
        }
        return found
    }

    /// The rights that `aclfs effective` says are allowed.
    private func granted(_ output: String) -> Set<String> {
        var words: Set<String> = []
        for line in output.split(separator: "\n") {
            let cells: [Substring] = line.split(separator: " ")
            if cells.count > 1, cells[1] == "allowed" { words.insert(String(cells[0])) }
        }
        return words
    }

    @Test func theReportSaysWhatTheDaemonSays() throws {
        let report = try lines(.root, fixture.mountpoint)
        let verdicts = try verdicts(report)
        #expect(Set(verdicts.map(\.path)).count >= 12, "\(Set(verdicts.map(\.path)))")
        #expect(Set(verdicts.map(\.who)).isSuperset(of: ["501", "502", "503", "4242", "3000000:20", "3000000:30", "3000000:77777"]))
        for verdict in verdicts where verdict.path != "pipe" {
            let answer = try aclfs(.root, ["effective", "--as", verdict.who, fixture.path(verdict.path)])
            #expect(answer.status == 0 && granted(answer.output) == verdict.rights, "\(verdict): \(answer)")
        }
    }

    /// The counts, the findings and the rights of every place are the same without a mount.
    @Test func aBackingDirectoryGivesTheSameReport() throws {
        let mounted = try lines(.root, fixture.mountpoint)
        let refused = try aclfs(.root, ["report", "-o", output, fixture.backing])
        #expect(refused.status == 2 && refused.output.contains("or name a directory on the mount"), "\(refused)")
        #expect(try fixture.unmount().status == 0)
        let offline = try lines(.root, fixture.backing)
        func comparable(_ report: [[String: Any]]) throws -> [String] {
            try report.filter { $0["type"] as? String != "report" }
                .map { String(decoding: try JSONSerialization.data(withJSONObject: $0, options: .sortedKeys), as: UTF8.self) }
        }
        #expect(try Set(comparable(mounted)) == Set(comparable(offline)))
        #expect(mounted[0]["objects"] as? Int == offline[0]["objects"] as? Int && mounted.count > 40)
    }

    @Test func findingsAreNamed() throws {
        let report = try lines(.root, fixture.mountpoint)
        let found = Set(lines(report, "unusual").map { "\($0["kind"] ?? "") \($0["path"] ?? "")" })
        for expected in [
            "everyone_may_write open", "deny_shadows_allow order", "unknown_identity unknown", "unknown_identity owned",
            "locked_by_flag locked",
            "excluded_from_backup kept", "explicit_entries plans", "everyone_may_write closed/inside",
        ] where expected != "everyone_may_write closed/inside" { #expect(found.contains(expected), "\(expected): \(found)") }
        // The folder above keeps others out.
        #expect(!found.contains("everyone_may_write closed/inside"))
    }

    /// carol may list what others may, and gets a row for the rest.
    @Test func anOrdinaryUserGetsAReport() throws {
        let carol = TestUser(uid: 503, gid: 30, groups: [30])
        let report = try lines(carol, fixture.mountpoint, status: 1)
        let places = lines(report, "place")
        func place(_ path: String) -> [String: Any]? { places.first { $0["path"] as? String == path } }
        #expect(place("closed")?["contents_not_readable"] as? String == "Permission denied", "\(places)")
        #expect(place("plans")?["contents_not_readable"] as? String == "Permission denied")
        #expect(place("order") != nil && place("pipe")?["not_readable"] as? String == "Permission denied")
        let unreadable = Set(lines(report, "unreadable").compactMap { $0["path"] as? String })
        #expect(unreadable == ["closed", "deep", "pipe", "plans"], "\(unreadable)")
        // Of what both may read, carol and root are told the same.
        let known = Dictionary(
            uniqueKeysWithValues: try verdicts(lines(.root, fixture.mountpoint)).map { ("\($0.path) \($0.who)", $0.rights) })
        // What agrees is put together otherwise where less is seen.
        var compared = 0
        for verdict in try verdicts(report) {
            guard let rights = known["\(verdict.path) \(verdict.who)"] else { continue }
            compared += 1
            #expect(rights == verdict.rights, "\(verdict)")
        }
        #expect(compared > 40, "\(compared)")
        // A page as well, on standard output.
        let page = try aclfs(carol, ["report", fixture.mountpoint])
        #expect(page.status == 1 && page.output.hasPrefix("<!DOCTYPE html>") && page.output.contains("not readable: Permission denied"))
        #expect(page.output.contains("Only root and the user who mounted may know its options"))
    }

    /// The directories between mount point and directory count.
    @Test func aDirectoryBelowAClosedOneIsClosed() throws {
        let report = try lines(.root, fixture.path("closed"))
        let inside = try #require(lines(report, "rights").first { $0["kind"] as? String == "file" })
        #expect(inside["everyone_else"] as? [String] == [])
        let deeper = try lines(.root, fixture.path("deep/er"))
        let entries = lines(deeper, "rights").flatMap { $0["entries"] as? [[String: Any]] ?? [] }
        #expect(entries.count == 1 && entries[0]["origin"] as? Int == -2, "\(deeper)")
    }

    @Test func noacl() throws {
        #expect(try fixture.unmount().status == 0)
        try fixture.mount("noacl")
        let report = try lines(.root, fixture.mountpoint)
        #expect("\(report[0]["notes"] ?? "")".contains("noacl"))
        for verdict in try verdicts(report) where verdict.path != "pipe" {
            let answer = try aclfs(.root, ["effective", "--as", verdict.who, fixture.path(verdict.path)])
            #expect(granted(answer.output) == verdict.rights, "\(verdict)")
        }
    }

    @Test func theFileAppearsComplete() throws {
        #expect(try aclfs(.root, ["report", "-o", output, fixture.mountpoint]).status == 0)
        var status = stat()
        #expect(stat(output, &status) == 0 && status.st_mode & 0o7777 == 0o600 && status.st_size > 5000)
        let again = try aclfs(.root, ["report", "--output", output, fixture.mountpoint])
        #expect(again.status == 2 && again.output.contains("exists already; --force replaces it"), "\(again)")
        #expect(try aclfs(.root, ["report", "--force", "-o", output, fixture.mountpoint]).status == 0)
        try shellMust("ln -sf report.html '\(fixture.top)/link'; mkdir '\(fixture.top)/folder'")
        for name in ["link", "folder"] {
            let refused = try aclfs(.root, ["report", "--force", "-o", fixture.top + "/" + name, fixture.mountpoint])
            #expect(refused.status == 2 && refused.output.contains("only a regular file is replaced"), "\(refused)")
        }
        for wrong in [["--force"], ["-o", fixture.top + "/none/x"], ["-o", fixture.top + "/"], ["--metadata", "user"]] {
            #expect(try aclfs(.root, ["report"] + wrong + [fixture.mountpoint]).status == 2, "\(wrong)")
        }
        for wrong in [
            ["report"], ["report", fixture.path("kept")], ["report", fixture.path("gone")], ["report", fixture.mountpoint, "x"],
        ] {
            #expect(try aclfs(.root, wrong).status == 2, "\(wrong)")
        }
        let left = try Spawn.run(["sh", "-c", "ls -A '\(fixture.top)'"])
        #expect(!left.output.contains(".aclfs-report"), "\(left)")
    }

    /// The mount's top passes entries on to files.
    @Test func theFileInheritsNothing() throws {
        try shellMust("mkdir pages; chown alice:staff pages; touch pages/other")
        let page = fixture.path("pages/report.html")
        #expect(try aclfs(.alice, ["report", "-o", page, fixture.path("plans")]).status == 0)
        #expect(try shell("$A ls -le pages/other").output.contains("group:staff inherited allow"))
        #expect(try shell("$A ls -le pages/report.html").output.hasPrefix("-rw-------  1"))
        let bob = try Spawn.run(accounts.within + TestUser.bob.arguments + ["--", "cat", page])
        #expect(bob.status != 0, "\(bob)")
    }

    private func shellMust(_ script: String) throws { #expect(try shell(script).status == 0, "\(script)") }

    @Test func theExamplesAreTrue() throws {
        let document = try DocumentExamples("docs/guide/report.md")
        let examples = try #require(document.sections.first { $0.heading == "A look at it" }).examples
        #expect(examples.count == 11)
        try DocumentExamples.run(examples, mountpoints: ["/srv/share"])
    }
}
