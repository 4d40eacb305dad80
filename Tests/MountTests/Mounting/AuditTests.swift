import Foundation
import TestSupport
import Testing

/// The log of decisions (docs/reference/audit.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct AuditTests {
    private let fixture: MountFixture
    private let log: String

    init() throws {
        fixture = try MountFixture(options: nil)
        log = fixture.top + "/private/audit"
    }

    private func lines(_ path: String? = nil) -> [[String: Any]] {
        let text = (try? String(contentsOfFile: path ?? log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
        }
    }

    private func mount(_ words: String) throws { try fixture.mount("audit_log=\(log),\(words)") }

    @Test func aRefusalIsALine() throws {
        try mount("audit=denied")
        _ = try TestUser.root.run("sh", "-c", "echo text >\(fixture.path("secret")); chmod 600 \(fixture.path("secret"))")
        _ = try TestUser.alice.run("cat", fixture.path("secret"))
        eventually { lines().contains { $0["operation"] as? String == "open-read" } }
        let line = try #require(lines().first { $0["operation"] as? String == "open-read" })
        #expect(line["decision"] as? String == "denied" && line["errno"] as? String == "EACCES")
        #expect(line["uid"] as? Int == Int(TestUser.alice.uid) && line["stage"] as? String == "posix:other:object")
        #expect(line["path"] as? String == fixture.path("secret") && line["mount"] as? String == fixture.mountpoint)
        #expect(abs((line["time"] as? Double ?? 0) - Date().timeIntervalSince1970) < 60)
        #expect(!lines().contains { $0["decision"] as? String == "allowed" })
        let mode = try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func whatIsAllowedIsOnlyWhereAllIs() throws {
        try mount("audit=all")
        _ = try TestUser.root.run("sh", "-c", "echo text >\(fixture.path("plain"))")
        _ = try TestUser.alice.run("cat", fixture.path("plain"))
        eventually { lines().contains { $0["operation"] as? String == "open-read" } }
        let line = try #require(lines().first { $0["operation"] as? String == "open-read" })
        #expect(line["decision"] as? String == "allowed" && line["stage"] as? String == "posix:other:object")
        #expect(line["errno"] == nil && line["path"] as? String == fixture.path("plain"))
    }

    /// The key of the profile, as `explain` names it; also of a command that is confined.
    @Test func aSandboxNamesItsKey() throws {
        try FileManager.default.createDirectory(atPath: fixture.backing + "/Downloads", withIntermediateDirectories: true)
        try "text".write(toFile: fixture.backing + "/Downloads/file", atomically: true, encoding: .utf8)
        let profile = fixture.top + "/profile.entitlements"
        try """
        <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict><key>com.apple.security.app-sandbox</key><true/>\
        <key>com.apple.security.files.downloads.read-only</key><true/></dict></plist>
        """.write(toFile: profile, atomically: true, encoding: .utf8)
        try mount("audit=denied,sandbox=\(profile)")
        _ = try TestUser.root.run("sh", "-c", "echo more >>\(fixture.path("Downloads/file"))")
        eventually { lines().contains { $0["stage"] as? String == "sandbox" } }
        let line = try #require(lines().last { $0["stage"] as? String == "sandbox" })
        #expect(line["rule"] as? String == "com.apple.security.files.downloads.read-only" && line["errno"] as? String == "EPERM")
        #expect(line["profile"] as? String != nil && line["path"] as? String == fixture.path("Downloads/file"))
    }

    /// Who looks at many things is refused in their midst.
    @Test func whatIsAllowedCrowdsNoDenialOut() throws {
        try mount("audit=all")
        _ = try TestUser.root.run(
            "sh", "-c", "echo text >\(fixture.path("secret")); chmod 600 \(fixture.path("secret")); echo >\(fixture.path("open"))")
        _ = try TestUser.alice.run(
            "sh", "-c",
            "for i in $(seq 5); do for j in $(seq 40); do true <\(fixture.path("open")); done; true <\(fixture.path("secret")); sleep 1.1; done 2>/dev/null"
        )
        func denied() -> Int { lines().count { $0["decision"] as? String == "denied" && $0["uid"] as? Int == Int(TestUser.alice.uid) } }
        eventually { denied() == 5 }
        #expect(denied() == 5)
    }

    private func refuseAlice(_ script: String) throws {
        _ = try TestUser.root.run("sh", "-c", "echo text >\(fixture.path("secret")); chmod 600 \(fixture.path("secret"))")
        _ = try TestUser.alice.run("sh", "-c", "cd \(fixture.mountpoint); { \(script); } 2>/dev/null")
    }

    /// So many a second of one user, and of all; what was left out is counted, and the summary says whose and what.
    @Test func whoIsRefusedAgainAndAgainDoesNotFillIt() throws {
        let start = Date()
        try mount("audit=denied,audit_limit=6,audit_user_limit=4")
        _ = try TestUser.root.run("sh", "-c", "echo text >\(fixture.path("secret")); chmod 600 \(fixture.path("secret"))")
        for user in [TestUser.alice, .bob] {
            _ = try user.run("sh", "-c", "for i in $(seq 300); do true <\(fixture.path("secret")); done 2>/dev/null")
        }
        func told() -> [[String: Any]] { lines().filter { $0["operation"] as? String == "open-read" } }
        func leftOut() -> Int { lines().compactMap { ($0["operations"] as? [String: Any])?["open-read"] as? Int }.reduce(0, +) }
        eventually { told().count + leftOut() >= 600 }
        #expect(told().count + leftOut() == 600, "each refusal is a line or is counted")
        // However slow the machine is: the seconds that there were, and the two that were begun.
        let seconds = Int(Date().timeIntervalSince(start)) + 2
        #expect(told().count <= 6 * seconds)
        for user in [TestUser.alice, .bob] {
            let uid = Int(user.uid)
            let count = told().count { $0["uid"] as? Int == uid }
            #expect((1...4 * seconds).contains(count))
            let summaries = lines().filter { $0["left_out"] != nil && $0["uid"] as? Int == uid }
            #expect(summaries.compactMap { $0["left_out_denied"] as? Int }.reduce(0, +) >= 300 - count)
        }
    }

    @Test func harmlessRefusalsDoNotHideTheRealOne() throws {
        try mount("audit=denied")
        _ = try TestUser.root.run("sh", "-c", "echo >\(fixture.path("real")); chmod 600 \(fixture.path("real"))")
        try refuseAlice("for i in $(seq 40); do true <secret; done; true <real")
        eventually { lines().contains { $0["path"] as? String == fixture.path("real") } }
        #expect(lines().contains { $0["path"] as? String == fixture.path("real") && $0["uid"] as? Int == Int(TestUser.alice.uid) })
    }

    /// Of what is remembered for `explain --last`, too.
    @Test func aFloodOfOneUserPushesNothingOfOthersOut() throws {
        try mount("audit=denied")
        try refuseAlice("true <secret")
        _ = try TestUser.bob.run("sh", "-c", "for i in $(seq 1100); do true <\(fixture.path("secret")); done 2>/dev/null")
        let alices = try TestUser.alice.run(MountTesting.program("aclfs"), "explain", "--last", fixture.mountpoint)
        #expect(alices.status == 0 && alices.output.contains(fixture.path("secret")), "\(alices)")
        eventually { lines().contains { $0["uid"] as? Int == Int(TestUser.alice.uid) && $0["operation"] as? String == "open-read" } }
        #expect(lines().contains { $0["uid"] as? Int == Int(TestUser.alice.uid) && $0["operation"] as? String == "open-read" })
    }

    @Test func aLineSaysWhoAndWhenExactly() throws {
        try mount("audit=all,audit_user_limit=100")
        for number in 0..<4 { _ = try TestUser.root.run("mkdir", fixture.path("directory\(number)")) }
        try refuseAlice("true <secret")
        func made() -> [[String: Any]] { lines().filter { $0["operation"] as? String == "mkdir" } }
        eventually { made().count == 4 && lines().contains { $0["uid"] as? Int == Int(TestUser.alice.uid) } }
        #expect(made().count == 4 && made().allSatisfy { $0["uid"] as? Int == 0 && $0["user"] as? String == "root" })
        let fractions = made().compactMap { $0["nanoseconds"] as? Int }
        #expect(fractions.count == 4 && fractions.allSatisfy { (0..<1_000_000_000).contains($0) } && Set(fractions).count > 1)
        if getpwuid(TestUser.alice.uid) == nil {
            #expect(lines().allSatisfy { $0["uid"] as? Int == 0 || $0["user"] == nil }, "a number that no user has")
        }
    }

    @Test func aLogThatWasMovedAwayIsBegunAnew() throws {
        try mount("audit=denied")
        let (old, secret) = (log + ".1", fixture.path("secret"))
        _ = try TestUser.root.run("sh", "-c", "echo text >\(secret); chmod 600 \(secret)")
        _ = try TestUser.alice.run("cat", secret)
        eventually { !lines().isEmpty }
        try FileManager.default.moveItem(atPath: log, toPath: old)
        let daemons = MountFixture.daemons(of: fixture.mountpoint)
        for daemon in daemons { kill(daemon, SIGHUP) }
        eventually { FileManager.default.fileExists(atPath: log) }
        let before = lines(old).count
        _ = try TestUser.bob.run("cat", secret)
        eventually { lines().contains { $0["uid"] as? Int == Int(TestUser.bob.uid) } }
        #expect(lines().contains { $0["uid"] as? Int == Int(TestUser.bob.uid) } && lines(old).count == before)
        // What stands there now is no file to write to: the old one goes on.
        unlink(log)
        symlink("/dev/null", log)
        for daemon in daemons { kill(daemon, SIGHUP) }
        usleep(200_000)
        #expect(try TestUser.alice.run("cat", secret).status != 0 && MountFixture.daemons(of: fixture.mountpoint) == daemons)
    }

    @Test(arguments: [
        ("ln -s /dev/null LOG", "symbolic link"), ("mkdir LOG", "Is a directory"), ("mkfifo LOG", "a regular file"),
        ("touch LOG; chmod 666 LOG", "no other user may write"), ("touch LOG; chown 64321 LOG", "of the daemon's user"),
    ])
    func whatIsNoLogIsRefused(_ made: String, _ reason: String) throws {
        _ = try TestUser.root.run("sh", "-c", made.replacing("LOG", with: log))
        let result = try Spawn.run([
            MountTesting.program("aclfs"), "mount", "-o", "audit=denied,audit_log=\(log)", fixture.backing, fixture.mountpoint,
        ])
        #expect(result.status != 0 && result.output.contains(reason) && result.output.contains(log), "\(result)")
        #expect(!MountFixture.isMounted(fixture.mountpoint))
    }

    @Test(arguments: [
        ("audit=denied", "needs a file: add audit_log=PATH"), ("audit_log=/x", "have no effect by themselves"),
        ("audit=some,audit_log=/x", "expected off, denied, all"), ("audit=all,audit_log=x", "a file's absolute path"),
        ("audit=all,audit_log=/x,audit_limit=0", "from 1 to 1000000"), ("audit_user_limit=5", "have no effect by themselves"),
        ("audit=all,audit_log=/x,audit_user_limit=ten", "from 1 to 1000000"),
    ])
    func wrongWordsAreRefused(_ words: String, _ message: String) throws {
        let result = try Spawn.run([MountTesting.program("aclfs"), "mount", "-o", words, fixture.backing, fixture.mountpoint])
        #expect(result.status == 1 && result.output.contains(message), "\(result)")
    }
}
