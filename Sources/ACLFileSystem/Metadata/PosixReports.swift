import FuseSession
import LinuxSystem

/// Lines for the administrator about POSIX ACLs that were not set: at most one in a second, because a caller can repeat the call.
final class PosixReports: Sendable {
    private struct State {
        var next: UInt64 = 0
        var omitted = 0
    }

    private static let interval: UInt64 = 1_000_000_000
    private let state = Lock(State())
    private let report: @Sendable (String) -> Void

    init(_ report: @escaping @Sendable (String) -> Void) { self.report = report }

    /// - Parameters:
    ///   - reason: what is wrong and what is right.
    ///   - list: the list as text, if it could be read.
    func refuse(_ reason: String, _ list: String?, _ object: ObjectState, _ caller: Caller) {
        let now = SystemTime.monotonic()
        let omitted = state.withLock { state -> Int? in
            guard now >= state.next else {
                state.omitted += 1
                return nil
            }
            defer { state = State(next: now + Self.interval, omitted: 0) }
            return state.omitted
        }
        guard let omitted else { return }
        let given = list.map { " (\($0))" } ?? ""
        let others = omitted == 0 ? "" : "; \(omitted) more since the last such line"
        report("inode \(object.status.inode): POSIX ACL from uid \(caller.uid) is not set\(given): \(reason)\(others)")
    }
}
