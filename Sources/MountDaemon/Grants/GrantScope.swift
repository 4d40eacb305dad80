import ACLFormats
import BackingStore
import Glibc
import LinuxSystem
import SandboxPolicy

/// Selects the grants that concern a served directory: those given for it, for an ancestor, and for a descendant.
struct GrantScope {
    private struct Outer {
        var root: GrantRoot
        /// From this ancestor to the served directory.
        var path: [[UInt8]]
    }

    private let tree: BackingTree
    /// The served directory first.
    private let outer: [Outer]

    /// The directory under which new grants are stored.
    var root: GrantRoot { outer[0].root }

    /// - Throws: the path of the tree cannot be read.
    init(_ tree: BackingTree) throws(Errno) {
        self.tree = tree
        let directory = try tree.descriptor(of: tree.root)
        let path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(directory.rawValue)")
        let names = path.pathNames
        var outer: [Outer] = []
        do throws(Errno) {
            try Syscall.visitAncestors(of: directory.rawValue) { status in
                let depth = names.count - outer.count
                outer.append(
                    Outer(
                        root: GrantRoot(status, path: Array(names.prefix(depth)).joinedPath),
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
    }

    /// - Returns: the grants of a file that concern the served directory.
    func seen(_ file: GrantFile) -> [Seen] {
        if let outer = outer.first(where: { $0.root.isSame(as: file.root) }) {
            return file.grants.enumerated().compactMap { index, kept in
                guard let grant = kept.grant.below(outer.path) else { return nil }
                return Seen(
                    kept: KeptGrant(grant, given: kept.given, by: kept.by), isWider: kept.grant.path.count < outer.path.count,
                    index: index)
            }
        }
        guard let path = inside(file.root) else { return [] }
        return file.grants.enumerated().map { index, kept in
            Seen(kept: KeptGrant(kept.grant.above(path), given: kept.given, by: kept.by), isWider: false, index: index)
        }
    }

    /// - Returns: the grants that a mount with this profile enforces.
    static func grants(for profile: SandboxProfile, on tree: BackingTree, in files: [GrantFile]) -> [Grant] {
        guard let bundle = profile.bundle, let scope = try? GrantScope(tree) else { return [] }
        return files.flatMap { scope.seen($0) }.map(\.kept.grant).filter { $0.bundle == bundle }
    }

    /// - Returns: the path of another served directory in this one, if the stored path still leads to it; nil otherwise.
    private func inside(_ root: GrantRoot) -> [[UInt8]]? {
        let top = self.root.path.pathNames
        let path = root.path.pathNames
        guard path.count > top.count, path.starts(with: top) else { return nil }
        let names = Array(path.dropFirst(top.count))
        guard let found = try? tree.object(at: names), found.status.isDirectory,
            GrantRoot(found.status, path: root.path).isSame(as: root)
        else { return nil }
        return names
    }
}

extension GrantRoot {
    init(_ status: FileStatus, path: [UInt8]) {
        self.init(
            inode: status.inode, born: status.hasBirthTime ? "\(status.btime.sec).\(status.btime.nsec)" : nil,
            path: path.isEmpty ? [0x2F] : path)
    }
}
