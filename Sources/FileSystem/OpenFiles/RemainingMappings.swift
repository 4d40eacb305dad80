import BackingStore
import LinuxSystem

/// Files without a handle that may still be mapped. The kernel does not tell when a mapping ends, so the backing file system is
/// asked.
struct RemainingMappings {
    private var remaining: RecentObjects
    /// Files that were found unmapped after others were forgotten.
    private var cleared: RecentObjects
    /// Some files were forgotten: any file may be one of those.
    private var hasForgotten = false

    init(remembering most: Int = 16_384) { (remaining, cleared) = (RecentObjects(most: most), RecentObjects(most: most)) }

    /// 0 if no file can be mapped.
    var count: Int { remaining.count + (hasForgotten ? 1 : 0) }

    mutating func insert(_ key: ObjectKey) {
        cleared.remove(key)
        if remaining.insert(key) { hasForgotten = true }
    }

    /// From now on any file may be mapped that is not asked about.
    mutating func assumeAny() {
        hasForgotten = true
        cleared = RecentObjects(most: cleared.most)
    }

    /// Asks whether a file may still be mapped, and forgets it if not.
    /// - Parameter descriptor: of the object, a regular file without a handle; O_PATH is enough.
    mutating func confirmMapped(_ key: ObjectKey, _ descriptor: Int32) -> Bool {
        guard remaining.contains(key) || hasForgotten && !cleared.contains(key) else { return false }
        // An error counts as yes.
        guard let isOpen = try? Syscall.isOpenForWriting(descriptor), !isOpen else { return true }
        remaining.remove(key)
        if hasForgotten { cleared.insert(key) }
        return false
    }
}

/// Objects in the order of their last use. Beyond the bound the older half is forgotten.
private struct RecentObjects {
    /// The set keeps between this many objects and twice as many.
    let most: Int
    private var young: Set<ObjectKey> = []
    private var old: Set<ObjectKey> = []

    init(most: Int) { self.most = most }

    var count: Int { young.count + old.count }

    func contains(_ key: ObjectKey) -> Bool { young.contains(key) || old.contains(key) }

    /// - Returns: whether other objects were forgotten.
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
