import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Gaps that a program leaves are filled when it closes (docs/internals/zerofill.md).
@Suite(.serialized, .enabled(if: LoopTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct ZeroFillTests {
    private static let megabyte = 1 << 20

    /// One byte after a gap of a megabyte.
    private func leaveGap(_ fixture: ZeroFillFixture, _ name: String, as user: TestUser = .alice, _ access: Int32 = O_RDWR) throws
        -> ActingProcess
    {
        let process = try ActingProcess(user)
        try process.must("hold", "1", fixture.path(name), String(access | O_CREAT), "0644")
        try process.must("pwrite", "1", String(Self.megabyte), "x")
        return process
    }

    private func read(_ fixture: ZeroFillFixture, _ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: fixture.path(name)))
    }

    @Test(arguments: BackingKind.reserving, dataWays)
    func roomIsReservedWhenCloseReturnsAndZerosFollow(_ kind: BackingKind, _ way: String) throws {
        let fixture = try ZeroFillFixture(kind, way)
        let process = try leaveGap(fixture, "f", O_WRONLY)
        #expect(try fixture.occupied("f") < Self.megabyte, "nothing is filled before close")
        #expect(try read(fixture, "f") == Data(count: Self.megabyte) + Data("x".utf8))
        let before = try fixture.status("f", onMount: true).st_mtim
        try process.must("close", "1")
        #expect(try Int(fixture.status("f", onMount: true).st_blocks) * 512 >= Self.megabyte)
        // Until the filler drops what was read of it here, a reserved gap looks like data. The time comes back after the last hole
        // is gone, with the filler's last step.
        try eventually { try fixture.statusNumber("written_bytes") > 0 && fixture.statusNumber("files_waiting") == 0 }
        #expect(try fixture.holes("f") == [])
        let after = try fixture.status("f").st_mtim
        #expect(after.tv_sec == before.tv_sec && after.tv_nsec == before.tv_nsec, "the time is the program's")
        #expect(try read(fixture, "f") == Data(count: Self.megabyte) + Data("x".utf8))
    }

    @Test(arguments: BackingKind.reserving) func allocateReservesAndWritesNothing(_ kind: BackingKind) throws {
        let fixture = try ZeroFillFixture(kind, "zerofill=allocate")
        try leaveGap(fixture, "f").must("close", "1")
        #expect(try fixture.occupied("f") >= Self.megabyte)
        usleep(50_000)
        #expect(try fixture.holes("f") != [])
        #expect(try fixture.statusNumber("written_bytes") == 0)
    }

    @Test func offLeavesHoles() throws {
        let fixture = try ZeroFillFixture(.ext4, "zerofill=off")
        try leaveGap(fixture, "f").must("close", "1")
        usleep(50_000)
        #expect(try fixture.occupied("f") < Self.megabyte)
    }

    @Test func gapsAboveTheLimitAreReservedOnly() throws {
        let fixture = try ZeroFillFixture(.ext4, "zerofill_max=1M")
        let process = try ActingProcess(.alice)
        try process.must("hold", "1", fixture.path("f"), String(O_RDWR | O_CREAT), "0644")
        try process.must("pwrite", "1", String(Self.megabyte), "x")
        try process.must("ftruncate", "1", String(5 * Self.megabyte))
        try process.must("close", "1")
        #expect(try fixture.occupied("f") >= 5 * Self.megabyte)
        try eventually { try fixture.holes("f").first?.lowerBound ?? 0 >= Self.megabyte }
        #expect(try fixture.holes("f") == [Self.megabyte + 4096..<5 * Self.megabyte])
    }

    @Test(arguments: dataWays) func holesThatWereThereStay(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way)
        let file = open(fixture.backingPath("f"), O_WRONLY | O_CREAT, 0o666)
        ftruncate(file, off_t(Self.megabyte))
        fchmod(file, 0o666)
        close(file)
        let process = try ActingProcess(.alice)
        try process.must("hold", "1", fixture.path("f"), String(O_RDWR), "0")
        try process.must("ftruncate", "1", String(2 * Self.megabyte))
        try process.must("close", "1")
        #expect(try fixture.untilFilled("f", from: Self.megabyte) == [])
        #expect(try fixture.holes("f") == [0..<Self.megabyte])
    }

    @Test(arguments: dataWays) func whatIsCutAndGrowsAgainIsNew(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way)
        let process = try leaveGap(fixture, "f")
        try process.must("close", "1")
        #expect(try fixture.untilFilled("f") == [])
        try process.must("hold", "1", fixture.path("f"), String(O_RDWR), "0")
        try process.must("ftruncate", "1", "100")
        try process.must("pwrite", "1", "500000", "y")
        try process.must("close", "1")
        #expect(try fixture.untilFilled("f") == [])
        try process.must("hold", "1", fixture.path("f"), String(O_WRONLY | O_TRUNC), "0")
        try process.must("pwrite", "1", "400000", "z")
        try process.must("close", "1")
        #expect(try fixture.untilFilled("f") == [])
        #expect(try fixture.occupied("f") >= 400_000)
    }

    @Test(arguments: dataWays) func holesPunchedOnPurposeStay(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way)
        let process = try leaveGap(fixture, "f")
        let punch = String(AllocateFlag.punchHole | AllocateFlag.keepSize)
        try process.must("fallocate", "1", punch, "65536", "65536")
        try process.must("close", "1")
        try eventually { try fixture.holes("f") == [65_536..<131_072] }
        #expect(try fixture.holes("f") == [65_536..<131_072])
    }

    /// As mkfs.ext4 does in a new image: a gap that ends at data before what was punched.
    @Test(arguments: dataWays) func aLargeGapBeforeAPunchedHoleEndsTheClose(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way)
        let process = try ActingProcess(.alice)
        try process.must("hold", "1", fixture.path("f"), String(O_RDWR | O_CREAT), "0644")
        try process.must("ftruncate", "1", String(40 * Self.megabyte))
        try process.must("pwrite", "1", String(20 * Self.megabyte), "x")
        let punch = String(AllocateFlag.punchHole | AllocateFlag.keepSize)
        try process.must("fallocate", "1", punch, String(30 * Self.megabyte), "65536")
        try process.must("close", "1")
        let punched = 30 * Self.megabyte..<30 * Self.megabyte + 65536
        try eventually { try fixture.holes("f") == [punched] }
        #expect(try fixture.holes("f") == [punched])
    }

    @Test func truncationWithoutAHandleLeavesAHole() throws {
        let fixture = try ZeroFillFixture(.ext4, "")
        let process = try ActingProcess(.alice)
        try process.must("hold", "1", fixture.path("f"), String(O_RDWR | O_CREAT), "0644")
        try process.must("close", "1")
        usleep(20_000)
        try process.must("truncate", fixture.path("f"), String(Self.megabyte))
        usleep(50_000)
        #expect(try fixture.occupied("f") == 0)
    }

    @Test(arguments: dataWays) func zerosWaitForTheLastWriter(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way)
        let (first, second) = (try leaveGap(fixture, "f"), try ActingProcess(.alice))
        try second.must("hold", "1", fixture.path("f"), String(O_RDWR), "0")
        try first.must("close", "1")
        usleep(50_000)
        #expect(try fixture.occupied("f") >= Self.megabyte)
        #expect(try fixture.holes("f") != [], "another may still write")
        try second.must("pwrite", "1", "4096", "second")
        try second.must("close", "1")
        #expect(try fixture.untilFilled("f") == [])
        #expect(try read(fixture, "f")[4096..<4102] == Data("second".utf8))
    }

    @Test(arguments: dataWays) func aKilledWriterAndAFileWithoutANameAreFilled(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way)
        // dd has made its gap and waits for input.
        _ = try TestUser.alice.shell(
            "sleep 2 | dd of=\(fixture.path("k")) bs=1 seek=1000000 2>/dev/null & sleep 0.3; kill -9 $!; true")
        #expect(try fixture.untilFilled("k") == [])
        #expect(try fixture.occupied("k") >= 1_000_000)

        let process = try leaveGap(fixture, "u")
        let look = open(fixture.backingPath("u"), O_RDONLY)
        defer { close(look) }
        unlink(fixture.path("u"))
        try process.must("close", "1")
        var status = stat()
        fstat(look, &status)
        #expect(Int(status.st_blocks) * 512 >= Self.megabyte && status.st_nlink == 0)
    }

    /// The descriptor is closed, the mapping grows nothing but may be the last that can write.
    @Test(arguments: dataWays) func aGapIsFilledWhenTheMappingGoes(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way)
        let process = try leaveGap(fixture, "f")
        try process.must("mapkeep", "1", "1")
        try process.must("close", "1")
        #expect(try fixture.occupied("f") >= Self.megabyte)
        usleep(50_000)
        #expect(try fixture.holes("f") != [], "a mapping may still write")
        try process.must("mapstore", "1", "100", "M")
        try process.must("unmap", "1")
        #expect(try fixture.untilFilled("f") == [])
        #expect(try read(fixture, "f")[100] == UInt8(ascii: "M"))
    }

    @Test func whereRoomCannotBeReservedZerosAreWrittenOrCounted() throws {
        let fixture = try ZeroFillFixture(.ext4WithoutExtents, "")
        try leaveGap(fixture, "f").must("close", "1")
        #expect(try fixture.untilFilled("f") == [])
        let other = try ZeroFillFixture(.ext4WithoutExtents, "zerofill=allocate")
        try leaveGap(other, "f").must("close", "1")
        #expect(try other.holes("f") != [])
        #expect(try other.statusNumber("files_left_with_holes") == 1)
    }

    @Test(arguments: ["write", "allocate"]) func aGapThatDoesNotFitFailsTheClose(_ mode: String) throws {
        let fixture = try ZeroFillFixture(.ext4, "zerofill=\(mode)")
        let process = try ActingProcess(.alice)
        for gap in [8, 15, 100_000] {
            var status = statvfs()
            _ = try Spawn.run(["sync", "-f", fixture.mount.backing])
            statvfs(fixture.mount.backing, &status)
            let free = Int(status.f_bavail) * Int(status.f_frsize)
            let size = gap == 8 ? free + 8 * Self.megabyte : gap == 15 ? free + 4 * Self.megabyte : gap * Self.megabyte
            // With little free the gap is tried and not only counted.
            if gap == 15 {
                try process.must("hold", "2", fixture.path("most"), String(O_RDWR | O_CREAT), "0644")
                try process.must("fallocate", "2", "0", "0", String(free - 9 * Self.megabyte))
            }
            let asked = gap == 15 ? 13 * Self.megabyte : size
            try process.must("hold", "1", fixture.path("f"), String(O_RDWR | O_CREAT | O_TRUNC), "0644")
            try process.must("pwrite", "1", "0", "kept")
            try process.must("ftruncate", "1", String(asked))
            let start = Date()
            #expect(try process.call("close", "1").word == "ENOSPC")
            #expect(Date().timeIntervalSince(start) < 10)
            #expect(try Int(fixture.status("f", onMount: true).st_size) == asked)
            #expect(try process.must("hold", "3", fixture.path("f"), String(O_RDONLY), "0") == "")
            #expect(try process.call("pread", "3", "0").isOK)
            try process.must("close", "3")
            // What was reserved in vain is given back.
            try eventually { try fixture.occupied("f") <= 65_536 }
            let occupied = try fixture.occupied("f")
            // Blocks of the extent tree may remain.
            #expect(occupied <= 65_536, "\(gap) \(free) \(asked)")
        }
    }

    @Test func aWriterWhoComesDuringALargeFillHardlyWaits() throws {
        let fixture = try ZeroFillFixture(.tmpfs, "", megabytes: 192)
        let (process, end) = (try ActingProcess(.alice), 160 * Self.megabyte)
        try process.must("hold", "1", fixture.path("f"), String(O_RDWR | O_CREAT), "0644")
        try process.must("ftruncate", "1", String(end))
        try process.must("close", "1")
        let start = Date()
        for number in 0..<5 {
            try process.must("hold", "1", fixture.path("f"), String(O_RDWR), "0")
            try process.must("pwrite", "1", String(end - 4096 - number * 8192), "written")
            try process.must("close", "1")
        }
        try process.must("stat", fixture.mount.mountpoint)
        #expect(Date().timeIntervalSince(start) < 10)
        #expect(try fixture.untilFilled("f") == [])
        for number in 0..<5 {
            let file = open(fixture.backingPath("f"), O_RDONLY)
            defer { close(file) }
            var bytes = [UInt8](repeating: 1, count: 8)
            pread(file, &bytes, 8, off_t(end - 4096 - number * 8192))
            #expect(bytes == Array("written".utf8) + [0])
        }
    }

    @Test func aKilledDaemonLeavesZerosAndNothingOld() throws {
        let fixture = try ZeroFillFixture(.ext4, "")
        let old = fixture.backingPath("old")
        _ = try Spawn.run([
            "sh", "-c",
            "head -c 45000000 /dev/zero | tr '\\0' '\\377' > \(old); sync -f \(old); rm \(old); sync -f \(fixture.mount.backing)",
        ])
        let process = try ActingProcess(.alice)
        try process.must("hold", "1", fixture.path("f"), String(O_RDWR | O_CREAT), "0644")
        try process.must("ftruncate", "1", "40000000")
        try process.must("close", "1")
        MountFixture.killDaemons(of: fixture.mount.mountpoint)
        usleep(50_000)
        #expect(try fixture.occupied("f") >= 40_000_000)
        let compared = try Spawn.run(["cmp", "-n", "40000000", fixture.backingPath("f"), "/dev/zero"])
        #expect(compared.status == 0, "\(compared)")
    }

    @Test func aWriterThroughAnotherMountIsWaitedFor() throws {
        let fixture = try ZeroFillFixture(.ext4, "")
        let other = fixture.mount.top + "/other"
        mkdir(other, 0o755)
        try fixture.mount.mount("zerofill=off", at: other)
        let (first, second) = (try leaveGap(fixture, "f"), try ActingProcess(.alice))
        try second.must("hold", "1", other + "/f", String(O_RDWR), "0")
        try first.must("close", "1")
        usleep(50_000)
        #expect(try fixture.holes("f") != [])
        try second.must("pwrite", "1", "8192", "other")
        try second.must("close", "1")
        #expect(try fixture.untilFilled("f") == [])
        #expect(try read(fixture, "f")[8192..<8197] == Data("other".utf8))
    }

    @Test(arguments: dataWays) func aSecondWriterLosesNoByte(_ way: String) throws {
        let rounds = MountTesting.isLong ? 1000 : 100
        for kind in MountTesting.isLong ? BackingKind.reserving : [.ext4, .tmpfs] {
            let fixture = try ZeroFillFixture(kind, way)
            let result = try fixture.gaps("race", String(rounds), fixture.path("f"))
            #expect(result.status == 0, "\(kind): \(result)")
        }
    }

    @Test(arguments: BackingKind.reserving)
    func randomCallsOfSeveralProcessesGiveWhatTheyShould(_ kind: BackingKind) throws {
        let fixture = try ZeroFillFixture(kind, "zerofill=off")
        for way in dataWays {
            for mode in ["off", "allocate", "write"] {
                try fixture.mount.unmount()
                try fixture.mount.mount("\(way),zerofill=\(mode)")
                for run in 0..<(MountTesting.isLong ? 60 : 3) { try randomCalls(fixture, mode, way, run) }
            }
        }
    }

    private func randomCalls(_ fixture: ZeroFillFixture, _ mode: String, _ way: String, _ run: Int) throws {
        let said = ProcessInfo.processInfo.environment["ACLFS_SEED"].flatMap { UInt64($0) }
        let seed = said ?? UInt64.random(in: 1...1_000_000_000)
        let name = "\(mode)\(run)\(way)"
        // Some begin as a hole.
        let file = open(fixture.backingPath(name), O_WRONLY | O_CREAT, 0o666)
        ftruncate(file, run % 2 == 0 ? 300_000 : 0)
        close(file)
        // A daemon that has yet to end takes a new mount of the same directory, with its counts.
        let reserved = try fixture.statusNumber("reserved_bytes")
        let result = try fixture.gaps("random", String(seed), "60", "3", fixture.path(name))
        let numbers = result.output.split(separator: " ").compactMap { Int($0) }
        try #require(result.status == 0 && numbers.count == 2, "ACLFS_SEED=\(seed): \(result)")
        let (oldEnd, end) = (numbers[0], numbers[1])
        switch mode {
        case "write": #expect(try fixture.untilFilled(name, from: oldEnd) == [], "ACLFS_SEED=\(seed)")
        case "allocate": #expect(try fixture.occupied(name) + 4096 >= end - oldEnd, "ACLFS_SEED=\(seed)")
        default: #expect(try fixture.statusNumber("reserved_bytes") == reserved)
        }
        // Many of them do not fit.
        unlink(fixture.path(name))
    }
}
