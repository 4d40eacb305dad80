import ACLFormats
import BackingStore
import Glibc
import LinuxSystem
import SandboxPolicy

/// Which grants concern a served directory: those given in it, in one that it lies in, and in one that lies in it.
struct GrantScope {
    private struct Outer {
        var root: GrantRoot
        /// From there to the served directory.
        var path: [[UInt8]]
    }

    private let tree: BackingTree
    /// The served directory first.
    private let outer: [Outer]

    /// Where new grants are kept.
    var root: GrantRoot { outer[0].root }

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
            // Nothing is granted in a directory that cannot be followed to.
            if outer.isEmpty { throw error }
        }
        self.outer = outer
    }

    /// A grant as it is seen here.
    struct Seen {
        /// With names from this directory's top.
        var kept: KeptGrant
        /// Given for a directory around this one.
        var isWider: Bool
        var index: Int
    }

    /// Those of a file that reach in here, each with its place in the file.
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

    /// Of a mount that begins, or of all after a change.
    static func grants(for profile: SandboxProfile, on tree: BackingTree, in files: [GrantFile]) -> [Grant] {
        guard let bundle = profile.bundle, let scope = try? GrantScope(tree) else { return [] }
        return files.flatMap { scope.seen($0) }.map(\.kept.grant).filter { $0.bundle == bundle }
    }

    /// Where another served directory lies in this one: where it lay last, if it is still that one.
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
