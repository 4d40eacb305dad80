import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// An act that another process had begun when it died. The kernel sends its request again.
struct InheritedAct: Equatable, Sendable {
    /// It was done, and only the answer is missing. Otherwise it was authorised, and may be done or not.
    var isDone: Bool
    /// What tells which.
    var before: UInt64
}

/// Which requests have begun acts that would not be the same a second time, and which have done them: in memory that outlives this process.
/// A request that comes again after a death is answered as the first time, and never judged a second time once it was done
/// (docs/decisions/0043-a-death-nobody-notices.md).
final class ActNotes: Sendable {
    /// Set before the first request that is answered.
    private nonisolated(unsafe) var live: LiveTables?
    private let inherited = Lock<[UInt64: InheritedAct]>([:])
    private let repeated = Lock<[UInt64: UInt64]>([:])

    func follow(_ live: LiveTables) {
        live.keep(inherited.withLock { $0 })
        self.live = live
    }

    func inherit(_ acts: [UInt64: InheritedAct], _ repeats: [UInt64: UInt64]) {
        inherited.withLock { $0 = acts }
        repeated.withLock { $0 = repeats }
    }

    /// Notes a request that comes again.
    /// - Returns: whether so many processes have died with it in hand that this one must not try it.
    func isHopeless(_ request: UInt64) -> Bool {
        let deaths = (repeated.withLock { $0[request & ~Caller.repeated] } ?? 0) &+ 1
        live?.note(repeated: request & ~Caller.repeated, deaths: deaths)
        return deaths > Self.mostDeaths
    }

    private static let mostDeaths: UInt64 = 3

    /// Runs an act, and notes its begin and its end.
    /// - Parameters:
    ///   - caller: whose request it is.
    ///   - before: what tells whether it was done.
    ///   - body: has been authorised.
    func run<Value: ~Copyable>(
        _ caller: Caller, before: @autoclosure () -> UInt64 = 0, _ body: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        guard let live else { return try body() }
        live.begin(caller.requestNumber, before: before())
        do throws(Errno) {
            let value = try body()
            live.end(caller.requestNumber, isDone: true)
            return value
        } catch {
            live.end(caller.requestNumber, isDone: false)
            throw error
        }
    }

    /// Call when the request of an act is answered.
    func answered(_ caller: Caller) { live?.answered(caller.requestNumber) }

    /// - Returns: what another process had begun for a request that comes again; nil: nothing.
    func act(of caller: Caller) -> InheritedAct? {
        guard caller.isRepeated else { return nil }
        return inherited.withLock { $0[caller.requestNumber] }
    }
}

extension Caller {
    fileprivate static let repeated: UInt64 = 1 << 63

    /// Whether the kernel has sent the request before, to a process that has not answered it (FUSE_NOTIFY_RESEND).
    var isRepeated: Bool { request & Self.repeated != 0 }

    /// The same each time that the request is sent.
    var requestNumber: UInt64 { request & ~Self.repeated }
}

extension ActNotes {
    /// Removes or moves a name, unless another process has.
    /// - Parameters:
    ///   - isDone: what else tells that it has.
    ///   - body: makes the whole change.
    ///   - finish: what follows the act before the answer.
    func remove(
        _ caller: Caller, isDone: (InheritedAct) -> Bool = { _ in false }, _ body: () throws(Errno) -> Void,
        finish: () throws(Errno) -> Void
    ) throws(Errno) {
        guard let act = act(of: caller) else { return try body() }
        if act.isDone || isDone(act) { return try finish() }
        do throws(Errno) { return try body() } catch { if error != .noent { throw error } }
        try finish()
    }

    /// Makes something, unless another process has.
    /// - Parameters:
    ///   - find: what was made. Its argument: whether it is certain that the other process has made what is there.
    func make<Value>(
        _ caller: Caller, _ body: () throws(Errno) -> Value, orFind find: (Bool) throws(Errno) -> Value
    ) throws(Errno) -> Value {
        guard let act = act(of: caller) else { return try body() }
        if act.isDone { return try find(true) }
        do throws(Errno) { return try body() } catch {
            guard error == .exist else { throw error }
            return try find(false)
        }
    }

    /// Sets something to a value, unless another process has: it may have taken the caller's right to do it again.
    func set<Value>(
        _ caller: Caller, _ body: () throws(Errno) -> Value, orFind find: () throws(Errno) -> Value
    ) throws(Errno) -> Value {
        if let act = act(of: caller), act.isDone { return try find() }
        return try run(caller, body)
    }
}
