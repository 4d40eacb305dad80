import BackingStore

/// Backing ids of files without an open handle. Most files are opened again, and registering a file costs as much as the rest of an
/// open. The least recently used ids are evicted first, half of them at once.
struct IdleBackingIDs {
    /// The table keeps between this many ids and twice as many.
    static let most = 512
    /// The same where other hosts share the files. A server keeps open what this daemon keeps open, and its space if another host
    /// removes it.
    static let mostOfShared = 4
    let most: Int

    private var young: [ObjectKey: Int32] = [:]
    private var old: [ObjectKey: Int32] = [:]

    init(most: Int = IdleBackingIDs.most) { self.most = most }

    var count: Int { young.count + old.count }

    var all: [Int32] { Array(young.values) + old.values }

    mutating func take(_ key: ObjectKey) -> Int32? {
        if young.isEmpty, old.isEmpty { return nil }
        return young.removeValue(forKey: key) ?? old.removeValue(forKey: key)
    }

    /// Adds an id.
    /// - Returns: the ids that are evicted and must be closed.
    mutating func insert(_ id: Int32, of key: ObjectKey) -> [Int32] {
        var given: [Int32] = []
        if let other = take(key) { given.append(other) }
        if young.count >= most {
            given += old.values
            (old, young) = (young, [:])
        }
        young[key] = id
        return given
    }
}
