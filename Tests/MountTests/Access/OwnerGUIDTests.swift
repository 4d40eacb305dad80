import ACLFormats
import Authorization
import Glibc
import TestSupport
import Testing

/// `system.aclfs.owner` and `system.aclfs.group` as several users set them (docs/reference/authorization.md 6.3, Q5).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct OwnerGUIDTests {
    private let owner = "system.aclfs.owner"
    private let group = "system.aclfs.group"
    private let notAnID = "4294967195"
    /// alice's group, of which bob is no member.
    private let team = GUID(group: 600).uuidText
    private let imported = "01020304-0506-0708-090A-0B0C0D0E0F10"
    private let fixture: MountFixture
    private let root: ActingProcess
    private let alice: ActingProcess
    private let bob: ActingProcess

    init() throws {
        fixture = try MountFixture(options: "suid")
        root = try ActingProcess(.root)
        alice = try ActingProcess(.alice)
        bob = try ActingProcess(.bob)
        try root.must("chmod", fixture.mountpoint, "0777")
    }

    /// bob's file, with a list.
    private func make(_ name: String, acl: String? = "group:everyone deny execute") throws -> String {
        let path = fixture.path(name)
        try bob.must("create", path, "0640", "0")
        if let acl { try bob.must("setxattr", path, "system.aclfs.acl", acl) }
        return path
    }

    private func get(_ path: String, _ name: String) throws -> String {
        let result = try root.call("getxattr", path, name)
        return result.isOK ? String(decoding: unescaped(result.value), as: UTF8.self) : result.word
    }

    private func ids(_ path: String) throws -> [String] {
        let fields = unescaped(try root.must("stat", path)).split(separator: 0x20)
        return fields.prefix(3).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func aUserIdentityIsTheUID() throws {
        let path = try make("f")
        #expect(try get(path, owner) == GUID(user: 502).uuidText)
        #expect(try get(path, group) == GUID(group: 0).uuidText)
        try root.must("setxattr", path, owner, GUID(user: 501).uuidText)
        #expect(try ids(path).prefix(2) == ["501", "0"])
        try root.must("setxattr", path, group, GUID(group: 12).uuidText)
        #expect(try ids(path).prefix(2) == ["501", "12"])
        #expect(try get(path, group) == GUID(group: 12).uuidText)
        #expect(try get(path, "system.aclfs.acl").contains("deny execute"))
        // Nothing was stored that the numbers say: there is nothing to remove.
        #expect(try root.call("removexattr", path, owner).word == "ENODATA")
        #expect(try root.call("removexattr", path, group).word == "ENODATA")
    }

    @Test func aGroupMayOwn() throws {
        let path = try make("f")
        let flags = "nodump"
        try bob.must("setxattr", path, "system.aclfs.flags", flags)
        let list = try get(path, "system.aclfs.acl")
        try root.must("setxattr", path, owner, team)
        #expect(try get(path, owner) == team)
        #expect(try ids(path) == [notAnID, "0", "640"])
        // The rest of the record is as it was.
        #expect(try get(path, "system.aclfs.acl") == list)
        #expect(try get(path, "system.aclfs.flags") == flags)
        // Members have the owner's rights, whoever owned it before has none.
        #expect(try alice.call("chmod", path, "0600").word == "ok")
        #expect(try alice.call("open", path, "1").word == "ok")
        #expect(try alice.call("setxattr", path, "system.aclfs.acl", "").word == "ok")
        #expect(try bob.call("open", path, "0").word == "EACCES")
        #expect(try bob.call("chmod", path, "0666").word == "EPERM")
        #expect(try get(path, owner) == team)
    }

    @Test func explainNamesTheOwnersClass() throws {
        let path = try make("f", acl: nil)
        try root.must("setxattr", path, owner, team)
        let aclfs = MountTesting.program("aclfs")
        let member = try TestUser.alice.run(aclfs, "explain", "open-write", path)
        #expect(member.status == 0 && member.output.contains("posix:owner"), "\(member)")
        let stranger = try TestUser.bob.run(aclfs, "explain", "open-write", path)
        #expect(stranger.status == 1 && stranger.output.contains("posix:other"), "\(stranger)")
        let chown = try TestUser.alice.run(aclfs, "explain", "chown", path)
        #expect(chown.status == 1, "\(chown)")
    }

    @Test func onlyRootGivesAndTheRightTakes() throws {
        let path = try make("f")
        // Not the owner, not a member, not even himself as what he is already.
        #expect(try bob.call("setxattr", path, owner, team).word == "EPERM")
        #expect(try alice.call("setxattr", path, owner, team).word == "EPERM")
        #expect(try alice.call("setxattr", path, owner, GUID(user: 501).uuidText).word == "EPERM")
        #expect(try bob.call("setxattr", path, owner, GUID(user: 502).uuidText).word == "ok")
        #expect(try bob.call("setxattr", path, owner, GUID(user: 501).uuidText).word == "EPERM")
        // chgrp: the owner, to groups of his own.
        #expect(try bob.call("setxattr", path, group, team).word == "EPERM")
        #expect(try bob.call("setxattr", path, group, GUID(group: 601).uuidText).word == "ok")
        #expect(try bob.call("setxattr", path, group, imported).word == "EPERM")
        #expect(try ids(path).prefix(2) == ["502", "601"])
        // "take ownership" from a group.
        try root.must("setxattr", path, "system.aclfs.acl", "user:#501 allow chown")
        try root.must("setxattr", path, owner, GUID(group: 601).uuidText)
        #expect(try bob.call("chown", path, "502", String(UInt32.max)).word == "EPERM")
        #expect(try bob.call("chown", path, notAnID, String(UInt32.max)).word == "EPERM")
        #expect(try alice.call("chown", path, "501", String(UInt32.max)).word == "ok")
        #expect(try ids(path).first == "501" && get(path, owner) == GUID(user: 501).uuidText)
    }

    @Test func chownAndRemovalEndIt() throws {
        let path = try make("f")
        let list = try get(path, "system.aclfs.acl")
        try root.must("setxattr", path, owner, team)
        try root.must("setxattr", path, group, imported)
        #expect(try ids(path).prefix(2) == [notAnID, notAnID])
        #expect(try get(path, group) == imported)
        try root.must("chown", path, "502", String(UInt32.max))
        #expect(try get(path, owner) == GUID(user: 502).uuidText && get(path, group) == imported)
        #expect(try bob.call("removexattr", path, group).word == "ok")
        #expect(try get(path, group) == GUID(group: 4_294_967_195).uuidText)
        #expect(try bob.call("removexattr", path, group).word == "ENODATA")
        #expect(try bob.call("chown", path, String(UInt32.max), "20").word == "ok")
        try root.must("setxattr", path, owner, imported)
        // Nobody has the identity: nobody is the owner, and a stranger takes nothing away.
        #expect(try bob.call("removexattr", path, owner).word == "EPERM")
        #expect(try alice.call("chmod", path, "0666").word == "EPERM")
        try root.must("removexattr", path, owner)
        #expect(try get(path, owner) == GUID(user: 4_294_967_195).uuidText)
        #expect(try get(path, "system.aclfs.acl") == list)
    }

    /// The kernel may hold the old numbers, and a look that asks for nothing else would get them.
    @Test func nobodySeesTheOldNumbers() throws {
        let path = try make("f", acl: nil)
        func shown(_ field: String) throws -> String { try TestUser.bob.run("stat", "-c", field, path).output }
        var expected = "502"
        for (text, uid) in [(team, notAnID), (GUID(user: 501).uuidText, "501"), (imported, notAnID)] {
            #expect(try shown("%u") == expected)
            try root.must("setxattr", path, owner, text)
            expected = uid
        }
        #expect(try shown("%u") == expected)
        expected = "0"
        for (text, gid) in [(imported, notAnID), (GUID(group: 601).uuidText, "601")] {
            #expect(try shown("%g") == expected)
            try root.must("setxattr", path, group, text)
            expected = gid
        }
        #expect(try shown("%g") == expected)
    }

    @Test func setIDBitsGo() throws {
        for (name, value) in [(owner, team), (group, imported)] {
            let path = try make("f-\(name)")
            try root.must("chmod", path, "06755")
            try root.must("setxattr", path, name, value)
            #expect(try ids(path).last == "755")
            try root.must("chmod", path, "06755")
            try root.must("removexattr", path, name)
            #expect(try ids(path).last == "755")
        }
    }

    @Test func wrongTextsChangeNothing() throws {
        let path = try make("f")
        let texts = [
            "", "alice", "501", "user:#501", team.dropLast() + "", team + "0", team + "\n",
            GUID(user: .max).uuidText, GUID(group: .max).uuidText,
            // These mean whoever owns it already, or everybody.
            GUID.owner.uuidText, GUID.owningGroup.uuidText, GUID.everyone.uuidText,
        ]
        for text in texts {
            #expect(try root.call("setxattr", path, owner, text).word == "EINVAL", "\(text)")
            #expect(try root.call("setxattr", path, group, text).word == "EINVAL", "\(text)")
        }
        #expect(try root.call("setxattr", path, group, GUID(user: 501).uuidText).word == "EINVAL")
        #expect(try ids(path) == ["502", "0", "640"])
        // Lower case is the same identity.
        #expect(try root.call("setxattr", path, owner, team.lowercased()).word == "ok")
        #expect(try get(path, owner) == team)
    }

    @Test func whatMayBeReadIsReadattrAlone() throws {
        let path = try make("f", acl: "user:#501 deny readattr")
        #expect(try alice.call("getxattr", path, owner).word == "EACCES")
        #expect(try alice.call("getxattr", path, group).word == "EACCES")
        #expect(try TestUser.carol.call(path, owner).word == "ok")
    }

    @Test func flagsAndReadOnlyMountsBindRoot() throws {
        let path = try make("f")
        try root.must("setxattr", path, "system.aclfs.flags", "uchg")
        #expect(try root.call("setxattr", path, owner, team).word == "EPERM")
        try root.must("setxattr", path, "system.aclfs.flags", "-")
        #expect(try fixture.unmount().status == 0)
        try fixture.mount("noowners")
        // Accepted and discarded (Q1).
        #expect(try alice.call("setxattr", path, owner, team).word == "ok")
        #expect(try ids(path).first == "502" && get(path, owner) == GUID(user: 502).uuidText)
    }

    @Test func newObjectsGetTheDirectorysGroupIdentity() throws {
        let path = fixture.path("d")
        try root.must("mkdir", path, "0777", "0")
        try root.must("setxattr", path, group, imported)
        try bob.must("create", path + "/f", "0640", "0")
        #expect(try get(path + "/f", group) == imported)
        #expect(try ids(path + "/f").prefix(2) == ["502", notAnID])
    }

    @Test func everyKindOfObjectCanHaveOne() throws {
        try root.must("mkdir", fixture.path("d"), "0755", "0")
        try root.must("symlink", "nowhere", fixture.path("l"))
        for name in ["d", "l"] {
            try root.must("setxattr", fixture.path(name), owner, team)
            #expect(try get(fixture.path(name), owner) == team)
            #expect(try ids(fixture.path(name)).first == notAnID)
            try root.must("chown", fixture.path(name), "501", "20")
            #expect(try get(fixture.path(name), owner) == GUID(user: 501).uuidText)
        }
    }
}

extension TestUser {
    /// One look at an attribute by a process of its own.
    fileprivate func call(_ path: String, _ name: String) throws -> CallResult {
        try ActingProcess(self).call("getxattr", path, name)
    }
}
