import Foundation
import Glibc
import TestSupport
import Testing

/// `groups=directory`: membership that only the directory service knows, and a directory service that hangs.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct DirectoryGroupsMountTests {
    private let team: UInt32 = 5600
    private let dora = TestUser(uid: 5501, gid: 5501, groups: [5501])
    private let accounts: PrivateAccounts

    init() throws {
        accounts = try PrivateAccounts(
            users: ["dora": 5501, "emil": 5502],
            groups: [
                5501: .init(name: "dora", members: []), 5600: .init(name: "team", members: []),
                // Whose name nobody asks for before the directory hangs.
                5700: .init(name: "spare", members: []),
            ])
    }

    private func mount(_ options: String) throws -> (MountFixture, root: ActingProcess, dora: ActingProcess) {
        let fixture = try MountFixture(options: options, within: accounts.within)
        let root = try ActingProcess(.root, within: accounts.within)
        try root.must("chmod", fixture.mountpoint, "0755")
        func make(_ name: String, _ mode: String, _ uid: String, _ gid: String, acl: String? = nil) throws {
            try root.must("create", fixture.path(name), "0600", "0")
            try root.must("chown", fixture.path(name), uid, gid)
            try root.must("chmod", fixture.path(name), mode)
            if let acl { try root.must("setxattr", fixture.path(name), "system.aclfs.acl", acl) }
        }
        try make("shared", "0640", "0", "5600")
        try make("allowed", "0600", "0", "0", acl: "group:team allow read")
        try make("denied", "0644", "0", "0", acl: "group:team deny read")
        try make("locked-out", "0604", "0", "5600")
        try make("open", "0644", "0", "0")
        try make("mine", "0600", "5501", "5501")
        return (fixture, root, try ActingProcess(dora, within: accounts.within))
    }

    private func reads(_ process: ActingProcess, _ fixture: MountFixture) throws -> [String: String] {
        var words: [String: String] = [:]
        for name in ["shared", "allowed", "denied", "locked-out", "open", "mine"] {
            words[name] = try process.call("open", fixture.path(name), "0").word
        }
        return words
    }

    private let asStranger = [
        "shared": "EACCES", "allowed": "EACCES", "denied": "ok", "locked-out": "ok", "open": "ok", "mine": "ok",
    ]
    private let asMember = [
        "shared": "ok", "allowed": "ok", "denied": "EACCES", "locked-out": "EACCES", "open": "ok", "mine": "ok",
    ]
    private let unknown = [
        "shared": "EACCES", "allowed": "EACCES", "denied": "EACCES", "locked-out": "EACCES", "open": "ok", "mine": "ok",
    ]

    @Test func whoIsAddedToAGroupIsAMemberAfterTheCacheTime() throws {
        let (fixture, _, dora) = try mount("groups=directory,groups_cache=400")
        #expect(try reads(dora, fixture) == asStranger)
        #expect(try dora.call("chown", fixture.path("mine"), String(UInt32.max), "5600").word == "EPERM")
        try accounts.setMembers(["dora"], of: team)
        usleep(450_000)
        #expect(try reads(dora, fixture) == asMember)
        #expect(try dora.call("chown", fixture.path("mine"), String(UInt32.max), "5600").word == "ok")
        try accounts.setMembers(["emil"], of: team)
        usleep(450_000)
        #expect(try reads(dora, fixture) == asStranger)
    }

    @Test func withoutACacheTheNextCallCounts() throws {
        let (fixture, _, dora) = try mount("groups=directory,groups_cache=0")
        for _ in 0..<20 {
            try accounts.setMembers(["dora"], of: team)
            #expect(try reads(dora, fixture) == asMember)
            try accounts.setMembers([], of: team)
            #expect(try reads(dora, fixture) == asStranger)
        }
    }

    /// The rule is the process' own list, else the directory (docs/reference/authorization.md 1.4).
    @Test func theProcessOwnGroupsStillCount() throws {
        let (fixture, _, _) = try mount("groups=directory,groups_cache=0")
        let member = try ActingProcess(TestUser(uid: 5501, gid: 5501, groups: [5600]), within: accounts.within)
        #expect(try reads(member, fixture) == asMember)
        let byGroupID = try ActingProcess(TestUser(uid: 5501, gid: 5600, groups: []), within: accounts.within)
        #expect(try reads(byGroupID, fixture) == asMember)
        // Without any account: the process alone says what he is.
        let nobodys = try ActingProcess(TestUser(uid: 5999, gid: 5999, groups: [5600]), within: accounts.within)
        #expect(try nobodys.call("open", fixture.path("shared"), "0").word == "ok")
    }

    @Test func processGroupsAloneCountByDefault() throws {
        let (fixture, _, dora) = try mount("groups_cache=0")
        try accounts.setMembers(["dora"], of: team)
        #expect(try reads(dora, fixture) == asStranger)
    }

    @Test func explainKnowsWhatTheDirectorySays() throws {
        let (fixture, _, dora) = try mount("groups=directory,groups_cache=0")
        let aclfs = MountTesting.program("aclfs")
        try accounts.setMembers(["dora"], of: team)
        func explain(_ name: String) throws -> CommandResult {
            let words = ["--", aclfs, "explain", "open-read", fixture.path(name)]
            return try Spawn.run(accounts.within + self.dora.arguments + words)
        }
        let shared = try explain("shared")
        #expect(shared.status == 0 && shared.output.contains("posix:group"), "\(shared)")
        let denied = try explain("denied")
        #expect(denied.status == 1 && denied.output.contains("group:team deny read"), "\(denied)")
        #expect(try dora.call("open", fixture.path("shared"), "0").word == "ok")
    }

    /// getgrouplist(3) would pass over it, and a member whom only it knows would slip through denials.
    @Test func aServiceThatCannotBeAskedIsNotANo() throws {
        try accounts.addBrokenService()
        let (fixture, _, dora) = try mount("groups=directory,groups_cache=0")
        #expect(try reads(dora, fixture) == unknown)
        let member = try ActingProcess(TestUser(uid: 5501, gid: 5501, groups: [5600]), within: accounts.within)
        #expect(try reads(member, fixture) == asMember)
    }

    /// Membership turns unknown and helps nobody; what does not depend on it goes on, and nobody waits for long.
    @Test func aDirectoryThatHangsHelpsNobodyAndHoldsNobodyUp() throws {
        let (fixture, root, dora) = try mount("groups=directory,groups_cache=50")
        let emil = try ActingProcess(TestUser(uid: 5502, gid: 5502, groups: []), within: accounts.within)
        try accounts.setMembers(["dora"], of: team)
        usleep(100_000)
        #expect(try reads(dora, fixture) == asMember)
        try accounts.hang()
        usleep(100_000)
        var start = Date()
        #expect(try reads(dora, fixture) == unknown)
        #expect(seconds(since: start) > 1.5)
        start = Date()
        // 50 waits would take 100 seconds.
        for _ in 0..<50 { #expect(try reads(dora, fixture) == unknown) }
        #expect(seconds(since: start) < 50)
        #expect(try reads(emil, fixture) == unknown.merging(["mine": "EACCES"]) { $1 })
        // Root never waits for it, and strangers without number only until all threads hang.
        start = Date()
        #expect(try root.call("open", fixture.path("shared"), "0").word == "ok")
        #expect(seconds(since: start) < 10)
        for uid in UInt32(6000)..<6008 {
            let stranger = try ActingProcess(TestUser(uid: uid, gid: uid, groups: []), within: accounts.within)
            _ = try stranger.call("open", fixture.path("open"), "0")
        }
        #expect(try accountThreads(fixture) <= 8)
        try accounts.recover()
        var words: [String: String] = [:]
        try eventually {
            words = try reads(dora, fixture)
            return words == asMember
        }
        #expect(words == asMember)
    }

    /// Names in texts have a deadline of their own, and no lock waits with them.
    @Test func namesFallBackWhileTheDirectoryHangs() throws {
        let (fixture, root, dora) = try mount("groups=process")
        let other = try ActingProcess(.root, within: accounts.within)
        try accounts.hang()
        let asking = try Spawn.start(
            accounts.within + ["getfattr", "--only-values", "-n", "system.aclfs.acl", fixture.path("allowed")],
            descriptors: [-1, -1, 2])
        usleep(300_000)
        // Meanwhile changes, which take the lock for themselves, and reads go on.
        var start = Date()
        for mode in ["0600", "0644", "0600", "0644"] { try other.must("chmod", fixture.path("open"), mode) }
        #expect(try dora.call("open", fixture.path("open"), "0").word == "ok")
        var status: Int32 = 0
        let stillAsks = waitpid(asking, &status, WNOHANG) == 0
        #expect(stillAsks || seconds(since: start) < 10)
        #expect(stillAsks ? Spawn.wait(asking) == 0 : status == 0)
        let text = try root.must("getxattr", fixture.path("allowed"), "system.aclfs.acl")
        #expect(unescaped(text) == Array("ABCDEFAB-CDEF-ABCD-EFAB-CDEF000015E0 allow read\n".utf8))
        start = Date()
        let list = "system.aclfs.acl"
        #expect(try root.call("setxattr", fixture.path("open"), list, "group:spare allow read").word == "EINVAL")
        #expect(seconds(since: start) < 20)
        let numbers = "group:#5600 allow read"
        #expect(try root.call("setxattr", fixture.path("open"), list, numbers).word == "ok")
        try accounts.recover()
        var named = ""
        try eventually {
            named = String(decoding: unescaped(try root.must("getxattr", fixture.path("open"), list)), as: UTF8.self)
            return named.hasPrefix("group:team")
        }
        #expect(named == "group:team allow read\n")
    }

    private func seconds(since start: Date) -> Double { Date().timeIntervalSince(start) }

    /// Threads of the daemon that ask the account databases.
    private func accountThreads(_ fixture: MountFixture) throws -> Int {
        let daemons = MountFixture.daemons(of: fixture.mountpoint)
        #expect(daemons.count == 1)
        return try daemons.reduce(0) { count, pid in
            let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")
            let names = tasks.map { task in
                (try? String(contentsOfFile: "/proc/\(pid)/task/\(task)/comm", encoding: .utf8)) ?? ""
            }
            return count + names.count { $0.hasPrefix("aclfs-accounts") }
        }
    }
}
