import FuseSession
import LinuxSystem
import Synchronization

/// A file that lost its last writer and may have gaps.
struct FillJob: Sendable {
    let writableFile: WritableFile
    /// O_PATH.
    let pathDescriptor: SharedDescriptor
    let files: WritableFiles
    let dataPaths: DataPathTable
    /// Whether a mapping of the backing file may remain without a handle. Asked again after each open for writing.
    let mayBeMapped: @Sendable () -> Bool
    /// Tells the kernel that blocks and times have changed.
    let notifyChange: @Sendable () -> Void
    /// The count of opens for writing at the last step.
    fileprivate var seenOpens: UInt64?
    fileprivate var isSpaceChecked = false
    /// When to try again while another program can write, in monotonic nanoseconds.
    fileprivate var retryAt: UInt64 = 0
    fileprivate var retryDelay: UInt64 = 0
    fileprivate var blockedSince: UInt64 = 0
    /// The bytes that wait for the budget; 0: none.
    fileprivate var bytesOverBudget: UInt64 = 0

    init(
        writableFile: WritableFile, pathDescriptor: SharedDescriptor, files: WritableFiles, dataPaths: DataPathTable,
        mayBeMapped: @escaping @Sendable () -> Bool,
        notifyChange: @escaping @Sendable () -> Void
    ) {
        (self.writableFile, self.pathDescriptor, self.files, self.notifyChange) = (writableFile, pathDescriptor, files, notifyChange)
        self.dataPaths = dataPaths
        self.mayBeMapped = mayBeMapped
    }

    fileprivate var isBlocked: Bool { retryDelay > 0 }
    /// The uid whose budget pays.
    fileprivate var user: UInt32 { writableFile.state.withLock { $0.user } }

    /// Tries again after 1 ms, then after twice the time, up to a second.
    fileprivate mutating func deferRetry() {
        if !isBlocked { blockedSince = SystemTime.monotonic() }
        retryDelay = min(max(retryDelay * 2, 1_000_000), 1_000_000_000)
        retryAt = SystemTime.monotonic() + retryDelay
    }

    /// Waits until the budget allows more. The file is not kept open for writing meanwhile.
    fileprivate mutating func deferForBudget(_ gaps: Gaps) {
        if bytesOverBudget == 0 { blockedSince = SystemTime.monotonic() }
        bytesOverBudget = max(gaps.unwritten(writableFile), 1)
        var fillDescriptor: SharedDescriptor?
        writableFile.state.withLock { state in
            fillDescriptor = state.fillDescriptor
            state.fillDescriptor = nil
        }
        withExtendedLifetime(fillDescriptor) {}
        retryInASecond()
    }

    private mutating func retryInASecond() {
        retryDelay = 1_000_000_000
        retryAt = SystemTime.monotonic() + retryDelay
    }
}

/// Writes zeros on a thread of its own, which ends when there is nothing to write. Files take turns.
final class ZeroFiller: Sendable {
    private struct State {
        var jobs: [FillJob] = []
        var isRunning = false

        var runnable: Int { jobs.count { !$0.isBlocked } }

        /// Removes the oldest of the user with the most blocked jobs, if there are too many. So the mappings of one user keep no
        /// file of others waiting.
        mutating func removeOldestBlocked() -> FillJob? {
            guard jobs.count - runnable > ZeroFiller.most else { return nil }
            let blocked = jobs.indices.filter { jobs[$0].isBlocked }
            let counts = Dictionary(blocked.map { (jobs[$0].user, 1) }, uniquingKeysWith: +)
            let largest = blocked.filter { counts[jobs[$0].user] == counts.values.max() }
            guard let oldest = largest.min(by: { jobs[$0].blockedSince < jobs[$1].blockedSince }) else { return nil }
            return jobs.remove(at: oldest)
        }
    }
    private let state = Monitor(State())
    private static let stepsAtOnce = 32
    /// The most jobs that can run, and the most that are blocked. Each has descriptors.
    private static let most = 256

    /// Adds a job. If there are too many, the calling thread works on it for one turn; the rest stays reserved.
    func add(_ job: FillJob) {
        if enqueue(job) { return }
        guard let rest = work(on: job) else { return }
        rest.files.countFileWithHoles()
        rest.end(isFilled: true, always: true)
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
            let waiting = state.jobs.filter { $0.bytesOverBudget > 0 }
            return (waiting.count, waiting.reduce(0) { $0 &+ $1.bytesOverBudget })
        }
    }

    /// Waits until every job is done or blocked, up to a time. What is not written stays reserved and reads as zero.
    func drain(milliseconds: UInt32) {
        let end = SystemTime.monotonic() + UInt64(milliseconds) * 1_000_000
        while state.withLock({ $0.jobs.contains { !$0.isBlocked } }), SystemTime.monotonic() < end {
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
                    return state.removeOldestBlocked()
                }
                removed?.files.countFileWithHoles()
                removed?.end(isFilled: false, always: true)
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
            do throws(Errno) { step = try job.stepExclusively() } catch {}
            switch step {
            case .more: continue
            case .blocked, .overBudget: return job
            case .hasWriter, .done, .impossible: break
            }
            if !job.end(isFilled: step != .hasWriter) { continue }
            if step == .impossible { job.files.countFileWithHoles() }
            return nil
        }
        return job
    }
}

extension FillJob {
    /// Opens the file for writing once no other program can write or has a lease. A mapping may remain after RELEASE where the
    /// kernel maps the backing file itself.
    /// - Returns: nil if another program can still write.
    private mutating func openForFilling(_ state: WritableFile.State) throws(Errno) -> SharedDescriptor? {
        seenOpens = state.opens
        if let fillDescriptor = state.fillDescriptor { return fillDescriptor }
        isSpaceChecked = false
        if mayBeMapped() {
            let isOpen = try Syscall.isOpenForWriting(pathDescriptor.rawValue)
            if isOpen { return nil }
        }
        let opened: SharedDescriptor
        do throws(Errno) {
            opened = SharedDescriptor(
                try Syscall.reopen(pathDescriptor.rawValue, OpenFlag.readWrite | OpenFlag.nonBlock | OpenFlag.noControllingTerminal))
        } catch {
            // Opening breaks the lease of another program, which releases it later.
            guard error == .again else { throw error }
            return nil
        }
        writableFile.state.withLock { $0.fillDescriptor = opened }
        retryDelay = 0
        // Pages of a gap that were read lie in the page cache, and SEEK_DATA would report them as data.
        if state.oldEnd < state.closedEnd {
            try? Syscall.dropCached(
                opened.rawValue, offset: Int64(clamping: state.oldEnd), length: Int64(clamping: state.closedEnd - state.oldEnd))
        }
        return opened
    }

    /// The one fill thread must never sleep on a file that a caller holds.
    fileprivate mutating func stepExclusively() throws(Errno) -> FillStep {
        guard writableFile.state.withLock({ $0.writers == 0 }) else { return .hasWriter }
        if dataPaths.claim(writableFile.key, against: .any) {
            defer { dataPaths.unclaim(writableFile.key) }
            if let step = try writableFile.tryExclusively(within: 1_000_000_000, { () throws(Errno) in try step() }) { return step }
        }
        seenOpens = writableFile.state.withLock { $0.opens }
        deferRetry()
        return .blocked
    }

    private mutating func step() throws(Errno) -> FillStep {
        let state = writableFile.state.withLock { $0 }
        guard state.writers == 0 else { return .hasWriter }
        if bytesOverBudget > 0 {
            // The file was removed meanwhile. Its space is needed.
            guard try Syscall.statx(pathDescriptor.rawValue, flags: AtFlag.dontSync).nlink > 0 else {
                seenOpens = state.opens
                return .done
            }
            // The file is opened only if there is more to do than to write.
            if state.opens == seenOpens, !files.maySpend(bytesOverBudget, state) {
                retryInASecond()
                return .overBudget
            }
        }
        guard let descriptor = try openForFilling(state) else {
            deferRetry()
            return .blocked
        }
        let gaps = Gaps(descriptor: descriptor.rawValue)
        // The file has no name any more. Its space is needed.
        guard try Syscall.statx(descriptor.rawValue).nlink > 0 else { return .done }
        if let range = state.partialReservation {
            // close(2) has failed with ENOSPC, so the gap stays a hole.
            isSpaceChecked = true
            writableFile.state.withLock { state in
                state.closedEnd = min(state.closedEnd, range.lowerBound)
                state.examinedEnd = min(state.examinedEnd, range.lowerBound)
            }
            try gaps.releaseNext(writableFile, range, files)
            if writableFile.state.withLock({ $0.partialReservation == nil }) { files.countFileWithHoles() }
            return .more
        }
        // The size at the last RELEASE. A mapping may have written after the last FLUSH.
        let end = state.closedEnd
        if state.examinedEnd < end {
            if !isSpaceChecked,
                try gaps.exceedFreeSpace(in: state.examinedEnd..<end, excluding: state.excluded, forRoot: state.spendsRootReserve)
            {
                files.countFileWithHoles()
                writableFile.state.withLock { $0.closedEnd = $0.examinedEnd }
                return .more
            }
            isSpaceChecked = true
            let size = try Syscall.statx(descriptor.rawValue).size
            if state.examinedEnd < min(end, size) {
                var step = FillStep.more
                do throws(Errno) {
                    step = try gaps.reserveNext(writableFile, upTo: end, files, asRoot: state.spendsRootReserve)
                } catch {
                    writableFile.noteFailedReservation(state.examinedEnd..<end)
                }
                if case .impossible = step, state.largestWritten != nil { return .more }
                return step == .impossible ? .impossible : .more
            }
        }
        guard state.largestWritten != nil else { return .done }
        let step = try gaps.writeNext(writableFile, files, asRoot: state.spendsRootReserve)
        if step == .overBudget { deferForBudget(gaps) } else { bytesOverBudget = 0 }
        return step
    }

    /// Ends the job.
    /// - Parameters:
    ///   - isFilled: there is nothing left to do.
    ///   - always: end it although the file was opened since.
    /// - Returns: false if the file was opened and closed since the last step. That close made no job, so this one continues.
    @discardableResult
    fileprivate func end(isFilled: Bool, always: Bool = false) -> Bool {
        var fillDescriptor: SharedDescriptor?
        let ends = writableFile.state.withLock { state in
            if !always, state.writers == 0, state.opens != seenOpens { return false }
            fillDescriptor = state.fillDescriptor
            (state.fillDescriptor, state.isQueued) = (nil, false)
            if isFilled, state.writers == 0 { state.hasGaps = false }
            return true
        }
        guard ends else { return false }
        withExtendedLifetime(fillDescriptor) {}
        notifyChange()
        files.release(writableFile)
        return true
    }
}
