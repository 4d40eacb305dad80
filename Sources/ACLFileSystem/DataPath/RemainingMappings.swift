import BackingStore
import LinuxSystem

/// Files whose last handle is gone, of which a mapping may be left. Nothing tells when it goes; whether it is still there is
/// asked of the backing file system.
struct RemainingMappings {
    private var remaining: RecentObjects
    /// Asked about since some were forgotten, and not mapped.
    private var cleared: RecentObjects
    /// Any other file may be one of those.
    private var hasForgotten = false

    init(remembering most: Int = 16_384) { (remaining, cleared) = (RecentObjects(most: most), RecentObjects(most: most)) }

    /// 0 if nothing need be asked of any file.
    var count: Int { remaining.count + (hasForgotten ? 1 : 0) }

    mutating func insert(_ key: ObjectKey) {
        cleared.remove(key)
        if remaining.insert(key) { hasForgotten = true }
    }

    /// - Parameter descriptor: of the object, a regular file that nobody has open here; O_PATH is enough.
    mutating func mayBeMapped(_ key: ObjectKey, _ descriptor: Int32) -> Bool {
        guard remaining.contains(key) || hasForgotten && !cleared.contains(key) else { return false }
        // What cannot be found out counts as yes.
        guard let isOpen = try? Syscall.isOpenForWriting(descriptor), !isOpen else { return true }
        remaining.remove(key)
        if hasForgotten { cleared.insert(key) }
        return false
    }
}

/// Objects of late, as many as may be remembered: beyond that the oldest are forgotten, thousands at a time.
private struct RecentObjects {
    /// At least so many, at most twice as many.
    let most: Int
    private var young: Set<ObjectKey> = []
    private var old: Set<ObjectKey> = []

    init(most: Int) { self.most = most }

    var count: Int { young.count + old.count }

    func contains(_ key: ObjectKey) -> Bool { young.contains(key) || old.contains(key) }

    /// - Returns: whether others were forgotten for it.
    @discardableResult
    mutating func insert(_ key: ObjectKey) -> Bool {
        var forgets = false
        if young.count >= most {
            forgets = !old.isEmpty
            (old, young) = (young, [])
        }
        young.insert(key)
        return forgets
    }

    mutating func remove(_ key: ObjectKey) {
        young.remove(key)
        old.remove(key)
    }
}
