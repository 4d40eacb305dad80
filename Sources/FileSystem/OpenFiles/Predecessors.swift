import LinuxSystem
import Synchronization

/// Mounts whose daemon died, and in whose place this daemon serves. Programs that had files open there may read and write the backing files
/// past every daemon, until they close them, and nobody knows which files these are.
final class Predecessors: Sendable {
    /// Whether anything of one is in use.
    typealias IsInUse = @Sendable () -> Bool

    private struct State {
        var all: [IsInUse] = []
        /// Monotonic nanoseconds.
        var nextLook: UInt64 = 0
    }
    private let state = Lock(State())
    private let count = Atomic<Int>(0)
    private static let pause: UInt64 = 1_000_000_000

    func add(_ isInUse: @escaping IsInUse) {
        state.withLock { state in
            state.all.append(isInUse)
            count.store(state.all.count, ordering: .sequentiallyConsistent)
        }
    }

    /// Whether any file may be held by a program that had it open there. Asks the kernel at most once a second.
    var mayHoldFiles: Bool {
        if count.load(ordering: .relaxed) == 0 { return false }
        return state.withLock { state in
            let now = SystemTime.monotonic()
            if now >= state.nextLook {
                state.nextLook = now + Self.pause
                state.all.removeAll { !$0() }
                count.store(state.all.count, ordering: .sequentiallyConsistent)
            }
            return !state.all.isEmpty
        }
    }
}
