import Foundation
import Glibc
import TestSupport
import Testing

/// `groups=directory` with a real directory service that knows nested groups, becomes slow, stands still, dies and comes back.
@Suite(
    .serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"),
    .enabled(if: MountTesting.isLong, "with ACLFS_TEST_LONG=1"),
    .enabled(if: LDAPDirectory.isInstalled, "no slapd, nslcd or ldap-utils (make long_clients)"))
struct LDAPDirectoryTests {
    private let fixture: MountFixture
    private let root: ActingProcess
    private let dora: ActingProcess
    private let emil: ActingProcess
    /// The last to end: the fixture unmounts in its namespace.
    private let ldap: LDAPDirectory

    init() throws {
        ldap = try LDAPDirectory()
        fixture = try MountFixture(options: "groups=directory,groups_cache=50", within: ldap.within)
        root = try ActingProcess(.root, within: ldap.within)
        dora = try ActingProcess(TestUser(uid: 5501, gid: 5501, groups: [5501]), within: ldap.within)
        emil = try ActingProcess(TestUser(uid: 5502, gid: 5502, groups: [5502]), within: ldap.within)
        try root.must("chmod", fixture.mountpoint, "0755")
        for (name, mode, acl) in [
            ("allowed", "0600", "group:#5602 allow read"), ("denied", "0644", "group:#5602 deny read"), ("open", "0644", ""),
        ] {
            try root.must("create", fixture.path(name), mode, "0")
            try root.must("chmod", fixture.path(name), mode)
            if !acl.isEmpty { try root.must("setxattr", fixture.path(name), "system.aclfs.acl", acl) }
        }
        try root.must("create", fixture.path("owned"), "0600", "0")
        try root.must("setxattr", fixture.path("owned"), "system.aclfs.owner", "ABCDEFAB-CDEF-ABCD-EFAB-CDEF000015E2")
    }

    private func words(_ process: ActingProcess) throws -> [String] {
        try ["allowed", "denied", "owned", "open"].map { try process.call("open", fixture.path($0), "0").word }
    }

    private let asMember = ["ok", "EACCES", "ok", "ok"]
    private let asStranger = ["EACCES", "ok", "EACCES", "ok"]
    private let unknown = ["EACCES", "EACCES", "EACCES", "ok"]

    private func seconds(_ body: () throws -> Void) throws -> Double {
        let start = Date()
        try body()
        return Date().timeIntervalSince(start)
    }

    /// What has nothing to do with the directory service: root, and a file that was opened before.
    private func expectUnrelatedToGoOn(_ what: String) throws {
        let time = try seconds {
            for _ in 0..<20 {
                try root.must("open", fixture.path("allowed"), "0")
                try dora.must("pread", "1", "0")
            }
        }
        #expect(time < 1.5, "\(what): \(time) s")
    }

    @Test func nestedGroupsCountAndEnd() throws {
        #expect(try words(dora) == asMember && words(emil) == asStranger)
        let aclfs = MountTesting.program("aclfs")
        let explained = try Spawn.run(ldap.within + [aclfs, "explain", "--as", "dora", "open-read", fixture.path("denied")])
        #expect(explained.status == 1 && explained.output.contains("group:outer deny read"), "\(explained)")
        try ldap.setMember(false)
        #expect(try eventually { try words(dora) == asStranger })
        try ldap.setMember(true)
        #expect(try eventually { try words(dora) == asMember })
    }

    @Test func oneThatFailsGrantsNothingAndHoldsUpNobodyElse() throws {
        try dora.must("hold", "1", fixture.path("open"), "0", "0")
        #expect(try words(dora) == asMember)

        // Slow: within the deadline the answer counts.
        ldap.stop()
        usleep(100_000)
        try dora.begin(["open", fixture.path("allowed"), "0"])
        try expectRootToGoOn()
        usleep(700_000)
        ldap.goOn()
        #expect(try dora.end().word == "ok")

        // It stands still.
        ldap.stop()
        usleep(100_000)
        var answers: [String] = []
        let time = try seconds { answers = try words(dora) }
        #expect(answers == unknown && time < 12, "\(answers), \(time) s")
        try expectUnrelatedToGoOn("stopped")
        for _ in 0..<5 {
            #expect(try words(dora) == unknown)
            #expect(try words(emil) == unknown)
        }
        try expectUnrelatedToGoOn("stopped for longer")
        ldap.goOn()
        #expect(try eventually(within: 60) { try words(dora) == asMember && words(emil) == asStranger })

        // It is killed, and starts again.
        ldap.killServer()
        usleep(100_000)
        #expect(try words(dora) == unknown)
        try expectUnrelatedToGoOn("killed")
        #expect(try words(emil) == unknown)
        try ldap.startServer()
        #expect(try eventually(within: 60) { try words(dora) == asMember && words(emil) == asStranger })

        // So is what stands between the C library and the server.
        ldap.killResolver()
        usleep(100_000)
        #expect(try words(dora) == unknown && words(emil) == unknown)
        try expectUnrelatedToGoOn("no resolver")
        try ldap.startResolver()
        #expect(try eventually(within: 60) { try words(dora) == asMember && words(emil) == asStranger })
    }

    private func expectRootToGoOn() throws {
        let time = try seconds { for _ in 0..<20 { try root.must("open", fixture.path("allowed"), "0") } }
        #expect(time < 1.5, "\(time) s")
    }
}
