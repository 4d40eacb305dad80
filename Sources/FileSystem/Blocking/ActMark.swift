import BackingStore
import LinuxSystem
import Synchronization

/// The objects that a spare thread works on, and whether its caller still waits.
final class ActMark: Sendable {
    let keys: [ObjectKey]
    /// The thread closed gates itself.
    let hasGates: Bool
    /// The caller has stopped waiting. The thread must not begin to change the object.
    let isAbandoned = Atomic<Bool>(false)
    private let hasActed = Atomic<Bool>(false)

    init(_ keys: [ObjectKey], hasGates: Bool) { (self.keys, self.hasGates) = (keys, hasGates) }

    static var current: ActMark? { ThreadMark.current.map { unsafeDowncast($0, to: ActMark.self) } }

    /// Call before a system call that changes an object.
    /// - Throws: `held` if the caller stopped waiting before the first change, or if the file is not one that was judged.
    func beginAct(on key: ObjectKey, isFile: Bool) throws(Errno) {
        if hasActed.load(ordering: .relaxed) { return }
        if isAbandoned.load(ordering: .sequentiallyConsistent) || isFile && !keys.contains(key) { throw .held }
        hasActed.store(true, ordering: .relaxed)
    }
}
