import Conformance

/// All cases of a world small enough to be gone through completely. Cases are made one by one from
/// their number, so a world can be walked lazily, in parts, or reached by index.
public struct SmallWorld: Sendable {
    /// Three identities of which two cover the caller (502) and one does not, or not as such.
    static let principals = ["user:502", "group:601", "user:501"]
    static let modes: [UInt16] = [0o000, 0o777, 0o700, 0o070, 0o007, 0o440, 0o022, 0o644]

    enum Shape: Sendable { case oneObject, removal }
    let shape: Shape
    public let count: Int

    /// One file: lists of at most three entries (no list, too) over three identities, three rights,
    /// allow and deny; several modes; every non-empty request of the three rights.
    public static let oneObject = SmallWorld(shape: .oneObject)
    /// Removal: lists of at most two entries on the item and on its directory over three identities,
    /// allow and deny; modes of the directory with and without the sticky bit; owner of each.
    public static let removal = SmallWorld(shape: .removal)

    private init(shape: Shape) {
        self.shape = shape
        switch shape {
        case .oneObject: count = Self.lists(of: 18, upTo: 3) * Self.modes.count * Self.requests.count
        case .removal:
            let lists = Self.lists(of: 6, upTo: 2)
            count = lists * lists * Self.directoryModes.count * 4
        }
    }

    static let rights = ["read", "write", "readsecurity"]
    static let requests: [[String]] = (1..<8).map { bits in
        rights.enumerated().filter { bits & (1 << $0.offset) != 0 }.map(\.element)
    }
    static let directoryModes: [UInt16] = [0o000, 0o777, 0o1777, 0o070, 0o1007, 0o700]

    /// How many lists there are: none, the empty one, and every sequence of 1...longest entries.
    private static func lists(of entries: Int, upTo longest: Int) -> Int {
        var total = 1
        var sequences = 1
        for _ in 0...longest {
            total += sequences
            sequences *= entries
        }
        return total
    }

    /// The list with this number; `entry` makes the entry with a number below `entries`.
    private static func list(
        _ number: Int, of entries: Int, entry: (Int) -> VectorEntry
    ) -> [VectorEntry]? {
        if number == 0 { return nil }
        var rest = number - 1
        var length = 0
        var sequences = 1
        while rest >= sequences {
            rest -= sequences
            sequences *= entries
            length += 1
        }
        var list: [VectorEntry] = []
        for _ in 0..<length {
            list.append(entry(rest % entries))
            rest /= entries
        }
        return list
    }

    public subscript(number: Int) -> Vector {
        var rest = number
        func digit(_ base: Int) -> Int {
            defer { rest /= base }
            return rest % base
        }
        var cred = VectorCred(uid: 502, gid: 20, groups: [601])
        cred.directoryOptOut = true
        func entry(_ index: Int, rights: [String]) -> VectorEntry {
            VectorEntry(
                who: Self.principals[index % 3], kind: index / 3 % 2 == 0 ? "allow" : "deny",
                rights: [rights[index / 6]])
        }
        switch shape {
        case .oneObject:
            var op = VectorOp("authorize")
            op.rights = Self.requests[digit(Self.requests.count)]
            let mode = Self.modes[digit(Self.modes.count)]
            let acl = Self.list(rest, of: 18) { entry($0, rights: Self.rights) }
            var vector = Vector(id: "S\(number)", title: "small world", cred: cred, op: op)
            vector.parent = VectorNode(type: "dir", owner: 501, group: 20, mode: 0o755)
            vector.object = VectorNode(type: "file", owner: 501, group: 601, mode: mode, acl: acl)
            return vector
        case .removal:
            let lists = Self.lists(of: 6, upTo: 2)
            let mode = Self.directoryModes[digit(Self.directoryModes.count)]
            let ownsItem = digit(2) == 1
            let ownsDirectory = digit(2) == 1
            let itemACL = Self.list(digit(lists), of: 6) { entry($0, rights: ["delete"]) }
            let directoryACL = Self.list(digit(lists), of: 6) { entry($0, rights: ["delete_child"]) }
            var vector = Vector(id: "D\(number)", title: "small world, removal", cred: cred, op: VectorOp("unlink"))
            vector.parent = VectorNode(
                type: "dir", owner: ownsDirectory ? 502 : 501, group: 601, mode: mode, acl: directoryACL)
            vector.object = VectorNode(
                type: "file", owner: ownsItem ? 502 : 501, group: 20, mode: 0o600, acl: itemACL)
            return vector
        }
    }

    /// All cases, each made when it is asked for.
    public var cases: some Sequence<Vector> { (0..<count).lazy.map { self[$0] } }
    /// Every `step`th case.
    public func cases(every step: Int) -> some Sequence<Vector> {
        stride(from: 0, to: count, by: step).lazy.map { self[$0] }
    }
}
