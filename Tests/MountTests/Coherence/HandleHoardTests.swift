import Foundation
import Glibc
import TestSupport
import Testing

/// One user opens all that he may; the others go on.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct HandleHoardTests {
    /// Opens the same file until it is refused, says how often, and holds on until it is told to end.
    private static let hoard = """
        for i in $(seq 4000); do : {fd}<"$0" || break; n=$i; done 2>/dev/null
        echo "$n"; read -r end
        """

    private static func limited(_ descriptors: Int) -> [String] {
        ["sh", "-c", "ulimit -n \(descriptors) && exec \"$@\"", "sh"]
    }

    @Test(arguments: [64, 256, 1024])
    func aHoarderStopsOnlyHimself(_ descriptors: Int) throws {
        let fixture = try MountFixture(within: Self.limited(descriptors))
        let (root, carol) = (try ActingProcess(.root), try ActingProcess(.carol))
        try root.must("mkdir", fixture.path("d"), "0777", "0")
        try root.must("chmod", fixture.path("d"), "0777")
        let names = descriptors * 2
        for number in 0..<names { try root.must("create", fixture.path("d/\(number)"), "0644", "0") }
        let (toHoarder, fromHoarder) = (try Spawn.pipe(), try Spawn.pipe())
        let hoarder = try Spawn.start(
            TestUser.bob.arguments + ["--", "bash", "-c", "ulimit -n $(ulimit -H -n); " + Self.hoard, fixture.path("d/0")],
            descriptors: [toHoarder.reading, fromHoarder.writing, 2])
        close(toHoarder.reading)
        close(fromHoarder.writing)
        defer {
            close(toHoarder.writing)
            close(fromHoarder.reading)
            _ = Spawn.wait(hoarder)
        }
        var said = [UInt8](repeating: 0, count: 64)
        let count = read(fromHoarder.reading, &said, said.count)
        let held = Int(String(decoding: said.prefix(max(0, count)), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
        #expect((held ?? 0) >= 4, "the hoarder got nothing at all")
        #expect((held ?? .max) < descriptors, "nothing stopped the hoarder: this shows nothing")
        // All names are looked up, more than are kept open; a file is opened and made.
        for number in 0..<names { try carol.must("stat", fixture.path("d/\(number)")) }
        #expect(try carol.must("list", fixture.path("d")).isEmpty == false)
        try carol.must("hold", "1", fixture.path("d/1"), String(O_RDONLY), "0")
        // The kernel tells of a closed file when it gets to it; with 64 descriptors her listing may have had the last of her part.
        try eventually { try carol.call("create", fixture.path("d/new"), "0644", "0").word != "ENFILE" }
        try carol.must("stat", fixture.path("d/new"))
        // Who is refused has made nothing.
        let bob = try ActingProcess(.bob)
        #expect(try bob.call("create", fixture.path("d/his"), "0644", "0").word == "ENFILE")
        #expect(try carol.call("stat", fixture.path("d/his")).word == "ENOENT")
    }
}
