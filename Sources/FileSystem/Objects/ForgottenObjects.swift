import BackingStore
import LinuxSystem

/// Objects that the kernel has forgotten, until it is time to ask whether they were removed on the backing directory.
///
/// When the entry of a directory is stale, the kernel forgets all objects below, and the next listing brings them back. For these the
/// file system is not asked.
final class ForgottenObjects: Sendable {
    /// Nanoseconds. A listing follows within milliseconds.
    private static let delay: UInt64 = 200_000_000
    private static let most = 8192

    private struct State {
        var objects: [BackingObject] = []
        /// Of all of them, in monotonic nanoseconds; nil: there are none.
        var due: UInt64?
    }
    private let state = Lock(State())

    enum Addition {
        /// The clock has to learn the deadline.
        case first
        case further
        case noRoom
    }

    func add(_ object: BackingObject) -> Addition {
        state.withLock { state in
            guard state.objects.count < Self.most else { return .noRoom }
            state.objects.append(object)
            if state.due != nil { return .further }
            state.due = SystemTime.monotonic() + Self.delay
            return .first
        }
    }

    /// Monotonic nanoseconds; nil: there are none.
    var nextDue: UInt64? { state.withLock { $0.due } }

    /// - Parameter now: monotonic nanoseconds.
    func takeDue(_ now: UInt64) -> [BackingObject] {
        state.withLock { state in
            guard let due = state.due, due <= now else { return [] }
            defer { state = State() }
            return state.objects
        }
    }
}
