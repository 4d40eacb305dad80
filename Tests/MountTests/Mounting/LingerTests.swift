import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// A thread at the device looks for the next request of a lone caller before it sleeps (docs/decisions/0019-a-moment-before-sleep.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible && sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1, "needs root, /dev/fuse and two processors"))
struct LingerTests {
    private static let requests = 500

    private let fixture: MountFixture
    private let daemon: pid_t

    init() throws {
        fixture = try MountFixture(options: "transport=dev")
        try Data().write(to: URL(fileURLWithPath: fixture.path("f")))
        daemon = try #require(MountFixture.daemons(of: fixture.mountpoint).first)
    }

    private func ask() { for _ in 0..<Self.requests { _ = access(fixture.path("f"), R_OK) } }

    private func lines(_ name: String) -> [String] {
        let path = "/proc/\(daemon)/task/\(name)"
        return ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    /// How often threads of the daemon have gone to sleep.
    private func sleeps() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task").reduce(0) { sum, task in
            let line = lines(task + "/status").first { $0.hasPrefix("voluntary_ctxt_switches:") }
            return sum + (line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
        }
    }

    /// Of processor time, in ticks of the clock.
    private func ticks() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task").reduce(0) { sum, task in
            let words = lines(task + "/stat").first?.split(separator: ")").last?.split(separator: " ") ?? []
            return sum + (words.count > 12 ? (Int(words[11]) ?? 0) + (Int(words[12]) ?? 0) : 0)
        }
    }

    /// Before whoever else wants the processors, and back.
    private func setRealTime(_ isOn: Bool, _ thread: pid_t) {
        var parameters = sched_param(sched_priority: isOn ? 1 : 0)
        sched_setscheduler(thread, isOn ? SCHED_FIFO : SCHED_OTHER, &parameters)
    }

    @Test func aLoneCallerFindsItAwake() throws {
        for task in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task") { setRealTime(true, pid_t(task) ?? daemon) }
        setRealTime(true, 0)
        defer { setRealTime(false, 0) }
        let end = SystemTime.monotonic() + 30_000_000_000
        var fewest = Int.max
        // Other tests may be as urgent.
        while fewest > Self.requests / 10, SystemTime.monotonic() < end {
            let before = try sleeps()
            ask()
            fewest = min(fewest, try sleeps() - before)
        }
        #expect(fewest <= Self.requests / 10, "of \(Self.requests) requests")
    }

    @Test func itSleepsWhenNobodyAsks() throws {
        ask()
        SystemTime.sleep(milliseconds: 50)
        let before = try ticks()
        SystemTime.sleep(milliseconds: 1000)
        #expect(try ticks() - before <= 2)
    }
}
