import ACLFileSystem
import ACLFormats
import BackingStore
import Glibc
import LinuxSystem
import SandboxPolicy

/// Selects the grants that concern a served directory: those given for it, for an ancestor, and for a descendant.
struct GrantScope {
    private struct Outer {
        var root: GrantRoot
        var device: UInt64
        /// From this ancestor to the served directory.
        var path: [[UInt8]]
    }

    private let tree: BackingTree
    private let followed: FollowedObjects
    /// The served directory first.
    private let outer: [Outer]

    /// The directory under which new grants are stored.
    var root: GrantRoot { outer[0].root }

    /// - Parameter followed: tells where the objects are that grants follow.
    /// - Throws: the path of the tree cannot be read.
    init(_ tree: BackingTree, _ followed: FollowedObjects) throws(Errno) {
        (self.tree, self.followed) = (tree, followed)
        let directory = try tree.descriptor(of: tree.root)
        let path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(directory.rawValue)")
        let names = path.pathNames
        var outer: [Outer] = []
        do throws(Errno) {
            try Syscall.visitAncestors(of: directory.rawValue) { status in
                let depth = names.count - outer.count
                outer.append(
                    Outer(
                        root: GrantRoot(status, path: Array(names.prefix(depth)).joinedPath), device: status.device,
                        path: Array(names.dropFirst(depth))))
                return depth > 0
            }
        } catch {
            // Ancestors that cannot be opened have no grants.
            if outer.isEmpty { throw error }
        }
        self.outer = outer
    }

    /// A grant relative to the served directory.
    struct Seen {
        /// With names from the top of the served directory.
        var kept: KeptGrant
        /// Whether it was given for an ancestor.
        var isWider: Bool
        /// In the file.
        var index: Int
        /// Whether the object that it follows is found. If not, the path is where it was last.
        var isFound = true
    }

    /// Where the directory of a file lies, seen from the served one.
    private enum Relation {
        case outer(Outer)
        case inner(path: [[UInt8]], device: UInt64)

        var device: UInt64 {
            switch self {
            case .outer(let outer): outer.device
            case .inner(_, let device): device
            }
        }
    }

    /// - Returns: nil if it is neither above nor below.
    private func relation(to root: GrantRoot) -> Relation? {
        if let outer = outer.first(where: { $0.root.isSame(as: root) }) { return .outer(outer) }
        return inside(root).map { .inner(path: $0.path, device: $0.device) }
    }

    /// - Returns: the grants of a file that concern the served directory.
    func seen(_ file: GrantFile) -> [Seen] {
        guard let relation = relation(to: file.root) else { return [] }
        return file.grants.enumerated().compactMap { index, kept in
            let last = seen(kept, index, by: relation)
            guard let object = kept.grant.object else { return last }
            guard case .at(let path) = place(of: object, kept, relation, searches: false) else {
                var lost = last
                lost?.isFound = false
                return lost
            }
            var there = kept
            there.grant.path = path
            return Seen(kept: there, isWider: path.isEmpty && object.inode != tree.root.key.inode, index: index)
        }
    }

    /// A grant by its stored path.
    private func seen(_ kept: KeptGrant, _ index: Int, by relation: Relation) -> Seen? {
        switch relation {
        case .outer(let outer):
            guard let grant = kept.grant.below(outer.path) else { return nil }
            return Seen(
                kept: KeptGrant(grant, given: kept.given, by: kept.by), isWider: kept.grant.path.count < outer.path.count, index: index)
        case .inner(let path, _):
            return Seen(kept: KeptGrant(kept.grant.above(path), given: kept.given, by: kept.by), isWider: false, index: index)
        }
    }

    /// Handles are valid on one file system only, that of the directory for which the grant was given.
    private func place(of object: FollowedObject, _ kept: KeptGrant, _ relation: Relation, searches: Bool) -> ObjectPlace {
        guard relation.device == tree.root.key.device else { return .unknown }
        return followed.place(of: object, lastAt: kept.grant.path, in: tree, searches: searches)
    }

    /// - Returns: the grants of a file that follow their objects, wherever these are: one may come into the served directory.
    func following(_ file: GrantFile) -> [Grant] {
        guard let relation = relation(to: file.root), relation.device == tree.root.key.device else { return [] }
        return file.grants.map(\.grant).filter { $0.object != nil }
    }

    /// Brings the file of the served directory up to date with where followed objects are.
    /// - Parameter removed: called for each grant whose object was removed. The grant is revoked.
    func update(_ file: inout GrantFile, removed: (Grant) -> Void) {
        guard root.isSame(as: file.root) else { return }
        file.grants = file.grants.compactMap { kept in
            guard let object = kept.grant.object else { return kept }
            switch followed.place(of: object, lastAt: kept.grant.path, in: tree, searches: true) {
            case .unknown: return kept
            case .removed:
                removed(kept.grant)
                return nil
            case .at(let path):
                var there = kept
                there.grant.path = path
                if let parent = try? tree.object(at: path.dropLast()).object.key, let key = tree.key(of: object) {
                    there.grant.object = FollowedObject(key, isDirectory: kept.grant.isDirectory, in: parent)
                }
                return there
            }
        }
    }

    /// - Returns: the grants that a mount with this profile enforces.
    static func grants(
        for profile: SandboxProfile, on tree: BackingTree, _ followed: FollowedObjects, in files: [GrantFile]
    ) -> [Grant] {
        guard let bundle = profile.bundle, let scope = try? GrantScope(tree, followed) else { return [] }
        let placed = files.flatMap { scope.seen($0) }.map(\.kept.grant).filter { $0.object == nil }
        return (placed + files.flatMap { scope.following($0) }).filter { $0.bundle == bundle }
    }

    /// A path of a grant, for the log.
    func logged(_ path: [[UInt8]]) -> String { String(decoding: path.reduce(root.path) { $0 + [0x2F] + $1 }, as: UTF8.self) }

    /// - Returns: the path of another served directory in this one, if the stored path still leads to it; nil otherwise.
    private func inside(_ root: GrantRoot) -> (path: [[UInt8]], device: UInt64)? {
        let top = self.root.path.pathNames
        let path = root.path.pathNames
        guard path.count > top.count, path.starts(with: top) else { return nil }
        let names = Array(path.dropFirst(top.count))
        guard let found = try? tree.object(at: names), found.status.isDirectory,
            GrantRoot(found.status, path: root.path).isSame(as: root)
        else { return nil }
        return (names, found.status.device)
    }
}

extension GrantRoot {
    init(_ status: FileStatus, path: [UInt8]) {
        self.init(
            inode: status.inode, born: status.hasBirthTime ? "\(status.btime.sec).\(status.btime.nsec)" : nil,
            path: path.isEmpty ? [0x2F] : path)
    }
}
