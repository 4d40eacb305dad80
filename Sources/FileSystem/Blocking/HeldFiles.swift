import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// Runs system calls that may sleep on a held object, without a lock that other requests need and with a deadline for the caller
/// (docs/decisions/0020-held-files.md). One for all mounts of a tree.
final class HeldFiles: Sendable {
    /// How long a caller waits, in nanoseconds.
    struct Deadlines {
        /// The wait until the object is free, and the wait for each step after that.
        var untilFree: UInt64
        var step: UInt64

        static let change = Deadlines(untilFree: 2_000_000_000, step: 5_000_000_000)
        /// Short, because the kernel holds the directory's lock meanwhile.
        static let name = Deadlines(untilFree: 200_000_000, step: 5_000_000_000)
        static let data = Deadlines(untilFree: 30_000_000_000, step: 30_000_000_000)
    }

    private struct Use {
        var changes = 0
        var uses = 0
        /// Callers that stopped waiting without a result. The object is held, and another thread would only sleep as well.
        var abandoned = 0

        var isUnused: Bool { changes == 0 && uses == 0 }
    }
    /// The most that may wait at a time.
    private struct Limit {
        var all: Int
        var perUser: Int
        /// How many more, for users that have none yet.
        var reserved = 0

        /// Spare threads that sleep or work.
        static let threads = Limit(all: mostThreads - 64, perUser: 64, reserved: 64)
        /// Requests in a short wait, in a long wait, in the wait for a step, and in a blocking call of their own thread. The sum is
        /// less than the number of threads that a session may have.
        static let shortWait = Limit(all: 64, perUser: 48, reserved: 8)
        static let longWait = Limit(all: 16, perUser: 4, reserved: 4)
        static let step = Limit(all: 32, perUser: 24, reserved: 4)
        static let blocking = Limit(all: 12, perUser: 6, reserved: 4)
    }
    private struct Waiters {
        private var total = 0
        /// Users with at least one. There is rarely more than one user, so a linear search is enough.
        private var users: [(id: UInt32, count: Int)] = []

        var count: Int { total }

        mutating func add(_ user: UInt32, _ limit: Limit) -> Bool {
            let index = users.firstIndex { $0.id == user }
            let own = index.map { users[$0].count } ?? 0
            guard own == 0 || total < limit.all, total < limit.all + limit.reserved, own < limit.perUser else { return false }
            total += 1
            if let index { users[index].count += 1 } else { users.append((user, 1)) }
            return true
        }

        mutating func remove(_ user: UInt32) {
            guard let index = users.firstIndex(where: { $0.id == user }) else { return }
            total -= 1
            users[index].count -= 1
            if users[index].count == 0 {
                users.swapAt(index, users.count - 1)
                users.removeLast()
            }
        }
    }

    /// Threads at a time, for all mounts of a tree.
    private static let mostThreads = 256

    let gates = NameGates()
    /// For system calls that a caller can delay without limit.
    private let threads = ThreadPool(name: "aclfs-spare", most: mostThreads, stackSize: 512 << 10)
    private let uses = Monitor<[ObjectKey: Use]>([:])
    private let useCount = Atomic<Int>(0)
    private let threadUsers = Lock(Waiters())
    private let shortWaiters = Lock(Waiters())
    private let longWaiters = Lock(Waiters())
    private let stepWaiters = Lock(Waiters())
    private let blockingCalls = Lock(Waiters())
    /// Blocking calls that are not counted for a user.
    private let uncountedCalls = Atomic<Int>(0)
    private static let mostUncountedCalls = 4
    /// Nanoseconds. A longer wait counts as a long wait.
    static let shortWait: UInt64 = 100_000_000
    /// Nanoseconds that a caller waits if too many callers wait for an object that is not known to be held.
    static let contendedWait: UInt64 = 1_000_000_000
    private static let mostUsesOfFile = 4
    private let report: @Sendable (String) -> Void
    private let reports = Lock(HeldReports())

    /// - Parameter report: writes a line for the administrator.
    init(report: @escaping @Sendable (String) -> Void = { _ in }) { self.report = report }

    /// For `aclfs status`: held objects, and spare threads in use.
    var heldCount: Int {
        guard useCount.load(ordering: .sequentiallyConsistent) > 0 else { return 0 }
        return uses.withLock { uses in uses.values.count { $0.abandoned > 0 } }
    }
    var threadCount: Int { threadUsers.withLock { $0.count } }

    /// Whether a change of this object is in flight on a spare thread.
    func isChanging(_ key: ObjectKey) -> Bool {
        guard useCount.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        return uses.withLock { ($0[key]?.changes ?? 0) > 0 }
    }

    // MARK: Running

    /// Runs a body on a spare thread and waits for its result.
    /// - Parameters:
    ///   - keys: the objects that may be held.
    ///   - user: who is charged for the wait.
    ///   - changes: no other change of these objects runs meanwhile.
    ///   - probes: descriptors (O_PATH) of objects that must be free before `body` starts.
    ///   - hasGates: `body` closes gates.
    ///   - discard: undoes a result that comes after the caller stopped waiting.
    ///   - body: calls its argument after each step, and stops if that returns true.
    /// - Throws: `held` after the deadline; and what `body` throws.
    func run<Value: Sendable>(
        _ keys: [ObjectKey], for user: UInt32, _ deadlines: Deadlines, changes: Bool, probes: [SharedDescriptor] = [],
        hasGates: Bool = false, isInterrupted: (() -> Bool)? = nil, discard: @escaping @Sendable (Value) -> Void = { _ in },
        _ body: @escaping @Sendable (_ step: @Sendable () -> Bool) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        try enter(keys, for: user, deadlines, changes: changes)
        guard threadUsers.withLock({ $0.add(user, .threads) }) else {
            leave(keys, changes: changes) { true }
            throw .held
        }
        let job = HeldJob<Value>(ActMark(keys, hasGates: hasGates), step: deadlines.step, first: deadlines.untilFree)
        let isStarted = threads.run { [self] in
            defer { threadUsers.withLock { $0.remove(user) } }
            for probe in probes { Self.awaitFree(probe) }
            guard job.beginAct() else {
                _ = leave(keys, changes: changes) { false }
                return
            }
            let result = ThreadMark.with(job.mark) {
                Result { () throws(Errno) in try body { job.noteStep() } }
            }
            let isDelivered = leave(keys, changes: changes) { job.finish(result) }
            if !isDelivered, case .success(let value) = result { discard(value) }
        }
        guard isStarted else {
            threadUsers.withLock { $0.remove(user) }
            leave(keys, changes: changes) { true }
            throw .held
        }
        func result(within time: UInt64) -> Result<Value, Errno>? {
            job.result(until: time == .max ? .max : SystemTime.monotonic() + time, isInterrupted: isInterrupted)
        }
        if let result = limited(shortWaiters, .shortWait, user, { perhapsWaiting { result(within: Self.shortWait) } }) ?? nil {
            return try result.get()
        }
        // A step that has begun waits for a disk as a rule, so more callers may wait for one.
        func lastResult() -> Result<Value, Errno>? { waiting { result(within: .max) } }
        let last = job.isActing ? limited(stepWaiters, .step, user, lastResult) : limited(longWaiters, .longWait, user, lastResult)
        if let last = last ?? nil { return try last.get() }
        guard let result = abandon(job, keys) else { throw .held }
        return try result.get()
    }

    /// Runs a body while the waiters stay within a limit.
    /// - Returns: nil if too many wait already.
    private func limited<Value, Failure: Error>(
        _ waiters: borrowing Lock<Waiters>, _ limit: Limit, _ user: UInt32, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value? {
        guard waiters.withLock({ $0.add(user, limit) }) else { return nil }
        defer { waiters.withLock { $0.remove(user) } }
        return try body()
    }

    /// Runs a body on a spare thread without a caller that waits. Does nothing if there is no thread.
    /// - Parameter body: follows the rules of `run`.
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

    /// Whether a caller has stopped waiting for this object, and its holder still holds it.
    func isKnownHeld(_ key: ObjectKey) -> Bool {
        guard useCount.load(ordering: .sequentiallyConsistent) > 0 else { return false }
        return uses.withLock { ($0[key]?.abandoned ?? 0) > 0 }
    }

    /// Waits until a gate was opened since `openings` was read.
    /// - Parameter end: monotonic nanoseconds.
    /// - Returns: whether one was; then the caller tries again and calls `gates.endTry()`. false at the end, or if too many wait already.
    func awaitOpening(since openings: UInt64, until end: UInt64, for user: UInt32) -> Bool {
        let soon = min(end, SystemTime.monotonic() + Self.shortWait)
        let isOpened = limited(shortWaiters, .shortWait, user) {
            perhapsWaiting { gates.awaitOpening(since: openings, until: soon) }
        }
        if isOpened == true { return true }
        return waitLong(for: user) { gates.awaitOpening(since: openings, until: end) } ?? false
    }

    /// Runs a body that waits for longer than `shortWait`.
    /// - Returns: nil if too many wait already.
    func waitLong<Value>(for user: UInt32, _ body: () -> Value) -> Value? {
        guard longWaiters.withLock({ $0.add(user, .longWait) }) else { return nil }
        defer { longWaiters.withLock { $0.remove(user) } }
        return waiting(body)
    }

    /// Runs a system call that only this user can delay, on the thread of the request.
    /// - Returns: nil if too many such calls run already.
    func runOnRequestThread<Value>(for user: UInt32, _ body: () throws(Errno) -> Value) throws(Errno) -> Value? {
        // A few calls are not counted by user, which is enough as a rule.
        defer { uncountedCalls.subtract(1, ordering: .relaxed) }
        if uncountedCalls.add(1, ordering: .relaxed).oldValue < Self.mostUncountedCalls { return try perhapsWaiting(body) }
        return try limited(blockingCalls, .blocking, user) { () throws(Errno) in try perhapsWaiting(body) }
    }

    /// Returns when no holder has the object. Removing an attribute in a namespace that no file system knows takes the inode lock
    /// and changes nothing, not even the journal.
    private static func awaitFree(_ object: SharedDescriptor) {
        try? Syscall.removexattr(.any(object.rawValue), "aclfs.held")
    }

    // MARK: Use of objects

    private func enter(_ keys: [ObjectKey], for user: UInt32, _ deadlines: Deadlines, changes: Bool) throws(Errno) {
        func enterAll(_ uses: inout [ObjectKey: Use]) -> Bool {
            for key in keys {
                guard let use = uses[key] else { continue }
                if use.abandoned > 0 || (changes ? use.changes > 0 : use.uses >= Self.mostUsesOfFile) { return false }
            }
            for key in keys {
                if changes { uses[key, default: Use()].changes += 1 } else { uses[key, default: Use()].uses += 1 }
            }
            return true
        }
        func tryEnter(by deadline: UInt64) -> Bool { uses.wait(until: deadline) { enterAll(&$0) ? true : nil } == true }
        var isEntered = tryEnter(by: 0)
        // A caller does not wait for an object that is known to be held.
        if !isEntered, !keys.contains(where: isKnownHeld) {
            isEntered =
                limited(shortWaiters, .shortWait, user) { perhapsWaiting { tryEnter(by: SystemTime.monotonic() + Self.shortWait) } }
                ?? false
            let end = SystemTime.monotonic() + deadlines.untilFree
            if !isEntered, !keys.contains(where: isKnownHeld) { isEntered = waitLong(for: user) { tryEnter(by: end) } ?? false }
        }
        guard isEntered else { throw .held }
        useCount.add(1, ordering: .sequentiallyConsistent)
    }

    /// - Parameter isDelivered: gives the result to the caller; false if the caller has stopped waiting.
    @discardableResult
    private func leave(_ keys: [ObjectKey], changes: Bool, _ isDelivered: () -> Bool) -> Bool {
        defer { useCount.subtract(1, ordering: .sequentiallyConsistent) }
        return uses.withLock { uses in
            let isDelivered = isDelivered()
            for key in keys {
                guard var use = uses[key] else { continue }
                if changes { use.changes -= 1 } else { use.uses -= 1 }
                if !isDelivered { use.abandoned -= 1 }
                uses[key] = use.isUnused ? nil : use
            }
            return isDelivered
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

/// Lines for the administrator about held objects: at most one in ten seconds, because a holder can release and hold an object at
/// any rate.
struct HeldReports {
    private static let interval: UInt64 = 10_000_000_000
    private var next: UInt64 = 0
    private var omitted = 0

    /// - Parameters:
    ///   - keys: what a caller waited for until its deadline; the first is the object, directories follow.
    ///   - now: monotonic nanoseconds.
    /// - Returns: nil if the last line is younger than ten seconds.
    mutating func line(for keys: [ObjectKey], at now: UInt64) -> String? {
        guard let key = keys.first else { return nil }
        guard now >= next else {
            omitted += 1
            return nil
        }
        let others = omitted == 0 ? "" : "; \(omitted) more since the last such line"
        (next, omitted) = (now + Self.interval, 0)
        return "inode \(key.inode) is held: a read or write of the object has not ended, and changes of the object fail with EBUSY "
            + "until it ends\(others)"
    }
}
