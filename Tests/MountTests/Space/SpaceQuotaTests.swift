import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// A quota binds through the mount as it does without it, at the same size and with the same error (docs/internals/zerofill.md).
@Suite(.serialized, .enabled(if: QuotaTesting.isPossible, "needs root, /dev/fuse, loop devices and a file system with quotas"))
struct SpaceQuotaTests {
    private static let megabyte = 1 << 20
    /// Two sizes are the same if they differ by no more: the file system counts its own blocks, too.
    private static let slack = 512 << 10

    private func expectSame(_ sizes: (native: Int, mount: Int), _ location: SourceLocation = #_sourceLocation) {
        #expect(sizes.native > 8 * Self.megabyte, "\(sizes)", sourceLocation: location)
        #expect(abs(sizes.native - sizes.mount) <= Self.slack, "\(sizes)", sourceLocation: location)
    }

    /// What a script says in both directories, which are `$D`.
    private func both(_ fixture: QuotaFixture, _ script: String) throws -> [[String]] {
        try [fixture.nativePlace, fixture.place].map { place in
            let output = try TestUser.alice.shell("D=\(place); \(script)").output
            return output.split(separator: "\n").map(String.init)
        }
    }

    @Test(arguments: dataWays) func writingEndsWhereItEndsNatively(_ way: String) throws {
        let fixture = try QuotaFixture(way)
        let said = try both(
            fixture,
            "dd if=/dev/zero of=$D/f bs=64k 2>&1 | grep -o 'quota exceeded'; stat -c %s $D/f; cmp -n $(stat -c %s $D/f) $D/f /dev/zero")
        for lines in said { try #require(lines.count == 2 && lines[0] == "quota exceeded", "\(said)") }
        expectSame((try #require(Int(said[0][1])), try #require(Int(said[1][1]))))
        // Nor is there room for more names, or for anybody else.
        let more = "for n in $(seq 2000); do mkdir $D/$(printf %0200d $n) 2>&1; done | grep -o 'quota exceeded' | head -1"
        let names = try both(fixture, more)
        #expect(names[0] == names[1])
        for place in [fixture.nativePlace, fixture.place] {
            let process = try ActingProcess(.bob)
            _ = try process.call("hold", "1", place + "/bobs", String(O_RDWR | O_CREAT), "0644")
            // With no room for the name there is no file.
            #expect(try ["EDQUOT", "EBADF"].contains(process.call("fallocate", "1", "0", "0", "4194304").word))
        }
    }

    /// Finds the largest number of units that can be had, by trying.
    private func most(_ units: Int, _ canBeHad: (Int) throws -> Bool) rethrows -> Int {
        var (had, not) = (0, units)
        while not - had > 1 {
            let middle = (had + not) / 2
            if try canBeHad(middle) { had = middle } else { not = middle }
        }
        return had
    }

    @Test(arguments: dataWays, ["write", "allocate"])
    func aGapIsFilledOrTheCloseFailsAsAllocatingDoesNatively(_ way: String, _ mode: String) throws {
        let fixture = try QuotaFixture("\(way),zerofill=\(mode)")
        let process = try ActingProcess(.alice)
        let unit = 128 << 10
        // Without the mount: what fallocate(2) gives.
        let native = try most(40 * Self.megabyte / unit) { count in
            try process.must("hold", "1", fixture.nativePlace + "/f", String(O_RDWR | O_CREAT), "0644")
            let result = try process.call("fallocate", "1", String(AllocateFlag.keepSize), "0", String(count * unit))
            #expect(["ok", "EDQUOT"].contains(result.word))
            try process.must("close", "1")
            unlink(fixture.nativePlace + "/f")
            try fixture.settle()
            return result.isOK
        }
        let mount = try most(40 * Self.megabyte / unit) { count in
            try process.must("hold", "1", fixture.place + "/f", String(O_RDWR | O_CREAT), "0644")
            try process.must("ftruncate", "1", String(count * unit))
            let result = try process.call("close", "1")
            #expect(["ok", "EDQUOT"].contains(result.word))
            let status = try Spawn.run(["stat", "-c", "%s", fixture.place + "/f"]).output
            #expect(status == String(count * unit))
            unlink(fixture.place + "/f")
            try fixture.mount?.untilNothingWaits()
            try fixture.settle()
            return result.isOK
        }
        expectSame((native * unit, mount * unit))
    }

    private func occupied(_ path: String) throws -> Int {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw FixtureError("stat \(path): errno \(errno)") }
        return Int(status.st_blocks) * 512
    }

    /// Two gaps, of which only the first fits.
    @Test(arguments: dataWays, ["write", "allocate"])
    func aFileThatCouldNotBeFilledIsWholeAndCostsNothing(_ way: String, _ mode: String) throws {
        let fixture = try QuotaFixture("\(way),zerofill=\(mode)")
        let process = try ActingProcess(.alice)
        let (middle, end) = (12 * Self.megabyte, 40 * Self.megabyte)
        try process.must("hold", "1", fixture.place + "/f", String(O_RDWR | O_CREAT), "0644")
        try process.must("pwrite", "1", "0", "first")
        try process.must("pwrite", "1", String(middle), "second")
        try process.must("ftruncate", "1", String(end))
        #expect(try process.call("close", "1").word == "EDQUOT")
        // Readable and correct, through the mount and behind it.
        for path in [fixture.place + "/f", fixture.backingPlace + "/f"] {
            var expected = Data(count: end)
            expected.replaceSubrange(0..<5, with: Data("first".utf8))
            expected.replaceSubrange(middle..<middle + 6, with: Data("second".utf8))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == expected, "\(path)")
        }
        try fixture.mount?.untilNothingWaits()
        // What was reserved in vain is given back, and others can have it.
        #expect(try occupied(fixture.backingPlace + "/f") <= 65_536)
        try fixture.settle()
        try process.must("hold", "2", fixture.place + "/g", String(O_RDWR | O_CREAT), "0644")
        #expect(try process.call("fallocate", "2", "0", "0", String(16 * Self.megabyte)).isOK)
        try process.must("close", "2")
    }

    /// What was reserved at the close stays so and reads as zeros, though btrfs then takes no writes there, natively neither.
    @Test(arguments: dataWays) func whatWasReservedStaysWhenTheQuotaIsUsedUp(_ way: String) throws {
        let fixture = try QuotaFixture(way)
        let (first, second) = (try ActingProcess(.alice), try ActingProcess(.alice))
        try first.must("hold", "1", fixture.place + "/f", String(O_RDWR | O_CREAT), "0644")
        try second.must("hold", "1", fixture.place + "/f", String(O_RDWR), "0")
        try first.must("ftruncate", "1", String(8 * Self.megabyte))
        try first.must("close", "1")
        #expect(try occupied(fixture.backingPlace + "/f") >= 8 * Self.megabyte)
        let filled = try TestUser.alice.shell("cat /dev/zero > \(fixture.place)/rest")
        #expect(filled.output.contains("quota exceeded"))
        try second.must("close", "1")
        try fixture.mount?.untilNothingWaits()
        #expect(try occupied(fixture.backingPlace + "/f") >= 8 * Self.megabyte)
        let zeros = try Data(contentsOf: URL(fileURLWithPath: fixture.place + "/f"))
        #expect(zeros == Data(count: 8 * Self.megabyte))
    }

    @Test(arguments: dataWays) func aMappingBeyondTheQuotaIsRefusedAsNatively(_ way: String) throws {
        let fixture = try QuotaFixture(way + ",zerofill=off")
        for place in [fixture.nativePlace, fixture.place] {
            let process = try ActingProcess(.alice)
            try process.must("hold", "1", place + "/f", String(O_RDWR | O_CREAT), "0644")
            try process.must("ftruncate", "1", String(40 * Self.megabyte))
            // The signal stands for the error.
            #expect(try !process.call("mapfill", "1").isOK, "\(place)")
            let file = (place == fixture.place ? fixture.backingPlace : place) + "/f"
            #expect(try occupied(file) <= QuotaFixture.megabytes * Self.megabyte)
        }
    }
}
