import BackingStore
import LinuxSystem
import Synchronization

/// What the layouts of the directories above some objects say about backups, for a short time: a caller may ask again and again about an object below
/// two thousand directories. One for all mounts of a tree.
///
/// It is known for a path, and as long as neither the object nor any directory has moved, and no layout was set or removed, through a mount. A change
/// by another program is seen after a second at the latest.
final class KnownExclusions: Sendable {
    private struct Known {
        var path: [UInt8]
        var generation: UInt64
        var expiry: UInt64
        var isExcluded: Bool
    }
    private let known = Lock<[ObjectKey: Known]>([:])
    /// How many changes there were that concern all answers.
    private let changes = Atomic<UInt64>(0)
    private static let most = 256
    /// In seconds.
    static let longest = 1.0

    /// Call it after an attribute that declares a layout was set or removed.
    func noteLayoutChange() { changes.add(1, ordering: .sequentiallyConsistent) }

    /// Call it after an object got another name, or its name another directory.
    func noteMove(of object: ObjectKey, isDirectory: Bool) {
        if isDirectory { return noteLayoutChange() }
        known.withLock { $0[object] = nil }
    }

    /// What the answers depend on besides the path.
    var generation: UInt64 { changes.load(ordering: .sequentiallyConsistent) }

    /// The answer for an object at a path; nil if it is not known.
    func find(_ key: ObjectKey, at path: [UInt8], _ generation: UInt64) -> Bool? {
        known.withLock { known in
            guard let found = known[key], found.generation == generation, found.path == path, found.expiry > SystemTime.monotonic() else {
                return nil
            }
            return found.isExcluded
        }
    }

    /// - Parameters:
    ///   - generation: from before the directories were looked at.
    ///   - lifetime: in seconds, at most `longest`.
    func keep(_ isExcluded: Bool, _ key: ObjectKey, at path: [UInt8], _ generation: UInt64, for lifetime: Double) {
        let expiry = SystemTime.monotonic() + UInt64(max(0, min(lifetime, Self.longest)) * 1e9)
        known.withLock { known in
            if known.count >= Self.most, known[key] == nil { known.removeAll(keepingCapacity: true) }
            known[key] = Known(path: path, generation: generation, expiry: expiry, isExcluded: isExcluded)
        }
    }
}
