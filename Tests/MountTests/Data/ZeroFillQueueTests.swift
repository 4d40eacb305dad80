import Foundation
import Glibc
import TestSupport
import Testing

/// What happens to a file while its zeros wait for those of others (docs/internals/zerofill.md).
@Suite(.serialized, .enabled(if: LoopTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct ZeroFillQueueTests {
    /// Gaps of some turns of the worker.
    private static let end = 24 << 20

    private func leaveGap(_ process: ActingProcess, _ path: String, _ end: Int = end) throws {
        try process.must("hold", "1", path, String(O_RDWR | O_CREAT), "0644")
        try process.must("pwrite", "1", String(end), "x")
        try process.must("close", "1")
    }

    /// It is opened, mapped and closed between two turns of the worker, who is busy with other files: he must not go on
    /// where he was, because what is stored between his look and his write would be lost.
    @Test(arguments: dataWays) func aMappingMadeBetweenTwoTurnsHoldsTheZerosUp(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way, megabytes: 1024)
        let process = try ActingProcess(.alice)
        for round in 0..<3 {
            let name = "f\(round)"
            try leaveGap(process, fixture.path(name))
            for number in 0..<8 { try leaveGap(process, fixture.path("other\(round).\(number)")) }
            try process.must("hold", "1", fixture.path(name), String(O_RDWR), "0")
            try process.must("mapkeep", "1", "1")
            try process.must("close", "1")
            // A step may have been under way.
            usleep(20_000)
            let holes = try fixture.holes(name)
            usleep(200_000)
            #expect(try fixture.holes(name) == holes)
            try process.must("mapstore", "1", "100", "M")
            try process.must("unmap", "1")
            #expect(try fixture.untilFilled(name) == [])
            let file = open(fixture.path(name), O_RDONLY)
            defer { close(file) }
            var byte: UInt8 = 0
            #expect(pread(file, &byte, 1, 100) == 1 && byte == UInt8(ascii: "M"))
            try eventually { try fixture.statusNumber("files_waiting") == 0 }
        }
    }

    /// On a slow disk a turn of the worker takes longer than an open waits for it.
    @Test(.enabled(if: CrashTesting.isPossible, "needs strace that may trace"))
    func aFileIsMappedSharedWhileItsZerosAreWritten() throws {
        let fixture = try ZeroFillFixture(.ext4, "passthrough=auto", megabytes: 1024)
        let process = try ActingProcess(.alice)
        let (tracer, _) = try CrashTesting.trace(fixture.mount.mountpoint, ["pwrite64"], "delay_enter=400000")
        defer {
            kill(tracer, SIGKILL)
            _ = Spawn.wait(tracer)
        }
        try leaveGap(process, fixture.path("f"))
        // The worker has begun.
        try eventually { try fixture.statusNumber("files_waiting") == 1 }
        usleep(50_000)
        let file = open(fixture.path("f"), O_RDONLY)
        defer { close(file) }
        let map = mmap(nil, 4096, PROT_READ, MAP_SHARED, file, off_t(Self.end & ~4095))
        #expect(map != MAP_FAILED, "errno \(errno)")
        if map != MAP_FAILED, let map {
            #expect(map.load(as: UInt8.self) == UInt8(ascii: "x"))
            munmap(map, 4096)
        }
        #expect(try fixture.holes("f") != [], "the worker has ended too early")
    }

    /// Pages that are in the cache of what is only reserved look like data.
    @Test(arguments: dataWays) func whatWasReadOfAGapIsWrittenAsWell(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way)
        let process = try ActingProcess(.alice)
        try process.must("hold", "1", fixture.path("f"), String(O_RDWR | O_CREAT), "0644")
        try process.must("pwrite", "1", String(4 << 20), "x")
        #expect(try Spawn.run(["cat", fixture.path("f")]).output.isEmpty == false)
        try process.must("close", "1")
        try eventually { try fixture.occupied("f") >= 4 << 20 && fixture.statusNumber("files_waiting") == 0 }
        let file = open(fixture.backingPath("f"), O_RDONLY)
        defer { close(file) }
        #expect(fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0)
        #expect(try fixture.holes("f") == [])
    }

    /// Each on its own took fractions of a millisecond, with a thread of the session held all the while.
    @Test(arguments: dataWays) func closesOfFilesFullOfHolesHoldNobodyUp(_ way: String) throws {
        let fixture = try ZeroFillFixture(.ext4, way, megabytes: 1536)
        let count = 20_000
        let words = (0..<4).map { "\(MountTesting.program("aclfs-gaps")) holes \(count) \(fixture.path("f\($0)")) &" }
        let said = try Spawn.pipe()
        let shell = TestUser.alice.arguments + ["--", "sh", "-c", words.joined(separator: " ") + " wait"]
        let pid = try Spawn.start(shell, descriptors: [0, said.writing, 2])
        close(said.writing)
        defer { close(said.reading) }
        let lister = try ActingProcess(.bob)
        var slowest = 0.0
        var status: Int32 = 0
        while waitpid(pid, &status, WNOHANG) == 0 {
            let start = Date()
            try lister.must("list", fixture.mount.mountpoint)
            slowest = max(slowest, Date().timeIntervalSince(start))
            usleep(1000)
        }
        var bytes = [UInt8](repeating: 0, count: 256)
        let length = read(said.reading, &bytes, bytes.count)
        let closes = String(decoding: bytes.prefix(max(0, length)), as: UTF8.self).split(separator: "\n").compactMap { Int($0) }
        print("closes took \(closes) ms, the slowest look \(Int(slowest * 1000)) ms")
        #expect(closes.count == 4 && closes.allSatisfy { $0 < 8000 }, "\(closes)")
        #expect(slowest < 5)
        for number in 0..<4 { #expect(try fixture.occupied("f\(number)") >= count * 8192) }
    }

    /// They wait for who has them mapped, which is no reason for others' to wait.
    @Test func manyMappedFilesKeepNobodyElsesGapsUnwritten() throws {
        let fixture = try ZeroFillFixture(.ext4, "passthrough=auto", megabytes: 256)
        let (toProcess, fromProcess) = (try Spawn.pipe(), try Spawn.pipe())
        let words = TestUser.alice.arguments + ["--", MountTesting.program("aclfs-gaps"), "mapped", "400", fixture.path("m")]
        let pid = try Spawn.start(words, descriptors: [toProcess.reading, fromProcess.writing, 2])
        close(toProcess.reading)
        close(fromProcess.writing)
        defer { close(fromProcess.reading) }
        var bytes = [UInt8](repeating: 0, count: 64)
        #expect(read(fromProcess.reading, &bytes, bytes.count) == 6, "ready")
        usleep(200_000)
        // More than whoever closes writes himself.
        try leaveGap(try ActingProcess(.bob), fixture.path("f"))
        #expect(try fixture.untilFilled("f") == [])
        // Bob's own is counted until it is looked at once more.
        try eventually { try fixture.statusNumber("files_waiting") <= 256 }
        close(toProcess.writing)
        #expect(Spawn.wait(pid) == 0)
        #expect(try fixture.untilFilled("m399") == [])
    }
}
