import LinuxSystem

/// Asks the account databases on threads of its own, so that each caller has a deadline. A module of NSS may hang on the network,
/// or on a file of the mount that asks.
///
/// Threads, waiting questions and kept answers are limited. If all threads hang, the queue is full, or the same question is
/// overdue, the answer is missing at once, without a wait. That ends when a thread returns. docs/reference/identity.md has the numbers.
public final class AccountService: Sendable {
    /// The limits of the service.
    public struct Limits: Sendable {
        /// Number of threads that ask at the same time.
        public var threads = 4
        /// Number of questions that wait for a thread.
        public var questions = 64
        /// Number of these that one user may have.
        public var questionsOfOne = 32
        /// Number of answers that are kept.
        public var answers = 4096
        /// The time in which a question must be answered, in milliseconds.
        public var timeout: UInt64 = 2_000
        /// How long the answer with an account is kept, in milliseconds.
        public var lifetime: UInt64 = 5_000
        /// How long the answers "no such account" and "failed" are kept, in milliseconds.
        public var absenceLifetime: UInt64 = 1_000
        /// How long a thread without work waits before it ends, in milliseconds.
        public var idleTime: UInt64 = 10_000
        public init() {}
    }

    /// A question that waits or is being asked. Protected by the monitor's lock.
    private final class PendingQuestion {
        let question: AccountQuestion
        /// The user whose turn it takes; nil: the daemon.
        let payer: UInt32?
        /// When a thread began to ask, in nanoseconds of the monotonic clock.
        var start: UInt64?
        var waiting = 0
        var answer: AccountAnswer?
        init(_ question: AccountQuestion, _ payer: UInt32?) { (self.question, self.payer) = (question, payer) }

        /// Whether it takes so long that no other caller waits for it.
        func isOverdue(_ now: UInt64, _ limits: Limits) -> Bool {
            start.map { now >= $0 + limits.timeout * 1_000_000 } ?? false
        }
    }
    private struct Kept {
        var answer: AccountAnswer
        var expiry: UInt64
    }
    private struct State {
        var queue: [PendingQuestion] = []
        var started: [PendingQuestion] = []
        /// Of the users with waiting questions: the number of the last one that was asked.
        var turns: [UInt32?: UInt64] = [:]
        var turn: UInt64 = 0
        var answers: [AccountQuestion: Kept] = [:]
    }

    public let limits: Limits
    private let ask: @Sendable (AccountQuestion) -> AccountAnswer
    private let monitor = Monitor(State())
    private let threads: ThreadPool

    /// - Parameters:
    ///   - limits: how many threads, questions and answers there may be, and for how long.
    ///   - ask: asks the databases. It runs on the service's threads and may take any time.
    public init(
        limits: Limits = Limits(),
        asking ask: @escaping @Sendable (AccountQuestion) -> AccountAnswer = {
            AccountAnswer($0, from: SystemAccounts())
        }
    ) {
        (self.limits, self.ask) = (limits, ask)
        threads = ThreadPool(name: "aclfs-accounts", most: limits.threads, idleTime: limits.idleTime * 1_000_000)
    }

    /// Number of threads that exist now.
    public var threadCount: Int { threads.count }
    /// Number of questions without an answer, and of answers that are kept.
    public var load: (questions: Int, answers: Int) {
        monitor.withLock { ($0.queue.count + $0.started.count, $0.answers.count) }
    }

    /// When a question that is put now must be answered, in nanoseconds of the monotonic clock.
    public func deadline() -> UInt64 { SystemTime.monotonic() + limits.timeout * 1_000_000 }

    /// The answer to a question, or nil if there is none by the deadline.
    /// - Parameters:
    ///   - question: the question.
    ///   - deadline: in nanoseconds of the monotonic clock.
    ///   - payer: the user who asks. Users take turns, and one user has a part of the questions that wait.
    ///   - anew: true = an answer that a thread looked up before this call does not count.
    public func answer(
        to question: AccountQuestion, by deadline: UInt64, for payer: UInt32? = nil, anew: Bool = false
    ) -> AccountAnswer? {
        enum Start {
            case known(AccountAnswer)
            case refused
            case waiting(PendingQuestion, until: UInt64)
        }
        let start: Start = monitor.withLock { state in
            let now = SystemTime.monotonic()
            if !anew, let kept = state.answers[question], kept.expiry > now { return .known(kept.answer) }
            let isOverdue = state.started.contains { $0.question == question && $0.isOverdue(now, limits) }
            if isOverdue || now >= deadline { return .refused }
            let same = state.queue.first { $0.question == question }
            if let pending = same ?? (anew ? nil : state.started.first { $0.question == question }) {
                pending.waiting += 1
                // A caller that comes late waits only until the question is overdue.
                let overdue = pending.start.map { $0 + limits.timeout * 1_000_000 } ?? deadline
                return .waiting(pending, until: min(deadline, overdue))
            }
            let hanging = state.started.count { $0.isOverdue(now, limits) }
            guard hanging < limits.threads, hasRoom(state, payer) else { return .refused }
            guard threads.run(mayWait: true, { [self] in askNext() }) else { return .refused }
            let pending = PendingQuestion(question, payer)
            pending.waiting = 1
            state.queue.append(pending)
            return .waiting(pending, until: deadline)
        }
        switch start {
        case .known(let answer): return answer
        case .refused: return nil
        case .waiting(let pending, let end): return wait(for: pending, until: end)
        }
    }

    /// Whether another question may wait. A user who has none is served although others have filled the queue.
    private func hasRoom(_ state: State, _ payer: UInt32?) -> Bool {
        guard let payer else { return state.queue.count < limits.questions }
        let own = state.queue.count { $0.payer == payer }
        return own == 0 ? state.queue.count < 2 * limits.questions : state.queue.count < limits.questions && own < limits.questionsOfOne
    }

    private func wait(for pending: PendingQuestion, until deadline: UInt64) -> AccountAnswer? {
        let answer = monitor.wait(until: deadline) { _ in pending.answer }
        monitor.withLock { state in
            pending.waiting -= 1
            if pending.start == nil, pending.waiting == 0 { state.queue.removeAll { $0 === pending } }
        }
        return answer
    }

    /// Asks a question that waits, unless all are withdrawn.
    private func askNext() {
        guard let pending = monitor.withLock({ take(&$0) }) else { return }
        let answer = ask(pending.question)
        monitor.withLock { state in
            pending.answer = answer
            state.started.removeAll { $0 === pending }
            keep(answer, to: pending.question, &state)
        }
    }

    private func take(_ state: inout State) -> PendingQuestion? {
        // The oldest question of the user who has the fewest that are being asked; of these, whose turn is the longest ago.
        func turn(_ payer: UInt32?) -> (Int, UInt64) { (state.started.count { $0.payer == payer }, state.turns[payer] ?? 0) }
        let index = state.queue.indices.min { turn(state.queue[$0].payer) < turn(state.queue[$1].payer) }
        guard let index else { return nil }
        let first = state.queue.remove(at: index)
        state.turn += 1
        state.turns[first.payer] = state.turn
        state.turns = state.turns.filter { turn in (state.queue + [first]).contains { $0.payer == turn.key } }
        first.start = SystemTime.monotonic()
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

/// One question to the account databases, as a value for the threads that ask them.
public enum AccountQuestion: Hashable, Sendable {
    case userNamed(String)
    case user(UInt32)
    case groupNamed(String)
    case group(UInt32)
    /// The groups of the user with this uid.
    case groupsOfUser(UInt32)
}

/// The answer of the databases.
public enum AccountAnswer: Equatable, Sendable {
    case user(AccountDatabase.User)
    case group(AccountDatabase.Group)
    case groups([UInt32])
    /// There is no such account.
    case absent
    /// A database did not answer.
    case failed(Errno)

    /// Asks an account source, without a deadline.
    public init(_ question: AccountQuestion, from source: some AccountSource) {
        do throws(Errno) {
            switch question {
            case .userNamed(let name): self = try source.user(named: name).map { .user($0) } ?? .absent
            case .user(let uid): self = try source.user(uid: uid).map { .user($0) } ?? .absent
            case .groupNamed(let name): self = try source.group(named: name).map { .group($0) } ?? .absent
            case .group(let gid): self = try source.group(gid: gid).map { .group($0) } ?? .absent
            case .groupsOfUser(let uid): self = .groups(try source.groups(ofUser: uid))
            }
        } catch { self = .failed(error) }
    }
}
