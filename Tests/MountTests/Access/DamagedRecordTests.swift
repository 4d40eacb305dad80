import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Decision 2: a stored record that cannot be read refuses everybody, root too, is said once, and is mended on the
/// backing directory.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct DamagedRecordTests {
    private static let store = "trusted.aclfs"

    /// What a record can look like that is none, and what is said of it.
    static let damages: [(name: String, said: String, change: @Sendable ([UInt8]) -> [UInt8])] = [
        ("truncated", "truncated", { Array($0.dropLast(5)) }),
        ("cut in the mark", "truncated", { Array($0.prefix(3)) }),
        ("empty", "truncated", { _ in [] }),
        ("newer", "written by a newer aclfs (version 2 of the record)", { $0.replacing(at: 4, with: 2) }),
        ("version 0", "version 0 of the record does not exist", { $0.replacing(at: 4, with: 0) }),
        ("mark", "does not begin with a record's mark", { $0.replacing(at: 0, with: 0x61) }),
        ("one bit", "checksum", { $0.replacing(at: 8, with: $0[8] ^ 1) }),
        ("longer", "after the end of the record", { $0 + [0] }),
        ("unknown parts", "unknown parts", { $0.replacing(at: 7, with: 0x80) }),
        ("larger than any", "cannot be read", { $0 + [UInt8](repeating: 0, count: 3200) }),
    ]

    private func store(_ bytes: [UInt8], on path: String) throws {
        try bytes.withUnsafeBytes { (bytes) in
            try path.withCString { try Syscall.setxattr(.path($0), Self.store, bytes, flags: 0) }
        }
    }

    private func stored(_ path: String) throws -> [UInt8] {
        try path.withCString { try Syscall.getxattr(.path($0), Self.store) }
    }

    @Test func nobodyGetsPastIt() throws {
        let fixture = try MountFixture()
        let root = try ActingProcess(.root)
        let alice = try ActingProcess(.alice)
        let carol = try ActingProcess(.carol)
        let users = [root, alice, try ActingProcess(.bob), carol]
        let (file, back) = (fixture.path("d/f"), fixture.backing + "/d/f")
        try root.must("mkdir", fixture.path("d"), "0777", "0")
        try alice.must("create", file, "0666", "0")
        try root.must("setxattr", file, "system.aclfs.acl", "user:#503 deny read")
        let good = try stored(back)
        for damage in Self.damages {
            try store(damage.change(good), on: back)
            for user in users {
                for call in [
                    ["open", file, String(O_RDONLY)], ["open", file, String(O_WRONLY | O_TRUNC)], ["stat", file],
                    ["getxattr", file, "system.aclfs.acl"], ["getxattr", file, "user.x"],
                    ["access", file, String(R_OK), "0"], ["setxattr", file, "system.aclfs.acl", "user:#502 allow read"],
                    ["removexattr", file, "system.aclfs.acl"], ["setxattr", file, "system.aclfs.flags", "-"],
                    ["chmod", file, "0777"], ["chown", file, "502", "20"], ["unlink", file],
                    ["rename", file, fixture.path("d/g"), "0"], ["link", file, fixture.path("d/g")],
                ] { #expect(try user.call(call).word == "EIO", "\(damage.name): \(call)") }
                // The rest of the directory is there.
                #expect(try user.must("names", fixture.path("d")) == ". .. f")
            }
            #expect(try stored(back) == damage.change(good))
            // Mended by root beside the mount: counts at once, with what the record said.
            try store(good, on: back)
            #expect(try alice.call("open", file, String(O_RDONLY)).isOK)
            #expect(try carol.call("open", file, String(O_RDONLY)).word == "EACCES")
        }
        #expect(try Spawn.run(["setfattr", "-x", Self.store, back]).status == 0)
        #expect(try carol.call("open", file, String(O_RDONLY)).isOK)
    }

    @Test func aDirectoryHidesWhatIsBelow() throws {
        let fixture = try MountFixture(options: nil)
        mkdir(fixture.backing + "/d", 0o777)
        #expect(FileManager.default.createFile(atPath: fixture.backing + "/d/f", contents: nil))
        try store([1, 2, 3], on: fixture.backing + "/d")
        try fixture.mount()
        let root = try ActingProcess(.root)
        for user in [root, try ActingProcess(.alice)] {
            #expect(try user.call("open", fixture.path("d/f"), "0").word == "EIO")
            #expect(try user.call("create", fixture.path("d/g"), "0600", "0").word == "EIO")
            #expect(try user.call("names", fixture.path("d")).word == "EIO")
            #expect(try user.call("rmdir", fixture.path("d")).word == "EIO")
        }
    }

    @Test func itIsSaidOnceWithTheReason() throws {
        let fixture = try MountFixture(options: nil)
        for (number, damage) in Self.damages.enumerated() {
            let file = fixture.backing + "/f\(number)"
            #expect(FileManager.default.createFile(atPath: file, contents: nil))
            try store(damage.change(Self.empty), on: file)
        }
        let log = fixture.top + "/log"
        let output = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(output) }
        let daemon = try Spawn.start(
            [MountTesting.program("aclfs"), "mount", "-f", fixture.backing, fixture.mountpoint],
            descriptors: [-1, output, output])
        eventually { MountFixture.isMounted(fixture.mountpoint) }
        let alice = try ActingProcess(.alice)
        for _ in 0..<20 {
            for number in Self.damages.indices { #expect(try alice.call("stat", fixture.path("f\(number)")).word == "EIO") }
        }
        #expect(try Spawn.run(["umount", fixture.mountpoint]).status == 0)
        #expect(Spawn.wait(daemon) == 0)
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
        for (number, damage) in Self.damages.enumerated() {
            let about = lines.filter { $0.hasPrefix("aclfs: \(fixture.backing)/f\(number): ") }
            #expect(about.count == 1 && about[0].contains(damage.said) && about[0].contains("EIO"), "\(damage.name): \(about)")
        }
    }

    /// A record with a list of no entries, as docs/reference/record-format.md describes it; its checksum does not count here.
    private static let empty: [UInt8] =
        [0x41, 0x43, 0x4C, 0x46, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
}

extension [UInt8] {
    fileprivate func replacing(at index: Int, with byte: UInt8) -> [UInt8] {
        var copy = self
        copy[index] = byte
        return copy
    }
}
