import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import Identity

/// docs/reference/identity.md "Subordinate ids".
@Suite(.serialized) struct SubordinateIDsTests {
    private func ranges(_ text: String, _ uids: [String: UInt32] = ["alice": 1000, "bob": 1001]) -> SubordinateRanges {
        SubordinateRanges(
            SubordinateRanges.lines(of: Array(text.utf8)).map { line in
                var line = line
                line.uid = line.uid ?? uids[line.name]
                return line
            })
    }

    @Test func aRangeIsItsOwners() {
        let ranges = ranges("alice:100000:65536\nbob:165536:65536\n1002:300000:10\n")
        #expect(ranges.least == 100_000)
        for (id, owner) in [(100_000, 1000), (165_535, 1000), (165_536, 1001), (231_071, 1001), (300_000, 1002), (300_009, 1002)] {
            #expect(ranges.owner(of: UInt32(id)) == .user(UInt32(owner)), "\(id)")
        }
        for id: UInt32 in [0, 1000, 99_999, 231_072, 299_999, 300_010, .max] { #expect(ranges.owner(of: id) == nil, "\(id)") }
    }

    @Test func whoIsNotFoundIsOneAllTheSame() {
        let ranges = ranges("alice:100000:10\ncarol:200000:10\ncarol:150000:10\n")
        #expect(ranges.owner(of: 200_003) == .unknown(150_000) && ranges.owner(of: 150_009) == .unknown(150_000))
    }

    /// One id of two users: each of them may be the one who acts.
    @Test func rangesThatOverlapAreNobodysAlone() {
        let ranges = ranges("alice:100000:10\nbob:100005:10\nalice:100012:20\nbob:200000:1\nbob:200000:3\n")
        for id: UInt32 in [100_000, 100_005, 100_031] { #expect(ranges.owner(of: id) == .unknown(100_000), "\(id)") }
        #expect(ranges.owner(of: 200_002) == .user(1001))
    }

    @Test func rootsRangesAreChargedByThemselves() {
        let ranges = ranges("root:100000:10\n0:200000:10\nroot:0:5\n")
        #expect(ranges.owner(of: 100_009) == .root(100_000) && ranges.owner(of: 200_000) == .root(200_000))
        // The payer 0 would have no limit.
        #expect(ranges.owner(of: 0) == nil && ranges.owner(of: 4) == .root(1))
    }

    @Test func linesThatAreNoneAreLeftOut() {
        let text =
            "\n#alice:1:2\nalice\nalice:1\n:1:2\nalice:x:2\nalice:1:0\nalice:-1:5\nalice:4294967296:1\nalice:4294967290:4294967295\n\u{FF}:::"
        let ranges = ranges(text)
        #expect(ranges.owner(of: 4_294_967_294) == .user(1000) && ranges.owner(of: .max) == nil && ranges.owner(of: 1) == .unknown(1))
    }

    @Test func theFileIsReadAgainWhenItHasChanged() throws {
        let directory = try ScratchDirectory("subids")
        let path = directory.path + "/subuid"
        let ids = SubordinateIDs(path) { _ in 1000 }
        let person = PersonBehind(ids)
        #expect(person.payer(of: 100_000, tid: 0) == 100_000 && !ids.excludes(100_000))
        try "alice:100000:65536\n".write(toFile: path, atomically: true, encoding: .utf8)
        eventually { person.payer(of: 100_000, tid: 0) == 1000 }
        #expect(person.payer(of: 100_000, tid: 0) == 1000 && person.payer(of: 99_999, tid: 0) == 99_999)
        // Nobody below costs more than a comparison.
        #expect(ids.excludes(1000) && ids.excludes(65_535))
        unlink(path)
        eventually { person.payer(of: 100_000, tid: 0) == 100_000 }
        #expect(person.payer(of: 100_000, tid: 0) == 100_000)
    }

    /// A database that does not answer holds up nobody: the range is charged by itself, and any deny may be meant.
    @Test func whileTheOwnerIsLookedUpNobodyWaits() throws {
        let directory = try ScratchDirectory("subids")
        try "alice:100000:65536\n".write(toFile: directory.path + "/subuid", atomically: true, encoding: .utf8)
        let gate = Monitor(false)
        let ids = SubordinateIDs(directory.path + "/subuid") { _ in
            _ = gate.wait(until: SystemTime.monotonic() + 5_000_000_000) { $0 ? true : nil }
            return 1000
        }
        let person = PersonBehind(ids)
        #expect(person.payer(of: 100_007, tid: 0) == 100_000 && person.isSubordinate(100_007, to: 5, maker: { nil }))
        gate.withLock { $0 = true }
        eventually { person.payer(of: 100_007, tid: 0) == 1000 }
        #expect(person.payer(of: 100_007, tid: 0) == 1000 && !person.isSubordinate(100_007, to: 5, maker: { nil }))
        #expect(person.isSubordinate(100_007, to: 1000, maker: { nil }))
    }

    /// Ids that another means than the file gives to users, such as systemd-nsresourced, are known by who made the namespace.
    @Test(.enabled(if: geteuid() == 0 && access("/usr/bin/python3", X_OK) == 0, "needs root and python3"), arguments: [UInt32(1500), 0])
    func whoMadeANamespaceIsCharged(_ maker: UInt32) throws {
        let script = """
            import ctypes, os, sys, time
            ready, mapped, maker = os.pipe(), os.pipe(), int(sys.argv[1])
            child = os.fork()
            if child == 0:
                os.setresuid(maker, maker, maker); ctypes.CDLL(None).unshare(0x10000000)
                os.write(ready[1], b"x"); os.read(mapped[0], 1); os.setresuid(5, 5, 5)
                os.write(1, b"%d " % os.getpid()); time.sleep(20); os._exit(0)
            os.read(ready[0], 1)
            for map in "ug": open("/proc/%d/%sid_map" % (child, map), "w").write("0 700000 1000")
            os.write(mapped[1], b"x"); os.waitpid(child, 0)
            """
        let output = try Spawn.pipe()
        let process = try Spawn.start(["/usr/bin/python3", "-c", script, "\(maker)"], descriptors: [-1, output.writing, 2])
        close(output.writing)
        var line = [UInt8](repeating: 0, count: 16)
        let count = read(output.reading, &line, 16)
        close(output.reading)
        let tid = try #require(Int32(String(decoding: line.prefix(max(0, count - 1)), as: UTF8.self)))
        defer {
            kill(tid, SIGKILL)
            _ = Spawn.wait(process)
        }
        let person = PersonBehind(SubordinateIDs("/nonexistent") { _ in nil })
        #expect(person.payer(of: 700_005, tid: 0) == 700_005)
        #expect(person.payer(of: 700_005, tid: tid) == (maker == 0 ? 700_000 : maker))
        #expect(CallerNamespace.maker(ofThread: getpid()) == nil)
        guard case .other(let other) = CallerNamespace.of(thread: tid, wantsIDs: false, isSubordinate: { _ in false }) else {
            Issue.record("not seen as another namespace")
            return
        }
        #expect(other == .init(keepsGroups: false, maker: maker))
    }
}
