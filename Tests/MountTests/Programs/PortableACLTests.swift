import Foundation
import Glibc
import TestSupport
import Testing

/// `com.apple.acl.text`: copies of ordinary programs carry entries (docs/guide/copies.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct PortableACLTests {
    private static let text = "com.apple.acl.text"
    private static let entries = "system.aclfs.acl"
    // No account has the numbers of the tests, so that entries are shown with UUIDs.
    private static let user = "FFFFEEEE-DDDD-CCCC-BBBB-AAAA"
    private static let group = "ABCDEFAB-CDEF-ABCD-EFAB-CDEF"

    private let fixture: MountFixture
    private let root: ActingProcess
    private let alice: ActingProcess
    private let bob: ActingProcess

    init() throws {
        fixture = try MountFixture()
        (root, alice, bob) = (try ActingProcess(.root), try ActingProcess(.alice), try ActingProcess(.bob))
    }

    private func make(_ name: String, isDirectory: Bool = false) throws -> String {
        let path = fixture.path(name)
        if isDirectory { try root.must("mkdir", path, "0755") } else { try root.must("create", path, "0644", "0") }
        try root.must("chown", path, "501", "20")
        return path
    }

    private func get(_ path: String, _ name: String) throws -> String {
        let result = try root.call("getxattr", path, name)
        return result.isOK ? String(decoding: unescaped(result.value), as: UTF8.self) : result.word
    }

    private func set(_ path: String, _ text: String, as user: ActingProcess? = nil, flags: Int32 = 0) throws -> String {
        try (user ?? alice).call("setxattr", path, Self.text, text, String(flags)).word
    }

    // MARK: The attribute

    /// How many entries fit beside those that are there would tell a caller who may not read them.
    @Test func aStrangerLearnsNoNumberOfEntries() throws {
        let file = try make("f")
        try alice.must("setxattr", file, Self.entries, "user:#4502 inherited allow read\ngroup:everyone deny readsecurity")
        let value = "!#acl 1\n" + (0..<128).map { "user:::\(5000 + $0):allow:read\n" }.joined()
        #expect(try set(file, value, as: bob) == "EPERM")
        #expect(try set(file, value) == "EINVAL")
    }

    /// A protected original is copied to a directory that passes entries on: the copy is as closed. And a protected object stays so.
    @Test func theMarkIsCopiedAndStays() throws {
        let (original, other) = (try make("original", isDirectory: true), try make("other"))
        try alice.must("setxattr", original, Self.entries, "!#acl 1 no_inherit")
        #expect(try alice.must("listxattr", original) == "user.com.apple.acl.text\\x00")
        let value = try get(original, Self.text)
        #expect(value == "!#acl 1 no_inherit\n")
        let to = try make("to", isDirectory: true)
        try alice.must("setxattr", to, Self.entries, "user:#4502 allow read,file_inherit,directory_inherit")
        let copy = try make("to/copy", isDirectory: true)
        #expect(try get(copy, Self.entries).contains("inherited allow"))
        #expect(try set(copy, value) == "ok")
        #expect(try get(copy, Self.entries) == "!#acl 1 no_inherit\n")
        #expect(try set(copy, "!#acl 1\nuser:::4503:deny:write\nuser:::4502:allow,inherited:read\n") == "ok")
        #expect(try get(copy, Self.entries) == "!#acl 1 no_inherit\n" + Self.user + "00001197 deny add_file\n")
        #expect(try alice.call("removexattr", copy, Self.text).isOK)
        #expect(try get(copy, Self.entries) == "ENODATA")
        #expect(try get(other, Self.text) == "ENODATA")
    }

    @Test func readingSettingAndRemoving() throws {
        let file = try make("f")
        #expect(try get(file, Self.text) == "ENODATA")
        try alice.must("setxattr", file, Self.entries, "user:#4502 deny read\ngroup:#4600 inherited allow write,file_inherit,0x200000")
        let text =
            "!#acl 1\nuser:FFFFEEEE-DDDD-CCCC-BBBB-AAAA00001196::4502:deny:read\n"
            + "group:ABCDEFAB-CDEF-ABCD-EFAB-CDEF000011F8::4600:allow,inherited,file_inherit:write,0x200000\n"
        // One object by both names.
        #expect(try get(file, Self.text) == text && get(file, "user." + Self.text) == text)
        // Inherited entries stay those that the object has; explicit ones come from the value.
        #expect(try set(file, "!#acl 1\nuser:::4503:deny:write\ngroup:::4601:allow,inherited:read\n") == "ok")
        #expect(
            try get(file, Self.entries)
                == Self.user + "00001197 deny write\n" + Self.group + "000011F8 inherited allow write,generic_all,file_inherit\n")
        #expect(try set(file, "!#acl 1\n") == "ok")
        #expect(try get(file, Self.entries).split(separator: "\n").count == 1)
        // Not listed without an explicit entry.
        #expect(try alice.must("listxattr", file) == "")
        #expect(try alice.call("removexattr", file, Self.text).isOK)
        #expect(try get(file, Self.entries).split(separator: "\n").count == 1)
        try alice.must("setxattr", file, Self.entries, "user:#4502 deny read")
        #expect(try alice.must("listxattr", file) == "user.com.apple.acl.text\\x00")
        #expect(try set(file, "!#acl 1\n", flags: 1) == "EEXIST")
        #expect(try alice.call("removexattr", file, "user." + Self.text).isOK)
        #expect(try get(file, Self.entries) == "ENODATA")
        #expect(try alice.call("removexattr", file, Self.text).word == "ENODATA")
        #expect(try set(file, "!#acl 1\n", flags: 2) == "ENODATA")
        // Inherited ones of the value count on an object that inherited none.
        #expect(try set(file, text) == "ok")
        #expect(try get(file, Self.text) == text)
    }

    @Test func rightsAndBrokenValues() throws {
        let file = try make("f")
        try alice.must("setxattr", file, Self.entries, "user:#4502 deny read")
        let before = try get(file, Self.entries)
        #expect(try set(file, "!#acl 1\nuser:::502:allow:read\n", as: bob) == "EPERM")
        #expect(try bob.call("removexattr", file, Self.text).word == "EPERM")
        for broken in [
            "", "x", "!#acl 2\n", "!#acl 1\nuser:::502:allow:fly\n", "!#acl 1\nuser:::502:maybe:read\n", "!#acl 1\nuser::::allow:read\n",
            "!#acl 1\nuser::no-such-user-here::allow:read\n", "!#acl 1\n" + String(repeating: "user:::502:allow:read\n", count: 129),
        ] {
            #expect(try set(file, broken) == "EINVAL", "\(broken.prefix(60))")
        }
        #expect(try get(file, Self.entries) == before)
        // More than 128 with those that the object inherited.
        let inherited = (0..<100).map { "user:#\(5000 + $0) inherited deny write" }.joined(separator: "\n")
        try alice.must("setxattr", file, Self.entries, inherited)
        let lines = { (count: Int) in "!#acl 1\n" + String(repeating: "user:::502:allow:read\n", count: count) }
        #expect(try set(file, lines(29)) == "EINVAL")
        #expect(try get(file, Self.entries).split(separator: "\n").count == 100)
        #expect(try set(file, lines(28)) == "ok")
        #expect(try get(file, Self.entries).split(separator: "\n").count == 128)
        // Who may not read the list does not see that there is one.
        try root.must("setxattr", file, Self.entries, "user:#502 deny readsecurity\nuser:#502 allow readextattr")
        #expect(try bob.call("getxattr", file, Self.text).word == "EACCES")
        #expect(try bob.must("listxattr", file) == "")
        #expect(try alice.must("listxattr", file) == "user.com.apple.acl.text\\x00")
    }

    @Test(arguments: [
        ("portable_acl=off", ""), ("xattr_names=mac", "com.apple.acl.text\\x00"),
        ("xattr_names=both", "user.com.apple.acl.text\\x00com.apple.acl.text\\x00"),
    ]) func howItIsListed(_ options: String, _ listed: String) throws {
        let place = fixture.top + "/other"
        mkdir(place, 0o755)
        try fixture.mount(options, at: place)
        _ = try make("f")
        try alice.must("setxattr", place + "/f", Self.entries, "user:#4502 deny read")
        #expect(try alice.must("listxattr", place + "/f") == listed)
        // Linux has no user.* for symlinks.
        try root.must("symlink", "f", place + "/link")
        try root.must("setxattr", place + "/link", Self.entries, "user:#4502 deny read")
        #expect(try root.must("listxattr", place + "/link") == (options.hasPrefix("xattr") ? "com.apple.acl.text\\x00" : ""))
        #expect(try get(place + "/link", Self.text).hasPrefix("!#acl 1\nuser:"))
        // Listed or not, it is there.
        #expect(try get(place + "/f", Self.text).hasPrefix("!#acl 1\nuser:"))
        // ls shows the entry, and no attribute.
        let shown = try Spawn.run([MountTesting.program("aclfs"), "ls", "-le@", place + "/f"]).output
        #expect(shown.contains("+ 1 ") && !shown.contains("acl.text"), "\(shown)")
    }

    // MARK: Copies

    /// From one mount to another, and by way of a directory without aclfs, with the programs that people use.
    @Test(arguments: ["cp -a", "rsync -aX", "tar --xattrs"]) func copiesCarryEntries(_ program: String) throws {
        let source = try make("tree", isDirectory: true)
        try root.must("mkdir", source + "/d", "0755")
        for name in ["tree/f", "tree/d/g", "tree/plain"] { _ = try make(name) }
        try root.must("setxattr", source, Self.entries, "user:#502 allow list")
        try root.must("setxattr", source + "/f", Self.entries, "user:#502 deny read\nuser:#4600 inherited allow write,chown")
        try root.must("setxattr", source + "/d/g", Self.entries, "group:#20 deny write\nuser:#503 allow write,synchronize")
        // Another tree with a mount of its own, and a directory of the system's file system.
        let (back, other) = (fixture.top + "/private/back", fixture.top + "/other")
        let native = try ScratchDirectory("native", in: "/var/tmp")
        for path in [back, other] { mkdir(path, 0o755) }
        try fixture.mount(of: back, at: other)
        func copy(_ from: String, _ to: String) throws {
            let command =
                switch program {
                case "cp -a": "cp -a \(from)/tree \(to)/"
                case "rsync -aX": "rsync -aX \(from)/tree \(to)/"
                default: "tar -C \(from) --xattrs --xattrs-include='user.*' -cf - tree | tar -C \(to) --xattrs --xattrs-include='*' -xpf -"
                }
            let result = try Spawn.run(["sh", "-ec", command])
            #expect(result.status == 0, "\(command): \(result)")
        }
        try copy(fixture.mountpoint, native.path)
        try copy(native.path, other)
        for name in ["tree", "tree/f", "tree/d/g", "tree/d", "tree/plain"] {
            #expect(try get(other + "/" + name, Self.entries) == get(fixture.path(name), Self.entries), "\(name)")
        }
        #expect(try alice.call("open", other + "/tree/f", String(O_RDONLY)).isOK)
        #expect(try bob.call("open", other + "/tree/f", String(O_RDONLY)).word == "EACCES")
        // Straight from mount to mount, into a directory whose entries are inherited.
        try root.must("mkdir", other + "/into", "0755")
        try root.must("setxattr", other + "/into", Self.entries, "user:#4700 allow read,file_inherit,directory_inherit")
        try copy(fixture.mountpoint, other + "/into")
        #expect(
            try get(other + "/into/tree/d/g", Self.entries) == get(fixture.path("tree/d/g"), Self.entries)
                + "\(Self.user)0000125C inherited allow read\n")
    }
}
