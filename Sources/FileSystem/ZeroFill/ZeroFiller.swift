import FuseSession
import LinuxSystem
import Synchronization

/// A file that lost its last writer and may have gaps.
struct FillJob: Sendable {
    enum Wait {
        case nothing
        /// A program can write without a handle, or holds the file. It is tried again after 1 ms, then after twice the time, up to a second.
        case holder(since: UInt64, delay: UInt64)
        /// So many bytes are over the budget, which is asked each second. The file is not kept open for writing meanwhile.
        case budget(since: UInt64, bytes: UInt64)

        /// Monotonic nanoseconds; 0: it does not wait.
        var since: UInt64 {
            switch self {
            case .nothing: 0
            case .holder(let since, _), .budget(let since, _): since
            }
        }
        var bytes: UInt64? { if case .budget(_, let bytes) = self { bytes } else { nil } }
    }

    let writableFile: WritableFile
    /// O_PATH.
    let pathDescriptor: SharedDescriptor
    let share: Share
    /// Tells the kernel that blocks and times have changed.
    let notifyChange: @Sendable () -> Void
    private(set) var wait = Wait.nothing
    /// When to try again, in monotonic nanoseconds.
    private(set) var retryAt: UInt64 = 0
    /// The count of opens for writing at the last step.
    private(set) var seenOpens: UInt64 = 0
    private var isSpaceChecked = false

    init(_ writableFile: WritableFile, _ pathDescriptor: SharedDescriptor, _ share: Share, notifyChange: @escaping @Sendable () -> Void) {
        (self.writableFile, self.pathDescriptor, self.share, self.notifyChange) = (writableFile, pathDescriptor, share, notifyChange)
    }

    var isWaiting: Bool { wait.since > 0 }

    private mutating func waitForHolder() {
        let now = SystemTime.monotonic()
        switch wait {
        case .nothing: wait = .holder(since: now, delay: 1_000_000)
        case .holder(let since, let delay): wait = .holder(since: since, delay: min(delay * 2, 1_000_000_000))
        case .budget: break
        }
        if case .holder(_, let delay) = wait { retryAt = now + delay } else { retryAt = now + 1_000_000_000 }
    }

    private mutating func waitForBudget(_ bytes: UInt64) {
        let now = SystemTime.monotonic()
        if case .budget = wait {} else { wait = .budget(since: now, bytes: max(bytes, 1)) }
        retryAt = now + 1_000_000_000
    }

    /// Makes one step. The one fill thread must never sleep on a file that a caller holds.
    fileprivate mutating func step() throws(Errno) -> FillStep {
        guard let (_, opens) = writableFile.beginFillStep() else { return .hasWriter }
        let key = writableFile.key
        if share.dataPaths.claim(key, against: .any) {
            defer { share.dataPaths.unclaim(key) }
            if let step = try writableFile.tryExclusively(within: 1_000_000_000, { () throws(Errno) in try stepExclusively() }) {
                return step
            }
        }
        seenOpens = opens
        waitForHolder()
        return .blocked
    }

    private mutating func stepExclusively() throws(Errno) -> FillStep {
        guard let (known, opens) = writableFile.beginFillStep() else { return .hasWriter }
        if let bytes = wait.bytes {
            // The file was removed meanwhile. Its space is needed.
            guard try Syscall.statx(pathDescriptor.rawValue, flags: AtFlag.dontSync).nlink > 0 else {
                seenOpens = opens
                return .done
            }
            // The file is opened only if there is more to do than to write.
            if opens == seenOpens, !writableFile.maySpend(bytes, share.writableFiles) {
                waitForBudget(bytes)
                return .overBudget
            }
        }
        seenOpens = opens
        var descriptor = known
        if descriptor == nil { descriptor = try openForFilling() }
        guard let descriptor else {
            waitForHolder()
            return .blocked
        }
        // The file has no name any more. Its space is needed.
        guard try Syscall.statx(descriptor.rawValue).nlink > 0 else { return .done }
        let holes = Holes(descriptor: descriptor.rawValue)
        let step = try writableFile.fillNext(holes, share.writableFiles, isSpaceChecked: &isSpaceChecked)
        if step == .overBudget {
            waitForBudget(writableFile.unwritten(holes))
            writableFile.interruptFill()
        }
        return step
    }

    /// Opens the file for writing once no other program can write or has a lease. A mapping may remain after RELEASE where the
    /// kernel maps the backing file itself.
    /// - Returns: nil if another program can still write.
    private mutating func openForFilling() throws(Errno) -> SharedDescriptor? {
        isSpaceChecked = false
        // Asked again after each open for writing.
        if share.dataPaths.hasUsedPassthrough, try Syscall.isOpenForWriting(pathDescriptor.rawValue) { return nil }
        let opened: SharedDescriptor
        do throws(Errno) {
            opened = SharedDescriptor(
                try Syscall.reopen(pathDescriptor.rawValue, OpenFlag.readWrite | OpenFlag.nonBlock | OpenFlag.noControllingTerminal))
        } catch {
            // Opening breaks the lease of another program, which releases it later.
            guard error == .again else { throw error }
            return nil
        }
        wait = .nothing
        writableFile.beginFill(through: opened)
        return opened
    }

    /// Ends the job, as `WritableFile.endFill`.
    fileprivate func end(isFilled: Bool, since opens: UInt64?) -> Bool {
        guard writableFile.endFill(isFilled: isFilled, since: opens) else { return false }
        notifyChange()
        share.writableFiles.release(writableFile)
        return true
    }

    /// Ends the job although there is more to do. What is not written stays reserved.
    fileprivate func leave(isFilled: Bool) {
        share.writableFiles.countFileWithHoles()
        _ = end(isFilled: isFilled, since: nil)
    }
}

/// Writes zeros on a thread of its own, which ends when there is nothing to write. Files take turns.
final class ZeroFiller: Sendable {
    private struct State {
        var jobs: [FillJob] = []
        var isRunning = false

        var runnable: Int { jobs.count { !$0.isWaiting } }

        /// Removes the oldest of the user with the most jobs that wait, if there are too many. So the mappings of one user keep no
        /// file of others waiting.
        mutating func removeOldestWaiting() -> FillJob? {
            guard jobs.count - runnable > ZeroFiller.most else { return nil }
            let waiting = jobs.indices.filter { jobs[$0].isWaiting }
            let users = waiting.map { jobs[$0].writableFile.payer }
            let counts = Dictionary(users.map { ($0, 1) }, uniquingKeysWith: +)
            let largest = zip(waiting, users).filter { counts[$0.1] == counts.values.max() }.map { $0.0 }
            guard let oldest = largest.min(by: { jobs[$0].wait.since < jobs[$1].wait.since }) else { return nil }
            return jobs.remove(at: oldest)
        }
    }
    private let state = Monitor(State())
    private static let stepsAtOnce = 32
    /// The most jobs that can run, and the most that wait. Each has descriptors.
    private static let most = 256

    /// Adds a job. If there are too many, the calling thread works on it for one turn; the rest stays reserved.
    func add(_ job: FillJob) {
        if enqueue(job) { return }
        work(on: job)?.leave(isFilled: true)
    }

    /// - Returns: false if there are too many jobs, or no thread.
    private func enqueue(_ job: FillJob) -> Bool {
        state.withLock { state in
            guard state.runnable < Self.most else { return false }
            state.jobs.append(job)
            if state.isRunning { return true }
            do throws(Errno) {
                _ = try Thread.start(name: "aclfs-zerofill") { self.run() }
                state.isRunning = true
                return true
            } catch {
                state.jobs.removeLast()
                return false
            }
        }
    }

    /// The files that are filled or wait.
    var count: Int { state.withLock { $0.jobs.count } }

    /// The files of these that wait for the budget, and the bytes left to write.
    var overBudget: (files: Int, bytes: UInt64) {
        state.withLock { state in
            let bytes = state.jobs.compactMap { $0.wait.bytes }
            return (bytes.count, bytes.reduce(0, &+))
        }
    }

    /// Waits until every job is done or waits, up to a time. What is not written stays reserved and reads as zero.
    func drain(milliseconds: UInt32) {
        let end = SystemTime.monotonic() + UInt64(milliseconds) * 1_000_000
        while state.withLock({ $0.jobs.contains { !$0.isWaiting } }), SystemTime.monotonic() < end {
            SystemTime.sleep(milliseconds: 2)
        }
    }

    private enum Turn {
        case end
        case job(FillJob)
    }

    private func run() {
        while true {
            switch nextTurn() {
            case nil: continue
            case .end: return
            case .job(let job):
                let rest = work(on: job)
                // The job keeps its index while it is worked on, so that it counts.
                let removed = state.withLock { state in
                    state.jobs.removeFirst()
                    if let rest { state.jobs.append(rest) }
                    return state.removeOldestWaiting()
                }
                removed?.leave(isFilled: false)
            }
        }
    }

    /// The first job that is due, which then is at index 0; nil if none became due.
    private func nextTurn() -> Turn? {
        let next = state.withLock { $0.jobs.map(\.retryAt).min() ?? 0 }
        return state.wait(until: next) { state in
            if state.jobs.isEmpty {
                state.isRunning = false
                return .end
            }
            let now = SystemTime.monotonic()
            guard let index = state.jobs.firstIndex(where: { $0.retryAt <= now }) else { return nil }
            state.jobs.swapAt(0, index)
            return .job(state.jobs[0])
        }
    }

    /// - Returns: the job, if it is not done.
    private func work(on job: FillJob) -> FillJob? {
        var job = job
        for _ in 0..<Self.stepsAtOnce {
            if job.writableFile.hasWaiters { SystemTime.sleep(milliseconds: 1) }
            var step = FillStep.impossible
            do throws(Errno) { step = try job.step() } catch {}
            switch step {
            case .more: continue
            case .blocked, .overBudget: return job
            case .hasWriter, .done, .impossible: break
            }
            if !job.end(isFilled: step != .hasWriter, since: job.seenOpens) { continue }
            if step == .impossible { job.share.writableFiles.countFileWithHoles() }
            return nil
        }
        return job
    }
}
