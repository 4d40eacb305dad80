import LinuxSystem

/// The source of names for one level of a `TreeDescent`.
protocol LevelNames {
    associatedtype Node
    /// `nil` at the end.
    mutating func next(in directory: Node) throws(Errno) -> [UInt8]?
    /// Closes descriptors until the next call of `next`.
    mutating func suspend()
}

/// The directories from an operand down to the present one of a walk. It is a stack without recursion, because a tree may have any
/// depth. Only the deepest levels hold descriptors. The walk opens the others again on its way up, by `..` or from the operand, and
/// checks that each still has the same device and inode number.
struct TreeDescent<Files: ToolFiles, Names: LevelNames> where Names.Node == Files.Node {
    private struct Level {
        let identity: ObjectIdentity
        /// The length of the part of `below` that leads here.
        let length: Int
        var names: Names
        var node: Files.Node?
    }

    private let files: Files
    private let root: Files.Node
    private let operand: [UInt8]
    private let followsLinks: Bool
    private let window: Int
    private var levels: [Level] = []
    private var identities: Set<ObjectIdentity> = []
    /// The first level that holds a descriptor.
    private var firstOpened = 0
    /// The directory that the walk left last. `..` of it is the level above.
    private var left: Files.Node?
    /// The path from the operand, once for all levels: one for each would need memory with the square of the depth.
    private(set) var below: [UInt8] = []

    /// - Parameters:
    ///   - root: the operand, open.
    ///   - operand: its path.
    ///   - followsLinks: whether names below the operand may be links.
    ///   - levels: the number of levels that may be open; nil: as the files say.
    init(_ files: Files, _ root: Files.Node, of operand: [UInt8], followsLinks: Bool, levels: Int? = nil) {
        (self.files, self.root, self.operand, self.followsLinks) = (files, root, operand, followsLinks)
        window = levels ?? files.openLevels
    }

    /// The number of directories from the operand to the present one, both included.
    var depth: Int { levels.count }

    /// The path of the present directory.
    var path: [UInt8] { below.isEmpty ? operand : joinedPath(operand, below) }
    func path(of name: [UInt8]) -> [UInt8] { joinedPath(path, name) }

    /// Whether a directory is the present one or above it.
    func contains(_ identity: ObjectIdentity) -> Bool { identities.contains(identity) }

    /// Makes a directory the present one.
    /// - Parameters:
    ///   - name: in the present directory; empty for the operand.
    ///   - names: the names to visit in it.
    mutating func enter(_ node: Files.Node, named name: [UInt8], _ identity: ObjectIdentity, _ names: Names) {
        if levels.count - firstOpened >= window {
            levels[firstOpened].node = nil
            levels[firstOpened].names.suspend()
            firstOpened += 1
        }
        if !below.isEmpty { below.append(UInt8(ascii: "/")) }
        below += name
        levels.append(Level(identity: identity, length: below.count, names: names, node: node))
        identities.insert(identity)
    }

    /// Visits each name below the directories that were entered.
    /// - Parameters:
    ///   - fail: called for a directory that cannot be read, or not found again.
    ///   - visit: called for each name. It may enter the object, and returns whether to go on.
    ///   - left: called for each directory below the operand when the walk has left it, with its name in the one that is present now, and
    ///     whether all its names were visited.
    mutating func walk(
        fail: ([UInt8], String) -> Void, visit: (inout Self, _ name: [UInt8], _ directory: Files.Node) -> Bool,
        left: (inout Self, _ name: [UInt8], _ isComplete: Bool) -> Void = { _, _, _ in }
    ) {
        while let (name, directory) = advance(fail: fail, left: left) {
            if !visit(&self, name, directory) { return }
        }
    }

    /// Goes on to the next name below the directories that were entered.
    /// - Parameters:
    ///   - fail: called for a directory that cannot be read, or not found again.
    ///   - left: called for each directory below the operand when the walk has left it, as by `walk`.
    /// - Returns: the name, and its directory; nil at the end.
    mutating func advance(
        fail: ([UInt8], String) -> Void, left: (inout Self, _ name: [UInt8], _ isComplete: Bool) -> Void = { _, _, _ in }
    ) -> (name: [UInt8], directory: Files.Node)? {
        while !levels.isEmpty {
            do throws(Errno) {
                if let found = try next() { return found }
                if let name = leave() { left(&self, name, true) }
            } catch {
                fail(path, error == .stale ? "moved away during the walk; the rest of it was skipped" : error.text)
                if let name = leave() { left(&self, name, false) }
            }
        }
        return nil
    }

    /// The present directory, opened again if it holds no descriptor.
    mutating func directory() throws(Errno) -> Files.Node? {
        guard let last = levels.indices.last else { return nil }
        if levels[last].node == nil { try openAgain() }
        return levels[last].node
    }

    /// Makes the directory above the present one.
    /// - Returns: the name of the one that was left; nil for the operand.
    private mutating func leave() -> [UInt8]? {
        let level = levels.removeLast()
        left = level.node
        identities.remove(level.identity)
        let name = below[(levels.last?.length ?? 0)...].drop { $0 == UInt8(ascii: "/") }
        let isOperand = levels.isEmpty
        defer { below.removeLast(below.count - (levels.last?.length ?? 0)) }
        return isOperand ? nil : Array(name)
    }

    /// - Returns: the next name of the present directory, and that directory; `nil` at its end.
    /// - Throws: `stale` if the directory cannot be found again.
    private mutating func next() throws(Errno) -> (name: [UInt8], directory: Files.Node)? {
        let last = levels.count - 1
        if levels[last].node == nil { try openAgain() }
        left = nil
        guard let node = levels[last].node, let name = try levels[last].names.next(in: node) else { return nil }
        return (name, node)
    }

    private mutating func openAgain() throws(Errno) {
        let last = levels.count - 1
        firstOpened = min(firstOpened, last)
        if let left, let node = try? files.open(Array("..".utf8), in: left, followsLink: false), isSame(node, levels[last]) {
            levels[last].node = node
            return
        }
        // The level below was moved, may not be searched, or was entered by a link. Open the levels from the operand on, and keep as many
        // as may be open: those above will be needed next.
        left = nil
        var node = root
        do {
            for (index, name) in below.split(separator: UInt8(ascii: "/")).enumerated() {
                node = try files.open(Array(name), in: node, followsLink: followsLinks)
                let level = index + 1
                if level > last - window, level < last, levels[level].node == nil, isSame(node, levels[level]) {
                    levels[level].node = node
                    firstOpened = min(firstOpened, level)
                }
            }
        } catch { throw error == .noent || error == .notdir ? .stale : error }
        guard isSame(node, levels[last]) else { throw .stale }
        levels[last].node = node
    }

    private func isSame(_ node: Files.Node, _ level: Level) -> Bool {
        guard let status = try? files.status(of: node) else { return false }
        return status.identity == level.identity
    }
}

/// Names that are read at once, sorted by their bytes or in an order of the caller.
struct SortedNames<Node>: LevelNames {
    /// The next one last.
    private var names: [[UInt8]]

    init(_ names: [[UInt8]]) { self.names = names.sorted { $1.lexicographicallyPrecedes($0) } }
    /// - Parameter names: the first to visit first.
    init(inOrder names: [[UInt8]]) { self.names = names.reversed() }

    mutating func next(in directory: Node) -> [UInt8]? { names.popLast() }
    mutating func suspend() {}
}

/// Names in the order of the file system, of which only one buffer is kept.
struct StreamedNames<Files: BackupFiles>: LevelNames {
    private let files: Files
    private var listing: Files.Listing?
    /// The position at which a closed listing continues.
    private var position: Int64 = 0

    init(_ files: Files) { self.files = files }

    mutating func next(in directory: Files.Node) throws(Errno) -> [UInt8]? {
        let opened: Files.Listing
        if let listing { opened = listing } else { opened = try files.listing(of: directory, from: position) }
        listing = opened
        return try opened.next()
    }

    mutating func suspend() {
        position = listing?.position ?? position
        listing = nil
    }
}

func joinedPath(_ directory: [UInt8], _ name: [UInt8]) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    return directory.last == slash ? directory + name : directory + [slash] + name
}
