// A whole file system in memory: objects with names, and what each system call of a caller gives and leaves. Rights
// are decided by `decide` (ModelDecide.swift); here stands what comes before and after: the walk along a path, what
// Linux answers by itself (docs/reference/vectors-on-linux.md), names, contents, open files.

/// What the machine adds to the answers, and says nothing about rights.
public struct ModelHost: Sendable, Hashable {
    /// How identities are printed that have a name there: "user:501" to "user:alice".
    public var names: [String: String] = [:]
    /// Whether the backing file system counts subdirectories as links.
    public var countsSubdirectories = true
    /// fs.protected_hardlinks
    public var protectsHardLinks = true
    /// Set-id bits are cleared by the kernel, which then asks for attributes first, in the caller's name
    /// (docs/reference/security.md).
    public var kernelClearsSetID = false
    /// The kernel keeps listings of directories that everybody may list and stat. When that ends for somebody, it still asks
    /// for the attributes in the name of whoever lists through a handle that he has (docs/reference/security.md).
    public var kernelKeepsListings = false
    public init() {}
}

/// One answer that a call may have, as aclfs-act prints it, and the file system after it.
public struct ModelAnswer: Sendable {
    public var word: String
    public var value: String
    public var tree: ModelTree
}

public struct ModelTree: Sendable {
    struct Object: Sendable, Hashable {
        var node: ModelNode
        /// A directory's.
        var entries: [String: Int] = [:]
        var parent: Int?
        var links = 1
        var content: [UInt8] = []
        /// A symlink's.
        var target = ""
        /// user.* by name.
        var attributes: [String: [UInt8]] = [:]
        /// Somebody has opened it: with a file that may only be appended to, opening for more can be refused with EBUSY
        /// until all others have closed it, and the kernel tells of a close late (docs/internals/data-path.md).
        var wasOpened = false
        /// Who has opened it to write. The kernel tells of a close late, so they may still have it open.
        var writers: Set<UInt32> = []
        /// Who made the file and gave it away (Q4), and may still have it open, as for `writers`.
        var givenAwayBy: UInt32?
        /// The set-id bits may have gone with an opening for writing, or stayed (docs/internals/data-path.md).
        var mayHaveLostSetID = false
    }

    /// Which of a process' descriptors.
    struct Slot: Sendable, Hashable {
        var process: Int
        var number: Int
    }

    struct Handle: Sendable, Hashable {
        var object: Int
        var isReadable: Bool
        var isWritable: Bool
        /// O_APPEND, as it is now.
        var appends: Bool
        /// Opened by somebody who may only append, or on what is append-only.
        var isAppendOnly: Bool
    }

    var objects: [Int: Object]
    var handles: [Slot: Handle] = [:]
    var nextObject = 2
    var host: ModelHost
    var world = ModelWorld()
    /// In whose name the call under way is made.
    var caller = ModelCredential(uid: 0, gid: 0)

    /// The directory that all paths begin at. Above it nothing is found.
    static let top = 1
    static let outside = 0

    public init(top: ModelNode, host: ModelHost) {
        self.host = host
        // As in a mount by default (Q4 and Q16).
        world.suiddir = true
        world.unknown99 = false
        let above = ModelNode(type: "dir", owner: 0, group: 0, mode: 0o755)
        objects = [
            Self.outside: Object(node: above, parent: Self.outside),
            Self.top: Object(node: top, parent: Self.outside),
        ]
    }

    /// What is known of an object that a path or a name leads to; every number in use leads to one.
    func object(_ number: Int) -> Object {
        guard let object = objects[number] else { fatalError("no object \(number)") }
        return object
    }
    func kind(_ number: Int) -> String { object(number).node.type }

    // MARK: rights

    /// The rights of one operation, or the refusal.
    @discardableResult
    func ask(_ operation: ModelOperation, _ nodes: ModelNodes) throws(Refusal) -> ModelEffects? {
        let outcome = decide(operation, by: caller, on: nodes, in: world, directory: ModelDirectory())
        if !outcome.allowed { throw Refusal(outcome.errno ?? "", outcome.stage) }
        return outcome.effects
    }

    @discardableResult
    func ask(_ call: String, on number: Int) throws(Refusal) -> ModelEffects? {
        try ask(ModelOperation(call), ModelNodes(object: object(number).node))
    }

    /// A set of rights on one object; `delete` asks the directory as well.
    func ask(_ rights: Set<String>, on number: Int, in parent: Int? = nil) throws(Refusal) {
        var operation = ModelOperation("authorize")
        operation.rights = rights
        try ask(operation, ModelNodes(parent: parent.map { object($0).node }, object: object(number).node))
    }

    func allows(_ rights: Set<String>, on number: Int) -> Bool {
        do throws(Refusal) { try ask(rights, on: number) } catch { return false }
        return true
    }

    // MARK: paths

    struct Place {
        var directory: Int
        var name: String
        var object: Int?
        /// How many symlinks were followed.
        var links = 0
    }

    /// - Parameter follows: whether a symlink in the last place is followed.
    func find(_ path: String, follows: Bool) throws(Refusal) -> Place {
        var links = 0
        var place = try walk(path, from: Self.top, follows: follows, &links)
        place.links = links
        return place
    }

    func findObject(_ path: String, follows: Bool) throws(Refusal) -> Int {
        guard let object = try find(path, follows: follows).object else { throw Refusal("ENOENT", "missing") }
        return object
    }

    private func walk(_ path: String, from start: Int, follows: Bool, _ links: inout Int) throws(Refusal) -> Place {
        let words = path.split(separator: "/").map(String.init)
        var here = start
        for (index, word) in words.enumerated() {
            let isLast = index == words.count - 1
            if kind(here) != "dir" { throw Refusal("ENOTDIR", "path") }
            if word == ".." {
                // The kernel knows it and asks nobody.
                here = object(here).parent ?? Self.outside
                continue
            }
            // docs/reference/authorization.md 2.1: search on every directory of the path.
            try ask("lookup", on: here)
            guard let next = object(here).entries[word] else {
                if isLast { return Place(directory: here, name: word, object: nil) }
                throw Refusal("ENOENT", "path")
            }
            guard kind(next) == "symlink", !isLast || follows else {
                if isLast { return Place(directory: here, name: word, object: next) }
                here = next
                continue
            }
            links += 1
            if links > 40 { throw Refusal("ELOOP", "path") }
            // The kernel asks for the target as readlink(2) does; the two cannot be told apart.
            try ask("readlink", on: next)
            let place = try walk(object(next).target, from: here, follows: true, &links)
            if isLast { return place }
            guard let found = place.object else { throw Refusal("ENOENT", "path") }
            here = found
        }
        return Place(directory: object(here).parent ?? Self.outside, name: "", object: here)
    }

    // MARK: names

    mutating func add(_ node: ModelNode, as name: String, in directory: Int) -> Int {
        let number = nextObject
        nextObject += 1
        objects[number] = Object(node: node, parent: node.type == "dir" ? directory : nil)
        objects[directory]?.entries[name] = number
        return number
    }

    /// Takes one name away from an object; what has none and is not open is gone.
    mutating func removeName(_ name: String, in directory: Int) {
        guard let number = objects[directory]?.entries.removeValue(forKey: name) else { return }
        let lost = kind(number) == "dir" ? object(number).links : 1
        objects[number]?.links -= lost
        forgetIfGone(number)
    }

    mutating func forgetIfGone(_ number: Int) {
        if object(number).links == 0, !handles.values.contains(where: { $0.object == number }) { objects[number] = nil }
    }

    /// Whether `number` is `directory` or above it.
    func holds(_ number: Int, _ directory: Int) -> Bool {
        var here = directory
        while here != Self.outside {
            if here == number { return true }
            here = object(here).parent ?? Self.outside
        }
        return false
    }
}

// MARK: for whoever looks at the whole

extension ModelTree {
    public mutating func setGroupOfTop(_ group: UInt32) { objects[Self.top]?.node.group = group }

    private func number(_ path: String) -> Int? {
        var tree = self
        tree.caller = ModelCredential(uid: 0, gid: 0)
        return path.isEmpty ? Self.top : try? tree.find(path, follows: false).object
    }

    public func isFile(_ path: String) -> Bool { number(path).map(kind) == "file" }

    /// What stands in a directory; nil for anything else.
    public func names(_ path: String) -> [String]? {
        guard let number = number(path), kind(number) == "dir" else { return nil }
        return object(number).entries.keys.sorted()
    }
}
