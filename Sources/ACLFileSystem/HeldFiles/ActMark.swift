import BackingStore
import LinuxSystem
import Synchronization

/// What a spare thread is at, for those who act on it.
final class ActMark: Sendable {
    let keys: [ObjectKey]
    /// It has closed gates of its own.
    let hasGates: Bool
    /// The caller has gone, and nothing that was not begun may be begun.
    let isAbandoned = Atomic<Bool>(false)
    private let hasActed = Atomic<Bool>(false)

    init(_ keys: [ObjectKey], hasGates: Bool) { (self.keys, self.hasGates) = (keys, hasGates) }

    static var current: ActMark? { ThreadMark.current.map { unsafeDowncast($0, to: ActMark.self) } }

    /// Before a system call that changes an object.
    /// - Throws: `held` if the caller has gone before anything was changed, or if it is about another object than was looked at.
    func beginAct(on key: ObjectKey, isFile: Bool) throws(Errno) {
        if hasActed.load(ordering: .relaxed) { return }
        if isAbandoned.load(ordering: .sequentiallyConsistent) || isFile && !keys.contains(key) { throw .held }
        hasActed.store(true, ordering: .relaxed)
    }
}
