import Foundation
import Glibc
import TestSupport
import Testing

/// `system.nfs4_acl` and `system.nfs4_acl_xdr` by their bytes (docs/reference/nfs4.md). alice (501) owns the objects.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct NFS4AttributeTests {
    private static let named = "system.nfs4_acl"
    private static let numbered = "system.nfs4_acl_xdr"
    private static let text = "system.aclfs.acl"

    private let fixture: MountFixture
    private let root: ActingProcess
    private let alice: ActingProcess
    private let bob: ActingProcess

    init() throws {
        fixture = try MountFixture()
        (root, alice, bob) = (try ActingProcess(.root), try ActingProcess(.alice), try ActingProcess(.bob))
    }

    private func make(_ name: String, _ mode: UInt16 = 0o644, isDirectory: Bool = false) throws -> String {
        let path = fixture.path(name)
        if isDirectory { try root.must("mkdir", path, "0755") } else { try root.must("create", path, "0644", "0") }
        try root.must("chown", path, "501", "20")
        try root.must("chmod", path, "0" + String(mode, radix: 8))
        return path
    }

    private func hex(_ bytes: [UInt8]) -> String { bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    private func get(_ path: String, _ name: String = named, as user: ActingProcess? = nil) throws -> [UInt8] {
        try unescaped((user ?? alice).must("getxattr", path, name))
    }

    private func set(
        _ path: String, _ bytes: [UInt8], _ name: String = named, as user: ActingProcess? = nil, flags: Int32 = 0
    ) throws -> String {
        try (user ?? alice).call("setxattr", path, name, hex(bytes), String(flags)).word
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

    private func value(_ entries: [UInt8]...) -> [UInt8] { words(UInt32(entries.count)) + entries.flatMap { $0 } }

    // MARK: What is read

    @Test func everyObjectHasBoth() throws {
        let file = try make("f", 0o604)
        let expected = value(
            entry(0, 0, 0x16_019F, "OWNER@"), entry(0, 0x40, 0x12_0080, "GROUP@"), entry(1, 0x40, 0x9, "GROUP@"),
            entry(0, 0, 0x12_0089, "EVERYONE@"))
        #expect(try get(file) == expected)
        #expect(
            try get(file, Self.numbered)
                == words(0x1_0000, 4) + words(0, 0, 1, 0x16_019F, 1) + words(0, 0x40, 1, 0x12_0080, 2) + words(1, 0x40, 1, 0x9, 2)
                + words(0, 0, 1, 0x12_0089, 3))
        // Never listed, with or without a list.
        #expect(try alice.must("listxattr", file) == "")
        let ofBob = entry(0, 0, 1, "502")
        #expect(try set(file, value(ofBob)) == "ok")
        for user in [root, alice] { #expect(try !user.must("listxattr", file).contains("nfs4")) }
        // bob reads it as well: nothing denies readattr and readsecurity.
        #expect(try get(file, as: bob) == words(5) + ofBob + expected.dropFirst(4))
        try root.must("setxattr", file, Self.text, "user:#502 deny readsecurity")
        #expect(try bob.call("getxattr", file, Self.named).word == "EACCES")
        #expect(try bob.call("getxattr", file, Self.numbered).word == "EACCES")
        // Other names of the family are none.
        for name in ["system.nfs4_dacl", "system.nfs4_acl_", "system.NFS4_ACL", "system.nfs4_acl_xdr.x"] {
            #expect(try alice.call("getxattr", file, name).word == "EOPNOTSUPP", "\(name)")
        }
    }

    @Test func objectsOfOtherKinds() throws {
        let (link, fifo) = (fixture.path("link"), fixture.path("fifo"))
        try root.must("symlink", "nowhere", link)
        try root.must("mknod", fifo, "0640", "fifo")
        for path in [link, fifo] { try root.must("chown", path, "501", "20") }
        #expect(try get(link).suffix(28).elementsEqual(entry(0, 0, 0x12_01BF, "EVERYONE@")))
        let before = try list(link)
        let other = value(
            entry(0, 0, 1, "502"), entry(0, 0, 0x16_019F, "OWNER@"), entry(0, 0x40, 0x12_0080, "GROUP@"),
            entry(0, 0, 0x12_0080, "EVERYONE@"))
        // Linux cannot change the mode of a symlink, and the list alone would be half of it.
        #expect(try set(link, other) == "EOPNOTSUPP")
        #expect(try list(link) == before)
        #expect(try set(link, value(entry(1, 0, 1, "502"))) == "ok")
        #expect(try list(link).hasSuffix("deny read\n"))
        #expect(try set(fifo, other) == "ok")
        #expect(try mode(fifo) == "0600" && list(fifo).hasSuffix("allow read\n"))
    }

    // MARK: What is set

    @Test func listAndModeInOneCall() throws {
        let file = try make("f")
        let directory = try make("d", 0o755, isDirectory: true)
        let bits: UInt32 = 0x9
        // 0600 with an entry: bob reads, carol does not.
        let sent = value(
            entry(0, 0, bits, "502"), entry(0, 0, 0x16_019F, "OWNER@"), entry(0, 0x40, 0x12_0080, "GROUP@"),
            entry(0, 0, 0x12_0080, "EVERYONE@"))
        #expect(try set(file, sent) == "ok")
        #expect(try mode(file) == "0600")
        #expect(try list(file).split(separator: "\n").count == 1)
        #expect(try bob.call("open", file, String(O_RDONLY)).isOK)
        #expect(try bob.call("open", file, String(O_WRONLY)).word == "EACCES")
        let carol = try ActingProcess(.carol)
        #expect(try carol.call("open", file, String(O_RDONLY)).word == "EACCES")
        // The same for a directory is no mode: delete_child is missing, so all four entries are stored.
        #expect(try set(directory, sent) == "ok")
        #expect(try mode(directory) == "0755")
        #expect(try list(directory).split(separator: "\n").count == 4)
        // Set-id and sticky bits stay.
        try root.must("chmod", directory, "01777")
        let of700 = value(
            entry(0, 0, 0x16_01FF, "OWNER@"), entry(0, 0x40, 0x12_0080, "GROUP@"), entry(0, 0, 0x12_0080, "EVERYONE@"))
        #expect(try set(directory, of700) == "ok")
        #expect(try mode(directory) == "1700")
        #expect(try list(directory) == "ENODATA")
    }

    /// By the rules of chmod: a set-gid bit is not cleared silently, and the list is not changed alone.
    @Test func aModeThatMayNotBeSetChangesNothing() throws {
        let file = try make("f", 0o2755)
        try root.must("chown", file, "501", "77")
        try root.must("chmod", file, "02755")
        let sent = value(
            entry(0, 0, 1, "502"), entry(0, 0, 0x16_01BF, "OWNER@"), entry(0, 0x40, 0x12_0080, "GROUP@"),
            entry(0, 0, 0x12_0080, "EVERYONE@"))
        #expect(try set(file, sent) == "EPERM")
        #expect(try mode(file) == "2755" && list(file) == "ENODATA")
        #expect(try set(file, sent, as: bob) == "EPERM")
        #expect(try mode(file) == "2755" && list(file) == "ENODATA")
        #expect(try set(file, sent, as: root) == "ok")
        #expect(try mode(file) == "2700" && list(file).hasSuffix("allow read\n"))
    }

    @Test func flagsOfTheCallAndRemoval() throws {
        let file = try make("f")
        let sent = value(entry(1, 0, 1, "502"))
        #expect(try set(file, sent, flags: 1) == "EEXIST")
        #expect(try set(file, sent, as: bob, flags: 1) == "EPERM")
        // XATTR_REPLACE without a list, as nfs4_setfacl sends it.
        #expect(try set(file, sent, flags: 2) == "ok")
        #expect(try list(file).hasSuffix("deny read\n"))
        #expect(try bob.call("removexattr", file, Self.named).word == "EPERM")
        #expect(try alice.call("removexattr", file, Self.named).isOK)
        #expect(try list(file) == "ENODATA")
        #expect(try alice.call("removexattr", file, Self.numbered).isOK)
        #expect(try mode(file) == "0644")
        // No entries and no mode: no list. A list without entries stays one.
        #expect(try set(file, words(0)) == "ok")
        #expect(try list(file) == "ENODATA")
        try alice.must("setxattr", file, Self.text, "")
        #expect(try set(file, get(file)) == "ok")
        #expect(try list(file) == "")
    }

    /// Others may set it with the right writesecurity, as system.aclfs.acl.
    @Test func theRightToSetIt() throws {
        let file = try make("f", 0o600)
        let sent = value(entry(0, 0, 1, "503"))
        #expect(try set(file, sent, as: bob) == "EPERM")
        try root.must("setxattr", file, Self.text, "user:#502 allow writesecurity")
        #expect(try set(file, sent, as: bob) == "ok")
        #expect(try list(file).hasSuffix("allow read\n"))
    }

    @Test func eachNumberOfEntries() throws {
        let file = try make("f", 0o635)
        for count in 0...129 {
            let entries = (0..<count).flatMap { words(0, 0, 0, 1, UInt32(2000 + $0)) }
            let answer = try set(file, words(0, UInt32(count)) + entries, Self.numbered)
            #expect(answer == (count == 129 ? "EINVAL" : "ok"), "\(count)")
            let stored = min(count, 128)
            let got = try get(file, Self.numbered)
            #expect(got.count == 8 + 20 * (stored + 5), "\(count)")
            if stored > 0 { #expect(got.dropFirst(8).prefix(20 * stored).elementsEqual(entries.prefix(20 * stored))) }
            #expect(try set(file, got, Self.numbered) == "ok")
            #expect(try get(file, Self.numbered) == got)
            let named = try get(file)
            #expect(try set(file, named, flags: 2) == "ok")
            #expect(try get(file) == named)
        }
        #expect(try list(file).split(separator: "\n").count == 128)
        #expect(try mode(file) == "0635")
    }

    /// Any list that NFSv4 has a form for, and any mode: reading and writing back changes neither, nor the stored record.
    @Test func getSetGetIsTheIdentity() throws {
        var random = SplitMix64(seed: 20_261_126)
        let rights = [
            "read", "write", "execute", "delete", "append", "delete_child", "readattr", "writeattr", "readextattr", "writeextattr",
            "readsecurity", "writesecurity", "chown", "synchronize", "file_inherit", "directory_inherit", "limit_inherit", "only_inherit",
        ]
        let identities = [
            "user:#501", "user:#4242", "group:#20", "group:#12", "group:#10", "group:everyone", "ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000A",
            "ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000010", "ABCDEFAB-CDEF-ABCD-EFAB-CDEFFFFFFFFE", "12345678-1234-4321-8765-123456789ABC",
        ]
        let objects = [try make("f"), try make("d", isDirectory: true)]
        for number in 0..<300 {
            let path = random.pick(objects)
            // Half of them with identities that all have numbers.
            let form = random.chance(50) ? Self.numbered : Self.named
            let text = (0..<random.below(6)).map { _ in
                let who = form == Self.numbered ? random.pick(Array(identities.prefix(8))) : random.pick(identities)
                let words = random.some(of: rights, percent: 30)
                return "\(who)\(random.chance(30) ? " inherited" : "") \(random.chance(50) ? "allow" : "deny") "
                    + (words.isEmpty ? "read" : words.joined(separator: ","))
            }.joined(separator: "\n")
            try root.must("setxattr", path, Self.text, text)
            try root.must("chmod", path, "0" + String(random.below(0o10000), radix: 8))
            let before = try (list(path), mode(path), get(path, form, as: root))
            #expect(try set(path, before.2, form, as: root, flags: 2) == "ok", "\(number): \(text)")
            let after = try (list(path), mode(path), get(path, form, as: root))
            #expect(before == after, "\(number): \(text)")
        }
    }

    // MARK: What is refused

    /// A stored list that NFSv4 has no form for is refused whole.
    @Test func aListWithoutAForm() throws {
        let file = try make("f")
        for (text, answer) in [
            ("user:#502 0x3 read", "EINVAL"), ("user:#502 allow generic_all", "EINVAL"), ("user:#502 allow read,flags=0x200", "EINVAL"),
            // `system.nfs4_acl` has no word for the mark, which stays when the list is set.
            ("!#acl 1 no_inherit\nuser:#502 allow read", "ok"),
        ] {
            try root.must("setxattr", file, Self.text, text)
            let stored = try list(file)
            #expect(try root.call("getxattr", file, Self.named).word == answer, "\(text)")
            #expect(try root.call("getxattr", file, Self.numbered).word == answer, "\(text)")
            #expect(try list(file) == stored)
        }
        #expect(try set(file, get(file, Self.numbered), Self.numbered) == "ok")
        #expect(try list(file).hasPrefix("!#acl 1 no_inherit\n"))
        try root.must("setxattr", file, Self.text, "12345678-1234-4321-8765-123456789ABC allow read")
        #expect(try root.call("getxattr", file, Self.numbered).word == "EINVAL")
        #expect(try root.call("getxattr", file, Self.named).isOK)
    }

    private struct Malformed {
        var name = NFS4AttributeTests.named
        var bytes: [UInt8]
        var said: String
    }

    private var malformed: [Malformed] {
        let good = entry(0, 0, 1, "502")
        return [
            Malformed(bytes: [], said: "4 bytes are needed, 0 are left"),
            Malformed(bytes: [0, 0, 0], said: "4 bytes are needed, 3 are left"),
            Malformed(bytes: Array(value(good, good).dropLast(1)), said: "entry 1: 4 bytes are needed, 3 are left"),
            Malformed(bytes: words(2) + good, said: "entry 1: 4 bytes are needed, 0 are left"),
            Malformed(bytes: words(.max) + good, said: "4294967295 entries"),
            Malformed(bytes: words(1, 0, 0, 1, .max) + [0x61], said: "entry 0: 4294967295 bytes are needed, 1 are left"),
            Malformed(bytes: words(1, 0, 0, 1, 0x8000_0000) + [0x61], said: "entry 0: 2147483648 bytes are needed, 1 are left"),
            Malformed(bytes: value(good) + [0], said: "25 bytes; the entries have 24"),
            Malformed(bytes: value(entry(9, 0, 1, "502")), said: "entry 0: type 9 is unknown"),
            Malformed(bytes: value(good, entry(2, 0x10, 1, "502")), said: "entry 1: type 2 is unknown"),
            Malformed(bytes: value(entry(0, 0x100, 1, "502")), said: "entry 0: flags 0x100 are unknown"),
            Malformed(bytes: value(entry(0, 0x10, 1, "502")), said: "entry 0: flags 0x10 are unknown"),
            Malformed(bytes: value(entry(0, 0, 0x201, "502")), said: "entry 0: rights 0x200 are unknown"),
            Malformed(bytes: value(entry(0, 0, 1, "")), said: "entry 0: '' is no name"),
            Malformed(bytes: value(entry(0, 0, 1, "no-such-user-here")), said: "entry 0: no user 'no-such-user-here'"),
            Malformed(bytes: value(entry(0, 0x40, 1, "no-such-group@example.org")), said: "no group 'no-such-group@example.org'"),
            Malformed(bytes: value(entry(0, 0, 1, "4294967295")), said: "entry 0: no user '4294967295'"),
            Malformed(name: Self.numbered, bytes: words(0), said: "4 bytes are needed, 0 are left"),
            Malformed(name: Self.numbered, bytes: words(0, 1), said: "8 bytes; the entries have 28"),
            Malformed(name: Self.numbered, bytes: words(0, .max), said: "4294967295 entries"),
            Malformed(name: Self.numbered, bytes: words(1, 0), said: "list flags 0x1 are unknown"),
            Malformed(name: Self.numbered, bytes: words(0, 1) + words(0, 0, 7, 1, 1), said: "the mark of a special identity is 7"),
            Malformed(name: "system.nfs4_acl_smb", bytes: words(0x10, 0), said: "list flags 0x10 are unknown"),
            Malformed(name: "system.nfs4_acl_smb", bytes: words(0, 1), said: "entry 0: 4 bytes are needed, 0 are left"),
        ]
    }

    /// EINVAL, nothing changed, and a line in the log that says what was wrong and where.
    @Test func malformedValuesAreRefusedAndLogged() throws {
        let log = fixture.top + "/log"
        let output = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(output) }
        let place = fixture.top + "/logged"
        let source = fixture.top + "/source"
        for path in [place, source] { mkdir(path, 0o755) }
        let daemon = try Spawn.start([MountTesting.program("aclfs"), "mount", "-f", source, place], descriptors: [-1, output, output])
        eventually { MountFixture.isMounted(place) }
        let file = place + "/f"
        try root.must("create", file, "0640", "0")
        try root.must("chown", file, "501", "20")
        try root.must("setxattr", file, Self.text, "user:#503 deny write")
        let before = try (list(file), mode(file), Spawn.run(["getfattr", "-d", "-m", "-", "-e", "hex", source + "/f"]).output)
        #expect(before.2.contains("trusted.aclfs=0x"))
        for (number, case_) in malformed.enumerated() {
            // Three users in turn: one of them gets ten lines a second.
            let user = [root, alice, bob][number % 3]
            #expect(try set(file, case_.bytes, case_.name, as: user) == "EINVAL", "\(case_.said)")
        }
        let after = try (list(file), mode(file), Spawn.run(["getfattr", "-d", "-m", "-", "-e", "hex", source + "/f"]).output)
        #expect(before == after)
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
        for (number, case_) in malformed.enumerated() {
            let start = "aclfs: \(source)/f: setting \(case_.name) by uid \([0, 501, 502][number % 3]) was refused (EINVAL): "
            #expect(lines.contains { $0.hasPrefix(start) && $0.contains(case_.said) }, "\(case_.said)")
        }
        // A caller who repeats it does not fill the log.
        for _ in 0..<500 { _ = try set(file, words(.max), as: alice) }
        sleep(1)
        #expect(try set(file, words(.max), as: alice) == "EINVAL")
        let flood = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init).dropFirst(lines.count)
        #expect(flood.count < 100, "\(flood.count)")
        #expect(flood.last?.contains("more such refusals before this line") == true, "\(flood.last ?? "")")
        #expect(try Spawn.run(["umount", place]).status == 0)
        #expect(Spawn.wait(daemon) == 0)
    }

    // MARK: What the kernel has cached

    /// A mode and a list that were cached count no more when the call returns.
    @Test(arguments: ["cache=auto", "cache=exclusive"]) func aRevocationIsImmediate(_ cache: String) throws {
        let place = fixture.top + "/cached"
        mkdir(place, 0o755)
        try fixture.mount(cache, at: place)
        let directory = try make("d", 0o755, isDirectory: true)
        _ = try make("d/f")
        let (there, file) = (place + "/d", place + "/d/f")
        for _ in 0..<3 {
            #expect(try bob.call("open", file, String(O_RDONLY)).isOK)
            #expect(try mode(there) == "0755")
        }
        // On the other mount of the tree.
        let closed = value(entry(0, 0, 0x16_01FF, "OWNER@"), entry(0, 0x40, 0x12_0080, "GROUP@"), entry(0, 0, 0x12_0080, "EVERYONE@"))
        let open = try get(directory)
        #expect(try set(directory, closed) == "ok")
        #expect(try bob.call("open", file, String(O_RDONLY)).word == "EACCES")
        #expect(try mode(there) == "0700")
        #expect(try set(directory, open) == "ok")
        #expect(try bob.call("open", file, String(O_RDONLY)).isOK)
        #expect(try mode(there) == "0755")
        // By an entry.
        #expect(try set(there, value(entry(1, 0, 0x20, "502"))) == "ok")
        #expect(try bob.call("open", file, String(O_RDONLY)).word == "EACCES")
    }
}
