import LinuxSystem

/// Where one level of a `TreeWay` has its names from.
protocol LevelNames {
    associatedtype Node
    /// `nil` at the end.
    mutating func next(in directory: Node) throws(Errno) -> [UInt8]?
    /// Holds nothing open until the next name is asked for.
    mutating func rest()
}

/// The directories from an operand down to where a walk is. A stack and no calls, because anybody may plant a tree of any depth. Only
/// the deepest levels hold descriptors; the others are opened again on the way back, from below or from the operand on, and never taken
/// for what they were before they have shown the same numbers.
struct TreeWay<Files: ToolFiles, Names: LevelNames> where Names.Node == Files.Node {
    private struct Level {
        let identity: ObjectIdentity
        /// How much of `below` leads here.
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
    /// Those before it are closed.
    private var firstOpened = 0
    /// The directory that was left last; the way up begins in it.
    private var left: Files.Node?
    /// The path from the operand on. One for all levels: together theirs would grow with the square of the depth.
    private(set) var below: [UInt8] = []

    /// - Parameter followsLinks: whether the way may go through links below the operand.
    init(_ files: Files, _ root: Files.Node, of operand: [UInt8], followsLinks: Bool) {
        (self.files, self.root, self.operand, self.followsLinks) = (files, root, operand, followsLinks)
        window = files.openLevels
    }

    /// The path of the directory where the walk is.
    var path: [UInt8] { below.isEmpty ? operand : joinedPath(operand, below) }
    func path(of name: [UInt8]) -> [UInt8] { joinedPath(path, name) }

    /// Whether the way came through it.
    func contains(_ identity: ObjectIdentity) -> Bool { identities.contains(identity) }

    /// - Parameter name: empty for the operand.
    mutating func enter(_ node: Files.Node, named name: [UInt8], _ identity: ObjectIdentity, _ names: Names) {
        if levels.count - firstOpened >= window {
            levels[firstOpened].node = nil
            levels[firstOpened].names.rest()
            firstOpened += 1
        }
        if !below.isEmpty { below.append(UInt8(ascii: "/")) }
        below += name
        levels.append(Level(identity: identity, length: below.count, names: names, node: node))
        identities.insert(identity)
    }

    /// Has `visit` called with each name below what was entered, and `fail` where a directory cannot be read or found again.
    /// - Parameter visit: may enter what it is given; answers whether to go on at all.
    mutating func walk(
        fail: ([UInt8], String) -> Void, visit: (inout Self, _ name: [UInt8], _ directory: Files.Node) -> Bool
    ) {
        while !levels.isEmpty {
            do throws(Errno) {
                if let (name, directory) = try next() {
                    if !visit(&self, name, directory) { return }
                } else {
                    leave()
                }
            } catch {
                fail(path, error == .stale ? "moved away meanwhile; the rest of it was not looked at" : error.text)
                leave()
            }
        }
    }

    /// Goes back to the directory above.
    private mutating func leave() {
        let level = levels.removeLast()
        left = level.node
        identities.remove(level.identity)
        below.removeLast(below.count - (levels.last?.length ?? 0))
    }

    /// The next name of the directory where the walk is, and that directory; `nil` at its end. Errors: stale if it cannot be found
    /// again.
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
        // What was below has been moved elsewhere, may not be searched, or a link led there. In that case the same awaits the levels
        // above, so that as many are kept as may be open.
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

/// Names that were read at once and sorted by their bytes.
struct SortedNames<Node>: LevelNames {
    /// The next one last.
    private var names: [[UInt8]]

    init(_ names: [[UInt8]]) { self.names = names.sorted { $1.lexicographicallyPrecedes($0) } }

    mutating func next(in directory: Node) -> [UInt8]? { names.popLast() }
    mutating func rest() {}
}

/// Names as the file system gives them, so that none are kept.
struct StreamedNames<Files: BackupFiles>: LevelNames {
    private let files: Files
    private var listing: Files.Listing?
    /// Where the listing goes on that was closed.
    private var position: Int64 = 0

    init(_ files: Files) { self.files = files }

    mutating func next(in directory: Files.Node) throws(Errno) -> [UInt8]? {
        let opened: Files.Listing
        if let listing { opened = listing } else { opened = try files.listing(of: directory, from: position) }
        listing = opened
        return try opened.next()
    }

    mutating func rest() {
        position = listing?.position ?? position
        listing = nil
    }
}

func joinedPath(_ directory: [UInt8], _ name: [UInt8]) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    return directory.last == slash ? directory + name : directory + [slash] + name
}
