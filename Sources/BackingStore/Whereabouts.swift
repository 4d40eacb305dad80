import LinuxSystem

/// What is mounted where. Numbers are used again, so a number alone says little.
public struct MountPlace: Sendable, Equatable {
    var id: UInt64
    var device: UInt64
    var root: [UInt8]
    var path: [UInt8]
}

// Where a directory is now, as the kernel knows it: the one question that is answered by a path. The path leads to
// nothing; it is only compared.
extension BackingTree {
    /// The names that lead from the root of the tree to a directory.
    /// - Returns: nil if it was removed, lies elsewhere, or has a path that is too long to be told.
    public func names(to directory: SharedDescriptor, _ status: FileStatus) -> [[UInt8]]? {
        if status.device == root.key.device, status.inode == root.key.inode { return [] }
        guard let top = try? descriptor(of: root), let above = Self.path(of: top), let path = Self.path(of: directory)
        else {
            return nil
        }
        let prefix = above == [0x2F] ? above : above + [0x2F]
        guard path.count > prefix.count, path.starts(with: prefix) else { return nil }
        let inner = path[prefix.count...]
        // The mark of what was removed; or the end of a name, which then leads to it.
        if inner.suffix(Self.removed.count).elementsEqual(Self.removed), !leads(inner, to: status, from: top) {
            return nil
        }
        return inner.split(separator: 0x2F).map { Array($0) }
    }

    /// What is mounted on the tree's root and inside of it, in the table's order.
    /// - Returns: nil if that cannot be told.
    public func mountsInside(_ table: [MountInfo]) -> [MountPlace]? {
        // The path of a mount that the table does not show means something else.
        guard let top = try? descriptor(of: root), let status = try? Syscall.statx(top.rawValue, flags: AtFlag.dontSync),
            table.contains(where: { $0.id == status.mountID }), let path = Self.path(of: top)
        else { return nil }
        let prefix = path == [0x2F] ? path : path + [0x2F]
        return table.filter { ($0.path + [0x2F]).starts(with: prefix) }
            .map { MountPlace(id: $0.id, device: $0.device, root: $0.root, path: $0.path) }
    }

    private static let removed = Array(" (deleted)".utf8)

    private static func path(of descriptor: SharedDescriptor) -> [UInt8]? {
        // The directory does not count for an absolute path.
        try? Syscall.readlinkat(descriptor.rawValue, "/proc/self/fd/\(descriptor.rawValue)")
    }

    private func leads(_ path: ArraySlice<UInt8>, to status: FileStatus, from top: SharedDescriptor) -> Bool {
        let name = String(decoding: path, as: UTF8.self)
        guard Array(name.utf8) == Array(path) else { return false }
        guard let there = try? Syscall.statxAt(top.rawValue, name, flags: AtFlag.symlinkNoFollow | AtFlag.dontSync)
        else {
            return false
        }
        return (there.device, there.inode) == (status.device, status.inode)
    }

    /// Whether a name in a directory means this object now.
    /// - Throws: if that cannot be told.
    public func isNamed(_ name: [UInt8], in directory: BackingObject, _ status: FileStatus) throws(Errno) -> Bool {
        do throws(Errno) {
            let descriptor = try descriptor(of: directory)
            let there = try name.withCString { (name) throws(Errno) in
                try Syscall.statxAt(descriptor.rawValue, name, flags: AtFlag.symlinkNoFollow | AtFlag.dontSync)
            }
            return (there.device, there.inode) == (status.device, status.inode)
        } catch {
            if error == .noent || error == .notdir { return false }
            throw error
        }
    }
}
