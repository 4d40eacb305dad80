import LinuxSystem

/// Asks the account databases from threads of its own, so that whoever wants an answer waits no longer than he
/// chooses: a module of the name service switch may hang on a network, or on a file of the very mount that asks.
///
/// Bounded in every direction: threads, questions that wait, answers that are kept. When all threads hang, or the
/// queue is full, or the same question is overdue already, there is no answer at once instead of after another wait;
/// the first thread that comes back ends that. docs/identity.md has the numbers.
public final class AccountService: Sendable {
    public struct Limits: Sendable {
        /// Threads that may ask at the same time.
        public var threads = 4
        /// Questions that may wait for a thread.
        public var questions = 64
        /// Answers that are kept.
        public var answers = 4096
        /// How long a question may take, in milliseconds.
        public var patience: UInt64 = 2_000
        /// How long an account is kept, in milliseconds.
        public var lifetime: UInt64 = 5_000
        /// How long it is kept that there is none, or that the databases failed.
        public var absenceLifetime: UInt64 = 1_000
        /// How long a thread without work stays.
        public var idleTime: UInt64 = 10_000
        public init() {}
    }

    /// A question under way. Touched only with the monitor's lock held.
    private final class Inquiry {
        let question: AccountQuestion
        /// When a thread took it, on the monotonic clock.
        var start: UInt64?
        var waiting = 0
        var answer: AccountAnswer?
        init(_ question: AccountQuestion) { self.question = question }

        /// It takes so long that nobody else shall wait for it.
        func isOverdue(_ now: UInt64, _ limits: Limits) -> Bool {
            start.map { now >= $0 + limits.patience * 1_000_000 } ?? false
        }
    }
    private struct Kept {
        var answer: AccountAnswer
        var expiry: UInt64
    }
    private struct State {
        var queue: [Inquiry] = []
        var started: [Inquiry] = []
        var answers: [AccountQuestion: Kept] = [:]
        var threads = 0
        var idle = 0
    }

    public let limits: Limits
    private let ask: @Sendable (AccountQuestion) -> AccountAnswer
    private let monitor = Monitor(State())

    /// `ask` runs on the service's threads and may take any time.
    public init(
        limits: Limits = Limits(),
        asking ask: @escaping @Sendable (AccountQuestion) -> AccountAnswer = {
            AccountAnswer($0, from: SystemAccounts())
        }
    ) {
        (self.limits, self.ask) = (limits, ask)
    }

    /// Threads that exist now.
    public var threadCount: Int { monitor.withLock { $0.threads } }
    /// Questions that nobody has answered yet, and answers that are kept.
    public var load: (questions: Int, answers: Int) {
        monitor.withLock { ($0.queue.count + $0.started.count, $0.answers.count) }
    }

    /// When a question that is put now has to be answered.
    public func deadline() -> UInt64 { SystemTime.monotonic() + limits.patience * 1_000_000 }

    /// The answer, or `nil` if there is none in time.
    ///
    /// - Parameter anew: only an answer that was sought after this call began will do.
    public func answer(
        to question: AccountQuestion, by deadline: UInt64, anew: Bool = false
    ) -> AccountAnswer? {
        enum Start {
            case known(AccountAnswer)
            case refused
            case waiting(Inquiry, until: UInt64)
        }
        let start: Start = monitor.withLock { state in
            let now = SystemTime.monotonic()
            if !anew, let kept = state.answers[question], kept.expiry > now { return .known(kept.answer) }
            let isOverdue = state.started.contains { $0.question == question && $0.isOverdue(now, limits) }
            if isOverdue || now >= deadline { return .refused }
            let same = state.queue.first { $0.question == question }
            if let inquiry = same ?? (anew ? nil : state.started.first { $0.question == question }) {
                inquiry.waiting += 1
                // Until it is overdue and no longer, however late one comes.
                let overdue = inquiry.start.map { $0 + limits.patience * 1_000_000 } ?? deadline
                return .waiting(inquiry, until: min(deadline, overdue))
            }
            let hanging = state.started.count { $0.isOverdue(now, limits) }
            guard hanging < limits.threads, state.queue.count < limits.questions else { return .refused }
            let needsThread = state.idle <= state.queue.count && state.threads < limits.threads
            if needsThread, !startThread(&state) { return .refused }
            let inquiry = Inquiry(question)
            inquiry.waiting = 1
            state.queue.append(inquiry)
            return .waiting(inquiry, until: deadline)
        }
        switch start {
        case .known(let answer): return answer
        case .refused: return nil
        case .waiting(let inquiry, let end): return wait(for: inquiry, until: end)
        }
    }

    private func wait(for inquiry: Inquiry, until deadline: UInt64) -> AccountAnswer? {
        let answer = monitor.wait(until: deadline) { _ in inquiry.answer }
        monitor.withLock { state in
            inquiry.waiting -= 1
            if inquiry.start == nil, inquiry.waiting == 0 { state.queue.removeAll { $0 === inquiry } }
        }
        return answer
    }

    /// False if there is no thread to ask and none could be started.
    private func startThread(_ state: inout State) -> Bool {
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs-accounts") { [self] in serve() }
            state.threads += 1
            return true
        } catch { return state.threads > 0 }
    }

    private func serve() {
        while let inquiry = next() {
            let answer = ask(inquiry.question)
            monitor.withLock { state in
                inquiry.answer = answer
                state.started.removeAll { $0 === inquiry }
                keep(answer, to: inquiry.question, &state)
            }
        }
    }

    /// The next question; `nil` = there was none for a while, and this thread has left the count.
    private func next() -> Inquiry? {
        monitor.withLock { $0.idle += 1 }
        let inquiry: Inquiry? = monitor.wait(until: SystemTime.monotonic() + limits.idleTime * 1_000_000) { state in
            take(&state)
        }
        if inquiry != nil { return inquiry }
        return monitor.withLock { state in
            // One may have come between the end of the wait and now.
            if let inquiry = take(&state) { return inquiry }
            state.idle -= 1
            state.threads -= 1
            return nil
        }
    }

    private func take(_ state: inout State) -> Inquiry? {
        if state.queue.isEmpty { return nil }
        let first = state.queue.removeFirst()
        first.start = SystemTime.monotonic()
        state.idle -= 1
        state.started.append(first)
        return first
    }

    private func keep(_ answer: AccountAnswer, to question: AccountQuestion, _ state: inout State) {
        let lifetime: UInt64
        switch answer {
        case .user, .group, .groups: lifetime = limits.lifetime
        case .absent, .failed: lifetime = limits.absenceLifetime
        }
        guard lifetime > 0 else { return }
        let now = SystemTime.monotonic()
        if state.answers.count >= limits.answers, state.answers[question] == nil {
            state.answers = state.answers.filter { $0.value.expiry > now }
            if state.answers.count >= limits.answers { state.answers.removeAll() }
        }
        state.answers[question] = Kept(answer: answer, expiry: now + lifetime * 1_000_000)
    }
}
