import Foundation
import Glibc
import TestSupport
import Testing

/// `system.nfs4_acl_smb` by its bytes (docs/guide/samba.md). alice (501) owns the objects.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SMBAttributeTests {
    private static let smb = "system.nfs4_acl_smb"
    private static let text = "system.aclfs.acl"

    private let fixture: MountFixture
    private let root: ActingProcess
    private let alice: ActingProcess
    private let bob: ActingProcess

    init() throws {
        fixture = try MountFixture()
        (root, alice, bob) = (try ActingProcess(.root), try ActingProcess(.alice), try ActingProcess(.bob))
    }

    private func make(_ name: String, _ mode: String) throws -> String {
        let path = fixture.path(name)
        try root.must("create", path, "0644", "0")
        try root.must("chown", path, "501", "20")
        try root.must("chmod", path, mode)
        return path
    }

    private func get(_ path: String, as user: ActingProcess? = nil) throws -> [UInt8] {
        try unescaped((user ?? alice).must("getxattr", path, Self.smb))
    }

    private func set(_ path: String, _ bytes: [UInt8], as user: ActingProcess? = nil, flags: Int32 = 0) throws -> String {
        let hex = bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return try (user ?? alice).call("setxattr", path, Self.smb, hex, String(flags)).word
    }

    private func list(_ path: String) throws -> String {
        let result = try root.call("getxattr", path, Self.text)
        return result.isOK ? String(decoding: unescaped(result.value), as: UTF8.self) : result.word
    }

    private func mode(_ path: String) throws -> String {
        try String(root.must("attributes", path).split(separator: " ")[0].suffix(4))
    }

    private func words(_ words: UInt32...) -> [UInt8] {
        words.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> ($0 as UInt32)) } }
    }

    private func entry(_ type: UInt32, _ flags: UInt32, _ mask: UInt32, _ who: String) -> [UInt8] {
        words(type, flags, mask, UInt32(who.utf8.count)) + Array(who.utf8) + [UInt8](repeating: 0, count: (4 - who.utf8.count % 4) % 4)
    }

    @Test func listAndModeAreOneValue() throws {
        let file = try make("f", "0644")
        let (owner, everyone) = (entry(0, 0, 0x1E_019F, "OWNER@"), entry(0, 0, 0x12_0089, "EVERYONE@"))
        #expect(try get(file) == words(0, 2) + owner + everyone)
        #expect(try !alice.must("listxattr", file).contains("nfs4"))
        // What is left out is taken away, and the list is enforced beyond the mode.
        #expect(try set(file, words(0, 2) + entry(0, 0, 1, "502") + owner) == "ok")
        #expect(try mode(file) == "0600" && list(file).hasSuffix("allow read\n"))
        #expect(try bob.call("open", file, String(O_RDONLY)).isOK)
        #expect(try get(file) == words(0, 2) + entry(0, 0, 0x12_0089, "502") + owner)
        #expect(try set(file, get(file)) == "ok")
        #expect(try list(file).hasSuffix("allow read\n"))
        #expect(try alice.call("removexattr", file, Self.smb).isOK)
        #expect(try mode(file) == "0600" && list(file) == "ENODATA")
    }

    @Test func theRightToReadAndToSetIt() throws {
        let file = try make("f", "0644")
        let sent = words(0, 1) + entry(1, 0, 1, "503")
        #expect(try set(file, sent, as: bob) == "EPERM")
        #expect(try set(file, sent, flags: 1) == "EEXIST")
        #expect(try mode(file) == "0644" && list(file) == "ENODATA")
        try root.must("setxattr", file, Self.text, "user:#502 allow writesecurity")
        #expect(try set(file, sent, as: bob) == "ok")
        #expect(try mode(file) == "0000" && list(file).hasSuffix("deny read\n"))
        try root.must("setxattr", file, Self.text, "user:#502 deny readsecurity")
        #expect(try bob.call("getxattr", file, Self.smb).word == "EACCES")
        // A flag binds root.
        try root.must("setxattr", file, "system.aclfs.flags", "uchg")
        for user in [root, alice] { #expect(try set(file, sent, as: user) == "EPERM") }
    }

    /// A mode that chmod would refuse changes nothing.
    @Test func bothAreJudgedBeforeEitherChanges() throws {
        let file = try make("f", "0644")
        try root.must("chown", file, "501", "77")
        try root.must("chmod", file, "02755")
        let sent = words(0, 2) + entry(0, 0, 1, "502") + entry(0, 0, 0x1E_019F, "OWNER@")
        #expect(try set(file, sent) == "EPERM")
        #expect(try mode(file) == "2755" && list(file) == "ENODATA")
        #expect(try set(file, sent, as: root) == "ok")
        #expect(try mode(file) == "2600" && list(file).hasSuffix("allow read\n"))
    }

    /// As smbd makes a file for a user whose primary group is in an entry of the directory: it sets the group, then the list, in which that
    /// group is GROUP@.
    @Test func membersOfAnInheritedGroupKeepAFileThatGetsAnotherGroup() throws {
        let directory = fixture.path("d")
        try root.must("mkdir", directory, "0755")
        try root.must("chown", directory, "501", "20")
        try root.must("setxattr", directory, Self.text, "group:#20 allow read,file_inherit,directory_inherit")
        let file = try make("d/f", "0600")
        let inherited = try list(file)
        #expect(inherited.hasSuffix("inherited allow read\n"))
        let (owner, group) = (entry(0, 0, 0x1E_019F, "OWNER@"), entry(0, 0xC0, 0x12_0081, "GROUP@"))
        #expect(try set(file, words(1, 2) + group + owner) == "ok")
        #expect(try list(file) == inherited)
        try root.must("chown", file, "501", "77")
        try root.must("chmod", file, "0600")
        let member = try ActingProcess(TestUser(uid: 502, gid: 20, groups: [20]))
        #expect(try member.call("open", file, String(O_RDONLY)).isOK)
        // The same by the forms of NFSv4.
        try root.must("chown", file, "501", "20")
        try root.must("setxattr", file, "system.nfs4_acl", hex(words(1) + entry(0, 0xC0, 1, "GROUP@")))
        #expect(try list(file) == inherited)
    }

    private func hex(_ bytes: [UInt8]) -> String { bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    /// A list with anything in it is readable, and what is not shown stays.
    @Test func noListLocksSambaOut() throws {
        let file = try make("f", "0600")
        let hidden = ["user:#502 0x3 read", "12345678-1234-4321-8765-123456789ABC deny read", "user:#502 allow read,flags=0x200"]
        try root.must(
            "setxattr", file, Self.text, "!#acl 1 no_inherit\n" + hidden.joined(separator: "\n") + "\nuser:#503 allow generic_all")
        let before = try list(file)
        #expect(try get(file) == words(2, 2) + entry(0, 0, 0x1701FF, "503") + entry(0, 0, 0x1E_019F, "OWNER@"))
        #expect(try set(file, get(file)) == "ok")
        #expect(try list(file) == before)
        #expect(try set(file, words(0, 0)) == "ok")
        let after = try list(file).split(separator: "\n")
        #expect(after.count == 3 && after[0].contains("deny read"), "\(after)")
    }
}
