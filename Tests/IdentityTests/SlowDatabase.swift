import Glibc
import Identity
import LinuxSystem

/// A database of which the test says when it answers.
final class SlowDatabase: Sendable {
    private struct State {
        var isStuck = true
        var asked: [AccountQuestion] = []
        var groups: [UInt32: AccountAnswer] = [:]
    }
    private let state = Monitor(State())

    var asked: [AccountQuestion] { state.withLock { $0.asked } }
    func release() { state.withLock { $0.isStuck = false } }
    func block() { state.withLock { $0.isStuck = true } }
    func set(_ answer: AccountAnswer, ofUser uid: UInt32) { state.withLock { $0.groups[uid] = answer } }

    func answer(_ question: AccountQuestion) -> AccountAnswer {
        state.withLock { $0.asked.append(question) }
        // Ends at last, so that a test that fails leaves no thread behind.
        _ = state.wait(until: SystemTime.monotonic() + 20_000_000_000) { $0.isStuck ? nil : true }
        switch question {
        case .user(let uid): return .user(.init(name: "user\(uid)", uid: uid, gid: uid))
        case .groupsOfUser(let uid): return state.withLock { $0.groups[uid] } ?? .groups([])
        default: return .absent
        }
    }
}

/// A thread that the test waits for.
final class JoinedThread: @unchecked Sendable {
    private let done = Monitor(false)
    init(_ body: @escaping @Sendable () -> Void) throws {
        let done = done
        _ = try Thread.start(name: "asking") {
            body()
            done.withLock { $0 = true }
        }
    }
    func join() { _ = done.wait(until: SystemTime.monotonic() + 30_000_000_000) { $0 ? true : nil } }
}
