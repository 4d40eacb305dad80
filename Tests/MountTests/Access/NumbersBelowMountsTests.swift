import Foundation
import Glibc
import TestSupport
import Testing

/// Objects of file systems mounted below SOURCE have inode numbers of their own, and small ones
/// (docs/decisions/0034-inode-numbers-below-mounts.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct NumbersBelowMountsTests {
    private func numbers(_ fixture: MountFixture, _ names: [String]) throws -> [String: stat] {
        var found: [String: stat] = [:]
        for name in names {
            var status = stat()
            #expect(lstat(fixture.path(name), &status) == 0)
            found[name] = status
        }
        return found
    }

    @Test(arguments: ["cache=auto", "cache=strict,transport=dev"])
    func twoFileSystemsWithTheSameNumbers(_ options: String) throws {
        let fixture = try MountFixture(options: nil)
        let places = [fixture.backing + "/one", fixture.backing + "/two"]
        defer { for place in places { umount2(place, Int32(MNT_DETACH)) } }
        for place in places {
            mkdir(place, 0o755)
            #expect(mount("tmpfs", place, "tmpfs", 0, "mode=1777") == 0)
        }
        try fixture.mount(options)
        let alice = try ActingProcess(.alice)
        for directory in ["one", "two"] {
            try alice.must("create", fixture.path(directory + "/file"), "0644", "0")
            try alice.must("link", fixture.path(directory + "/file"), fixture.path(directory + "/link"))
            try alice.must("create", fixture.path(directory + "/other"), "0644", "0")
        }
        let below = ["", "/file", "/link", "/other"]
        let names = ["."] + ["one", "two"].flatMap { directory in below.map { directory + $0 } }
        let before = try numbers(fixture, names)
        // 32-bit programs take no larger ones, and below 2^53 any program reads them as they are.
        #expect(before.values.allSatisfy { $0.st_ino < (isSmall(fixture.backing) ? 1 << 32 : 1 << 53) })
        #expect(before["one/file"]?.st_ino == before["one/link"]?.st_ino && Set(before.values.map(\.st_ino)).count == 7)
        // Natively the objects of the two have the same.
        var (one, two) = (stat(), stat())
        #expect(lstat(places[0] + "/file", &one) == 0 && lstat(places[1] + "/file", &two) == 0 && one.st_ino == two.st_ino)
        for directory in ["one", "two"] {
            // Once from a listing with attributes, once without.
            for _ in 0..<2 {
                guard let stream = opendir(fixture.path(directory)) else { throw FixtureError("opendir: \(errno)") }
                defer { closedir(stream) }
                while let entry = readdir(stream) {
                    let name = withUnsafePointer(to: &entry.pointee.d_name) {
                        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                    }
                    if name.hasPrefix(".") { continue }
                    #expect(entry.pointee.d_ino == before[directory + "/" + name]?.st_ino)
                }
            }
        }
        #expect(
            try Spawn.run(["find", fixture.mountpoint, "-samefile", fixture.path("one/file")]).output.split(separator: "\n").count == 2)
        try fixture.unmount()
        try fixture.mount(options)
        // In another order than before.
        let after = try numbers(fixture, names.reversed())
        for name in names { #expect(before[name]?.st_ino == after[name]?.st_ino, "\(name)") }
    }

    /// Whether the root's own numbers are below 2^31, so that others get theirs above.
    private func isSmall(_ path: String) -> Bool {
        guard let type = try? Spawn.run(["stat", "-f", "-c", "%T", path]).output else { return false }
        return ["ext2/ext3", "tmpfs", "btrfs"].contains(type.trimmingCharacters(in: .whitespacesAndNewlines))
    }
}
