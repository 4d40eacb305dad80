import Foundation
import Glibc
import TestSupport
import Testing

/// A gap costs a program one byte and the daemon the whole gap, so each user has a budget (docs/internals/zerofill.md "Budget"). In these tests
/// it comes back so slowly that time changes no outcome, or is awaited.
@Suite(.serialized, .enabled(if: LoopTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct ZeroFillBudgetTests {
    private static let megabyte = 1 << 20

    private func leaveGap(_ process: ActingProcess, _ path: String, megabytes: Int) throws {
        try process.must("hold", "1", path, String(O_RDWR | O_CREAT), "0644")
        try process.must("pwrite", "1", String(megabytes * Self.megabyte), "x")
        try process.must("close", "1")
    }

    @Test(arguments: dataWays) func whatIsOverTheBudgetStaysReservedAndHoldsUpNoOtherUser(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, "zerofill_budget=1M,\(way)", megabytes: 256)
        let alice = try ActingProcess(.alice)
        for number in 0..<12 {
            try leaveGap(alice, fixture.path("f\(number)"), megabytes: 8)
            #expect(try fixture.occupied("f\(number)") >= 8 * Self.megabyte, "reserved when close returns")
        }
        try eventually { try fixture.statusNumber("files_over_budget") == 12 && fixture.statusNumber("files_waiting") == 12 }
        #expect(try fixture.statusNumber("files_over_budget") == 12)
        // 96 of them in all, of which 1 was written at once and 1 may be in each minute.
        let left = try fixture.statusNumber("bytes_over_budget")
        #expect(left > 64 * Self.megabyte && left <= 95 * Self.megabyte, "\(left)")
        let written = try fixture.statusNumber("written_bytes")
        #expect(written >= Self.megabyte && written < 32 * Self.megabyte, "\(written)")
        let said = try Spawn.run([MountTesting.program("aclfs"), "status", "--json", fixture.mount.mountpoint]).output
        #expect(said.contains("\"files_over_budget\":12"), "\(said)")

        // All together have four times as much, so there is something left for another user.
        try leaveGap(try ActingProcess(.bob), fixture.path("bob"), megabytes: 1)
        #expect(try fixture.untilFilled("bob") == [])

        // What waits is opened, changed and removed as ever, and its space comes back.
        try alice.must("hold", "1", fixture.path("f0"), String(O_RDWR), "0")
        try alice.must("pwrite", "1", String(Self.megabyte), "y")
        try alice.must("close", "1")
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path("f0")))[Self.megabyte] == UInt8(ascii: "y"))
        let free = try Spawn.run(["stat", "-f", "-c", "%f", fixture.mount.backing]).output
        for number in 0..<12 { try alice.must("unlink", fixture.path("f\(number)")) }
        try eventually { try fixture.statusNumber("files_over_budget") == 0 && fixture.statusNumber("bytes_over_budget") == 0 }
        #expect(try fixture.statusNumber("files_over_budget") == 0)
        try eventually {
            let now = try Spawn.run(["stat", "-f", "-c", "%f", fixture.mount.backing]).output
            guard let now = Int(now.split(separator: "\n").first ?? ""), let free = Int(free.split(separator: "\n").first ?? "") else {
                return false
            }
            return (now - free) * 4096 > 90 * Self.megabyte
        }
    }

    @Test func whatWaitedIsWrittenWhenTheBudgetAllows() throws {
        let fixture = try ZeroFillFixture(.ext4, "zerofill_budget=16M", megabytes: 128)
        // 16 at once, one more within four seconds.
        try leaveGap(try ActingProcess(.alice), fixture.path("f"), megabytes: 17)
        #expect(try fixture.untilFilled("f") == [])
        try eventually { try fixture.statusNumber("files_waiting") == 0 }
        #expect(try fixture.statusNumber("files_over_budget") == 0)
    }

    @Test func whoeverOpenedTheFilePaysAlsoIfRootClosesIt() throws {
        let fixture = try ZeroFillFixture(.ext4, "zerofill_budget=1M", megabytes: 128)
        let file = open(fixture.path("shared"), O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        fchmod(file, 0o666)
        let alice = try ActingProcess(.alice)
        try alice.must("hold", "1", fixture.path("shared"), String(O_RDWR), "0")
        try alice.must("pwrite", "1", String(16 * Self.megabyte), "x")
        // Whichever close finds the gap, root's is the last one.
        try alice.must("close", "1")
        close(file)
        try eventually { try fixture.statusNumber("files_over_budget") == 1 }
        #expect(try fixture.statusNumber("files_over_budget") == 1)
        let own = open(fixture.path("own"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(pwrite(own, "x", 1, off_t(Self.megabyte)) == 1)
        close(own)
        #expect(try fixture.untilFilled("own") == [], "root's budget is untouched")
    }

    @Test func withoutALimitAllIsWritten() throws {
        let fixture = try ZeroFillFixture(.ext4, "zerofill_budget=off", megabytes: 128)
        let alice = try ActingProcess(.alice)
        for number in 0..<4 { try leaveGap(alice, fixture.path("f\(number)"), megabytes: 16) }
        for number in 0..<4 { #expect(try fixture.untilFilled("f\(number)") == []) }
    }
}
