import Foundation
import TestSupport
import Testing

/// The log of decisions (docs/audit.md).
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
        _ = try TestUser.root.run("sh", "-c", "echo text >\(fixture.path("secret")); chmod 600 \(fixture.path("secret")); echo >\(fixture.path("open"))")
        _ = try TestUser.alice.run(
            "sh", "-c",
            "for i in $(seq 5); do for j in $(seq 40); do true <\(fixture.path("open")); done; true <\(fixture.path("secret")); sleep 1.1; done 2>/dev/null")
        func denied() -> Int { lines().count { $0["decision"] as? String == "denied" && $0["uid"] as? Int == Int(TestUser.alice.uid) } }
        eventually { denied() == 5 }
        #expect(denied() == 5)
    }

    /// Ten a second of one user, so many of all; what was left out is counted.
    @Test func whoIsRefusedAgainAndAgainDoesNotFillIt() throws {
        try mount("audit=denied,audit_limit=15")
        _ = try TestUser.root.run("sh", "-c", "echo text >\(fixture.path("secret")); chmod 600 \(fixture.path("secret"))")
        for user in [TestUser.alice, .bob] {
            _ = try user.run("sh", "-c", "for i in $(seq 300); do true <\(fixture.path("secret")); done 2>/dev/null")
        }
        func leftOut() -> Int { lines().compactMap { $0["left_out"] as? Int }.reduce(0, +) }
        func told(_ user: TestUser? = nil) -> [[String: Any]] {
            lines().filter { $0["operation"] as? String == "open-read" && (user == nil || $0["uid"] as? Int == Int(user?.uid ?? 0)) }
        }
        eventually { told().count + leftOut() >= 600 }
        #expect(told().count + leftOut() == 600, "each refusal is a line or is counted")
        for user in [TestUser.alice, .bob] {
            for (_, lines) in Dictionary(grouping: told(user), by: { $0["time"] as? Int }) { #expect(lines.count <= 10) }
        }
        for (_, lines) in Dictionary(grouping: told(), by: { $0["time"] as? Int }) { #expect(lines.count <= 15) }
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
        ("ln -s /dev/null LOG", "symbolic link"), ("mkdir LOG", "Is a directory"), ("mkfifo LOG", "no plain file"),
        ("touch LOG; chmod 666 LOG", "nobody else may write"), ("touch LOG; chown 64321 LOG", "of the daemon's user"),
    ])
    func whatIsNoLogIsRefused(_ made: String, _ reason: String) throws {
        _ = try TestUser.root.run("sh", "-c", made.replacing("LOG", with: log))
        let result = try Spawn.run([MountTesting.program("aclfs"), "mount", "-o", "audit=denied,audit_log=\(log)", fixture.backing, fixture.mountpoint])
        #expect(result.status != 0 && result.output.contains(reason) && result.output.contains(log), "\(result)")
        #expect(!MountFixture.isMounted(fixture.mountpoint))
    }

    @Test(arguments: [
        ("audit=denied", "needs a file: add audit_log=PATH"), ("audit_log=/x", "say nothing by themselves"),
        ("audit=some,audit_log=/x", "expected off, denied, all"), ("audit=all,audit_log=x", "a file's absolute path"),
        ("audit=all,audit_log=/x,audit_limit=0", "from 1 to 1000000"),
    ])
    func wrongWordsAreRefused(_ words: String, _ message: String) throws {
        let result = try Spawn.run([MountTesting.program("aclfs"), "mount", "-o", words, fixture.backing, fixture.mountpoint])
        #expect(result.status == 1 && result.output.contains(message), "\(result)")
    }
}
