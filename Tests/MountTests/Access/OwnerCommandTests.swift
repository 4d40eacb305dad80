import ACLFormats
import Authorization
import Foundation
import Glibc
import TestSupport
import Testing

/// `aclfs owner` and what shows a group that owns (docs/reference/identity.md "Owners").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct OwnerCommandTests {
    private let fixture: MountFixture
    private let path: String
    private let root: ActingProcess
    private let dora: ActingProcess
    private let emil: ActingProcess
    private let aclfs = MountTesting.program("aclfs")
    /// The last to end: the fixture unmounts in its namespace.
    private let accounts: PrivateAccounts

    init() throws {
        accounts = try PrivateAccounts(
            users: ["dora": 5501, "emil": 5502],
            groups: [5501: .init(name: "dora", members: []), 5600: .init(name: "crew", members: ["dora"])])
        fixture = try MountFixture(options: nil, within: accounts.within)
        try fixture.mount("suid")
        path = fixture.path("plans")
        root = try ActingProcess(.root, within: accounts.within)
        dora = try ActingProcess(TestUser(uid: 5501, gid: 5501, groups: [5501, 5600]), within: accounts.within)
        emil = try ActingProcess(TestUser(uid: 5502, gid: 5502, groups: [5502]), within: accounts.within)
        try root.must("chmod", fixture.mountpoint, "0777")
        try emil.must("create", path, "0640", "0")
    }

    private func owner(_ words: String...) throws -> CommandResult { try Spawn.run(accounts.within + [aclfs, "owner"] + words) }
    private func shown() throws -> String { try owner(path).output }

    private func uid() throws -> String { try Spawn.run(accounts.within + ["stat", "-c", "%u", path]).output }

    @Test func aGroupOwnsWhatItIsGiven() throws {
        #expect(try shown() == "user:emil  \(path)" && uid() == "5502")
        #expect(try owner("--group", "crew", path).status == 0)
        #expect(try shown() == "group:crew  \(path)" && uid() == "4294967195")
        // Its members have what an owner always has, also against entries; its former owner has nothing.
        try root.must("setxattr", path, "system.aclfs.acl", "group:everyone deny writesecurity,readsecurity,chown")
        #expect(try dora.call("chmod", path, "0600").word == "ok")
        #expect(try dora.call("getxattr", path, "system.aclfs.acl").word == "ok" && dora.call("stat", path).word == "ok")
        #expect(try dora.call("setxattr", path, "system.aclfs.acl", "").word == "ok")
        #expect(try dora.call("open", path, "2").word == "ok" && emil.call("open", path, "0").word == "EACCES")
        #expect(try emil.call("chmod", path, "0666").word == "EPERM")
        // Given back by each of the two ways, and by the number.
        #expect(try owner("--user", "emil", path).status == 0)
        #expect(try shown() == "user:emil  \(path)" && uid() == "5502" && dora.call("chmod", path, "0644").word == "EPERM")
        #expect(try owner("--group", "5600", path).status == 0)
        #expect(try Spawn.run(accounts.within + ["chown", "dora", path]).status == 0)
        #expect(try shown() == "user:dora  \(path)" && uid() == "5501")
        #expect(try owner("--uuid", GUID(group: 5600).uuidText, path).status == 0)
        #expect(try shown() == "group:crew  \(path)")
    }

    @Test func lsNamesTheGroup() throws {
        #expect(try owner("--group", "crew", path).status == 0)
        func ls(_ words: String...) throws -> [Substring] {
            try Spawn.run(accounts.within + [aclfs, "ls"] + words + [path]).output.split(whereSeparator: { $0 == " " || $0 == "\n" })
        }
        #expect(try ls("-l").dropFirst(2).first == "group:crew")
        #expect(try ls("-le").dropFirst(2).first == "group:crew")
        #expect(try ls("-ln").dropFirst(2).first == "4294967195")
        let unknown = "01020304-0506-0708-090A-0B0C0D0E0F10"
        #expect(try owner("--uuid", unknown, path).status == 0)
        #expect(try ls("-l").dropFirst(2).first.map(String.init) == unknown)
        #expect(try shown() == "\(unknown)  \(path)")
    }

    /// A member may change the group's object and may not give it away; only root gives.
    @Test func whoMayGiveAndTake() throws {
        #expect(try owner("--group", "crew", path).status == 0)
        func asDora(_ words: String...) throws -> CommandResult {
            try Spawn.run(
                accounts.within + TestUser(uid: 5501, gid: 5501, groups: [5501, 5600]).arguments + ["--", aclfs, "owner"] + words)
        }
        let given = try asDora("--user", "emil", path)
        #expect(given.status == 1 && given.output.hasPrefix("aclfs: \(path): Operation not permitted"), "\(given)")
        let taken = try asDora("--user", "dora", path)
        #expect(taken.status == 1 && taken.output.contains("chown"), "\(taken)")
        try dora.must("setxattr", path, "system.aclfs.acl", "group:#5600 allow chown")
        #expect(try asDora("--user", "dora", path).status == 0)
        #expect(try shown() == "user:dora  \(path)")
        #expect(try asDora("--group", "crew", path).status == 1)
    }

    @Test func whatDoesNotWorkIsSaid() throws {
        #expect(try owner("--group", "dorb", path).output.contains("no group 'dorb'"))
        let elsewhere = try owner(fixture.top)
        #expect(elsewhere.status == 1 && elsewhere.output == "aclfs: \(fixture.top): not on an aclfs mount", "\(elsewhere)")
        let json = try owner("--json", path)
        #expect(json.output.contains("\"user\":5502,\"account\":\"emil\""), "\(json)")
    }
}
