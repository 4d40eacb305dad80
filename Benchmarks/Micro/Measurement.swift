import AllocationCount
import Glibc

/// What one case costs, each time.
struct Measurement {
    var name: String
    /// Nanoseconds: the median of the rounds, and their range.
    var median: Double
    var low: Double
    var high: Double
    var allocations: Double
    /// At most so many nanoseconds, and no allocation; nil = held to nothing.
    var limit: Double?

    var json: String {
        "{\"name\": \"\(name)\", \"ns\": \(median), \"low\": \(low), \"high\": \(high), "
            + "\"allocations\": \(allocations), \"limit_ns\": \(limit.map { "\($0)" } ?? "null")}"
    }
}

/// How long and how often is measured.
struct Effort {
    var rounds = 9
    var roundNanoseconds: UInt64 = 50_000_000

    static let quick = Effort(rounds: 5, roundNanoseconds: 5_000_000)
}

struct Bench {
    let effort: Effort
    /// Part of the names of what is measured; nil = everything.
    let only: String?
    /// Each case so many times and not measured, for a program that counts instructions.
    let times: UInt64?
    private(set) var results: [Measurement] = []

    init(effort: Effort, only: String?, times: UInt64? = nil) { (self.effort, self.only, self.times) = (effort, only, times) }

    /// Measures a body, which is given a number that it takes its input by, and gives back something that depends
    /// on what it did.
    mutating func measure(_ name: String, limit: Double? = nil, _ body: (UInt64) -> UInt64) {
        if let only, name.firstRange(of: only) == nil { return }
        if let times {
            _ = run(times, body)
            return
        }
        // Caches, lazy tables and the first round's memory are not what is measured.
        var iterations: UInt64 = 16
        var taken = run(iterations, body)
        while taken < effort.roundNanoseconds / 4 {
            iterations *= 2
            taken = run(iterations, body)
        }
        iterations = max(1, iterations * effort.roundNanoseconds / max(taken, 1))
        let before = aclfs_allocations()
        _ = run(iterations, body)
        let allocations = Double(aclfs_allocations() - before) / Double(iterations)
        var rounds: [Double] = []
        for _ in 0..<effort.rounds { rounds.append(Double(run(iterations, body)) / Double(iterations)) }
        rounds.sort()
        results.append(
            Measurement(
                name: name, median: rounds[rounds.count / 2], low: rounds[0], high: rounds[rounds.count - 1],
                allocations: allocations, limit: limit))
    }

    private func run(_ iterations: UInt64, _ body: (UInt64) -> UInt64) -> UInt64 {
        let begin = nanoseconds()
        var sum: UInt64 = 0
        for index in 0..<iterations { sum &+= body(aclfs_opaque(index)) }
        _ = aclfs_opaque(sum)
        return nanoseconds() - begin
    }

    /// Of this thread on a processor: others may run meanwhile.
    private func nanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
