import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// Runs what may sleep on a held object, without a lock that others need and with a bound for the caller
/// (docs/decisions/0020-held-files.md). One for all mounts of a tree.
final class HeldFiles: Sendable {
    /// How long a caller waits.
    struct Patience {
        /// Nanoseconds until the object is free, and for each step from then on.
        var free: UInt64
        var act: UInt64

        static let change = Patience(free: 2_000_000_000, act: 5_000_000_000)
        /// Short, because the kernel holds the directory's lock meanwhile.
        static let name = Patience(free: 200_000_000, act: 5_000_000_000)
        static let data = Patience(free: 30_000_000_000, act: 30_000_000_000)
    }

    private struct Use {
        var changes = 0
        var uses = 0
        /// Callers that went away without a result: the object is held, and another thread would only sleep as well.
        var abandoned = 0

        var isUnused: Bool { changes == 0 && uses == 0 }
    }
    /// How many at a time.
    private struct Limit {
        var all: Int
        var ofUser: Int
        /// Beyond that, for users who have none.
        var kept = 0

        /// Threads that sleep, or work.
        static let threads = Limit(all: SpareThreads.most - 64, ofUser: 64, kept: 64)
        /// Requests in their first moment, that wait for longer, that wait for an act, and that look themselves. In all fewer than the
        /// threads that a session may have.
        static let moment = Limit(all: 64, ofUser: 48, kept: 8)
        static let waiting = Limit(all: 16, ofUser: 4, kept: 4)
        static let acting = Limit(all: 32, ofUser: 24, kept: 4)
        static let risking = Limit(all: 12, ofUser: 6, kept: 4)
    }
    private struct Waiters {
        private var total = 0
        /// Each with one at least: hardly ever more than one user, so they are gone through.
        private var users: [(id: UInt32, count: Int)] = []

        var count: Int { total }

        mutating func take(_ user: UInt32, _ limit: Limit) -> Bool {
            let index = users.firstIndex { $0.id == user }
            let theirs = index.map { users[$0].count } ?? 0
            guard theirs == 0 || total < limit.all, total < limit.all + limit.kept, theirs < limit.ofUser else { return false }
            total += 1
            if let index { users[index].count += 1 } else { users.append((user, 1)) }
            return true
        }

        mutating func give(_ user: UInt32) {
            guard let index = users.firstIndex(where: { $0.id == user }) else { return }
            total -= 1
            users[index].count -= 1
            if users[index].count == 0 {
                users.swapAt(index, users.count - 1)
                users.removeLast()
            }
        }
    }

    let gates = NameGates()
    private let threads = SpareThreads()
    private let uses = Monitor<[ObjectKey: Use]>([:])
    private let useCount = Atomic<Int>(0)
    private let sleepers = Lock(Waiters())
    private let moments = Lock(Waiters())
    private let waiters = Lock(Waiters())
    private let actors = Lock(Waiters())
    private let risks = Lock(Waiters())
    /// Those that look themselves and are not counted by user.
    private let firstRisks = Atomic<Int>(0)
    private static let mostFirstRisks = 4
    /// What is longer than this counts as waiting.
    static let moment: UInt64 = 100_000_000
    /// Where others are at work on an object that is not known to be held, a caller that is one too many waits for so long.
    static let `while`: UInt64 = 1_000_000_000
    private static let mostUsesOfFile = 4
    private let report: @Sendable (String) -> Void
    private let reports = Lock(HeldReports())

    /// - Parameter report: writes a line for the administrator.
    init(report: @escaping @Sendable (String) -> Void = { _ in }) { self.report = report }

    /// For `aclfs status`: objects that callers have waited for in vain, and threads that work or sleep.
    var heldCount: Int {
        guard useCount.load(ordering: .sequentiallyConsistent) > 0 else { return 0 }
        return uses.withLock { uses in uses.values.count { $0.abandoned > 0 } }
    }
    var threadCount: Int { sleepers.withLock { $0.count } }

    /// Whether a change of this object is under way on a spare thread.
    func isChanging(_ key: ObjectKey) -> Bool {
        guard useCount.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        return uses.withLock { ($0[key]?.changes ?? 0) > 0 }
    }

    // MARK: Running

    /// - Parameters:
    ///   - keys: the objects that may be held.
    ///   - user: who asks.
    ///   - changes: no other change of these objects runs meanwhile.
    ///   - probes: of objects (O_PATH) that must be free before anything is done.
    ///   - hasGates: `body` closes gates.
    ///   - unwanted: takes back a result that comes too late.
    ///   - body: is given what it calls after each step; whether to stop is the answer.
    /// - Throws: `held` when the caller's time is over; and what `body` throws.
    func run<Value: Sendable>(
        _ keys: [ObjectKey], for user: UInt32, _ patience: Patience, changes: Bool, probes: [SharedDescriptor] = [],
        hasGates: Bool = false, isInterrupted: (() -> Bool)? = nil, unwanted: @escaping @Sendable (Value) -> Void = { _ in },
        _ body: @escaping @Sendable (_ step: @Sendable () -> Bool) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        try enter(keys, for: user, patience, changes: changes)
        guard sleepers.withLock({ $0.take(user, .threads) }) else {
            leave(keys, changes: changes) { true }
            throw .held
        }
        let job = HeldJob<Value>(ActMark(keys, hasGates: hasGates), patience: patience.act, first: patience.free)
        let isStarted = threads.run { [self] in
            defer { sleepers.withLock { $0.give(user) } }
            for probe in probes { Self.awaitFree(probe) }
            guard job.beginAct() else {
                _ = leave(keys, changes: changes) { false }
                return
            }
            let result = ThreadMark.with(job.mark) {
                Result { () throws(Errno) in try body { job.noteStep() } }
            }
            let isTaken = leave(keys, changes: changes) { job.finish(result) }
            if !isTaken, case .success(let value) = result { unwanted(value) }
        }
        guard isStarted else {
            sleepers.withLock { $0.give(user) }
            leave(keys, changes: changes) { true }
            throw .held
        }
        func result(within time: UInt64) -> Result<Value, Errno>? {
            job.result(until: time == .max ? .max : SystemTime.monotonic() + time, isInterrupted: isInterrupted)
        }
        if let result = limited(moments, .moment, user, { perhapsWaiting { result(within: Self.moment) } }) ?? nil {
            return try result.get()
        }
        // An act that has begun waits for a disk, as a rule, and such may be more.
        func lastResult() -> Result<Value, Errno>? { waiting { result(within: .max) } }
        let last = job.isActing ? limited(actors, .acting, user, lastResult) : limited(waiters, .waiting, user, lastResult)
        if let last = last ?? nil { return try last.get() }
        guard let late = abandon(job, keys) else { throw .held }
        return try late.get()
    }

    /// - Returns: nil if there are too many already.
    private func limited<Value, Failure: Error>(
        _ waiters: borrowing Lock<Waiters>, _ limit: Limit, _ user: UInt32, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value? {
        guard waiters.withLock({ $0.take(user, limit) }) else { return nil }
        defer { waiters.withLock { $0.give(user) } }
        return try body()
    }

    /// Without anybody who waits; nothing is done if no thread can be had.
    /// - Parameter body: done under the rules of `run`.
    func runUnobserved(_ key: ObjectKey, _ body: @escaping @Sendable () -> Void) {
        let isEntered = uses.withLock { uses in
            var use = uses[key] ?? Use()
            guard use.abandoned == 0, use.uses < Self.mostUsesOfFile else { return false }
            use.uses += 1
            uses[key] = use
            return true
        }
        guard isEntered else { return }
        useCount.add(1, ordering: .sequentiallyConsistent)
        let isStarted = threads.run { [self] in
            ThreadMark.with(ActMark([key], hasGates: false), body)
            leave([key], changes: false) { true }
        }
        if !isStarted { leave([key], changes: false) { true } }
    }

    /// Whether a caller has waited for this object in vain, and its holder has not let go since.
    func isKnownHeld(_ key: ObjectKey) -> Bool {
        guard useCount.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        return uses.withLock { ($0[key]?.abandoned ?? 0) > 0 }
    }

    /// Runs what waits for longer than a moment, as long as not too many do.
    /// - Returns: nil if too many do.
    func patiently<Value>(for user: UInt32, _ body: () -> Value) -> Value? {
        guard waiters.withLock({ $0.take(user, .waiting) }) else { return nil }
        defer { waiters.withLock { $0.give(user) } }
        return waiting(body)
    }

    /// Runs what sleeps only as long as this user wants, on the thread that answers its request.
    /// - Returns: nil if too many do.
    func risking<Value>(for user: UInt32, _ body: () throws(Errno) -> Value) throws(Errno) -> Value? {
        // A few whoever they are: as a rule there is no other.
        defer { firstRisks.subtract(1, ordering: .relaxed) }
        if firstRisks.add(1, ordering: .relaxed).oldValue < Self.mostFirstRisks { return try perhapsWaiting(body) }
        return try limited(risks, .risking, user) { () throws(Errno) in try perhapsWaiting(body) }
    }

    /// Returns when nobody holds the object: removing an attribute of a kind that no file system knows takes the lock of an inode
    /// and changes nothing, not even the journal.
    private static func awaitFree(_ object: SharedDescriptor) {
        try? Syscall.removexattr(.any(object.rawValue), "aclfs.held")
    }

    // MARK: Who is at an object

    private func enter(_ keys: [ObjectKey], for user: UInt32, _ patience: Patience, changes: Bool) throws(Errno) {
        func take(_ uses: inout [ObjectKey: Use]) -> Bool {
            for key in keys {
                guard let use = uses[key] else { continue }
                if use.abandoned > 0 || (changes ? use.changes > 0 : use.uses >= Self.mostUsesOfFile) { return false }
            }
            for key in keys {
                if changes { uses[key, default: Use()].changes += 1 } else { uses[key, default: Use()].uses += 1 }
            }
            return true
        }
        func isLeft(by deadline: UInt64) -> Bool { uses.wait(until: deadline) { take(&$0) ? true : nil } == true }
        var isTaken = isLeft(by: 0)
        // Who knows that it is held does not wait for it.
        if !isTaken, !keys.contains(where: isKnownHeld) {
            isTaken = limited(moments, .moment, user) { perhapsWaiting { isLeft(by: SystemTime.monotonic() + Self.moment) } } ?? false
            let end = SystemTime.monotonic() + patience.free
            if !isTaken, !keys.contains(where: isKnownHeld) { isTaken = patiently(for: user) { isLeft(by: end) } ?? false }
        }
        guard isTaken else { throw .held }
        useCount.add(1, ordering: .sequentiallyConsistent)
    }

    /// - Parameter isTaken: hands the result over; false if the caller had gone before.
    @discardableResult
    private func leave(_ keys: [ObjectKey], changes: Bool, _ isTaken: () -> Bool) -> Bool {
        defer { useCount.subtract(1, ordering: .sequentiallyConsistent) }
        return uses.withLock { uses in
            let isTaken = isTaken()
            for key in keys {
                guard var use = uses[key] else { continue }
                if changes { use.changes -= 1 } else { use.uses -= 1 }
                if !isTaken { use.abandoned -= 1 }
                uses[key] = use.isUnused ? nil : use
            }
            return isTaken
        }
    }

    private func abandon<Value>(_ job: HeldJob<Value>, _ keys: [ObjectKey]) -> Result<Value, Errno>? {
        var isNew = false
        let result = uses.withLock { uses -> Result<Value, Errno>? in
            if let result = job.abandon() { return result }
            for key in keys {
                guard var use = uses[key] else { continue }
                isNew = isNew || use.abandoned == 0
                use.abandoned += 1
                uses[key] = use
            }
            return nil
        }
        if isNew, let line = reports.withLock({ $0.line(for: keys, at: SystemTime.monotonic()) }) { report(line) }
        return result
    }
}
