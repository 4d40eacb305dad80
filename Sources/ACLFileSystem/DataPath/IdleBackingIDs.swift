import BackingStore

/// Ids of files that nobody has open any more, kept because most files are opened again: to register a file and to take it
/// back costs as much as the rest of an open. Those that were not used for the longest time go first, many at once.
struct IdleBackingIDs {
    /// At least so many are kept, at most twice as many.
    static let most = 512
    /// Where other hosts share the files: what is kept open here, a server keeps open, too, and its space when another host removes it.
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

    /// - Returns: what is to be given back for it.
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
