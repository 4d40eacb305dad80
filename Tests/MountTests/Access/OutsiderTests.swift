import Foundation
import Glibc
import TestSupport
import Testing

/// What another local user tries who wants in, or wants to harm.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct OutsiderTests {
    /// With `dev` the kernel opens device nodes on a FUSE mount without asking anybody.
    @Test func aDeviceIsFoundOnlyByWhoMayOpenIt() throws {
        let fixture = try MountFixture(options: "dev")
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        let null = fixture.path("null")
        try root.must("mknod", null, "0600", "0", "chr")
        #expect(try bob.call("open", null, String(O_RDWR)).word == "EACCES")
        #expect(try bob.call("stat", null).word == "EACCES")
        try root.must("chmod", null, "0644")
        #expect(try bob.call("open", null, String(O_RDWR)).word == "EACCES")
        try root.must("chmod", null, "0666")
        #expect(try bob.call("open", null, String(O_RDWR)).isOK)
        try root.must("chmod", null, "0600")
        try root.must("chown", null, "502", "20")
        #expect(try bob.call("open", null, String(O_RDWR)).isOK)
    }

    @Test func withoutDevicesTheyAreOnlyNames() throws {
        let fixture = try MountFixture()
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        try root.must("mknod", fixture.path("null"), "0600", "0", "chr")
        #expect(try bob.call("stat", fixture.path("null")).isOK)
        try root.must("chmod", fixture.path("null"), "0666")
        #expect(try bob.call("open", fixture.path("null"), String(O_RDWR)).word == "EACCES")
        let remount = try Spawn.run([
            MountTesting.program("aclfs"), "mount", "-o", "remount,dev", fixture.backing, fixture.mountpoint,
        ])
        #expect(remount.status == 32 && remount.output.contains("'dev' cannot change while mounted"))
        #expect(try bob.call("open", fixture.path("null"), String(O_RDWR)).word == "EACCES")
    }

    /// The kernel does not tell of a store into a mapping, so no other user gets one of a program with set-id bits.
    @Test(arguments: ["04777", "02777", "06777"])
    func noMappingChangesAProgramWithSetIDBits(_ mode: String) throws {
        let fixture = try MountFixture(options: "suid")
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        let file = fixture.path("program")
        try root.must("create", file, "0644", "0")
        try root.must("truncate", file, "4096")
        try root.must("chmod", file, mode)
        try bob.must("hold", "1", file, String(O_RDWR), "0")
        let mapped = try bob.call("map", "1")
        let bits = unescaped(try root.must("stat", file))
        #expect(!mapped.isOK || bits.starts(with: "0 0 777 ".utf8), "\(mapped), \(String(decoding: bits, as: UTF8.self))")
        // What clears the bits is done as ever.
        try bob.must("pwrite", "1", "0", "x")
        #expect(unescaped(try root.must("stat", file)).starts(with: "0 0 777 ".utf8))
        // Root's writes keep them, and mappings are root's as ever.
        try root.must("chmod", file, mode)
        try root.must("hold", "1", file, String(O_RDWR), "0")
        try root.must("map", "1")
    }

    /// A program's temporary files: removed, looked at, closed. Their space is given back.
    @Test(arguments: ["removed", "replaced", "unnamed"])
    func aRemovedFileIsNotKept(_ way: String) throws {
        let fixture = try MountFixture()
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        try root.must("mkdir", fixture.path("d"), "0777", "0")
        try root.must("chmod", fixture.path("d"), "0777")
        for number in 0..<10 {
            let file = fixture.path("d/\(number)")
            if way == "unnamed" {
                try bob.must("hold", "1", fixture.path("d"), String(O_RDWR | 0o20200000), "0600")
            } else {
                try bob.must("create", file, "0600", "0")
                try bob.must("hold", "1", file, String(O_RDWR), "0")
            }
            try bob.must("write", "1", "some bytes")
            if way == "removed" { try bob.must("unlink", file) }
            if way == "replaced" {
                try bob.must("create", file + "new", "0600", "0")
                try bob.must("rename", file + "new", file, "0")
            }
            // Looks at it again.
            try bob.must("fchmod", "1", "0644")
            try bob.must("close", "1")
        }
        var held: [String] = []
        eventually {
            held = Self.removedFilesHeld(by: fixture)
            return held.isEmpty
        }
        #expect(held.isEmpty, "\(held)")
    }

    private static func removedFilesHeld(by fixture: MountFixture) -> [String] {
        MountFixture.daemons(of: fixture.mountpoint).flatMap { pid in
            let directory = "/proc/\(pid)/fd"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)") }
                .filter { $0.hasSuffix("(deleted)") && $0.contains(fixture.backing) }
        }
    }
}
