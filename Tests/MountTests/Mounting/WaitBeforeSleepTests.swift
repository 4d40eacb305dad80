import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

extension MountTesting {
    /// Processes that ran or wanted to, on average over the last minute.
    fileprivate static var load: Double {
        var load = 0.0
        return getloadavg(&load, 1) == 1 ? load : .infinity
    }
}

/// A thread at the device looks for the next request of a lone caller before it sleeps (docs/decisions/0019-a-moment-before-sleep.md).
@Suite(
    .serialized,
    .enabled(if: MountTesting.isPossible && sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1, "needs root, /dev/fuse and two processors"))
struct WaitBeforeSleepTests {
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

    /// Where others want the processors it sleeps as ever, so this is for a run of its own.
    @Test(.enabled(if: MountTesting.load < 2, "the processors are busy: swift test --filter WaitBeforeSleepTests"))
    func aLoneCallerFindsItAwake() throws {
        let end = SystemTime.monotonic() + 10_000_000_000
        var fewest = Int.max
        while fewest > Self.requests / 10, SystemTime.monotonic() < end {
            let before = try sleeps()
            ask()
            fewest = min(fewest, try sleeps() - before)
        }
        #expect(fewest <= Self.requests / 10, "of \(Self.requests) requests")
    }

    @Test func itSleepsWithoutRequests() throws {
        ask()
        SystemTime.sleep(milliseconds: 50)
        let before = try ticks()
        SystemTime.sleep(milliseconds: 1000)
        // A thread that never sleeps uses a hundred. The look for new mount namespaces may use two, where there are many.
        #expect(try ticks() - before <= 10)
    }
}
