import LinuxSystem

/// A mount and its path. Numbers are reused, so that a number alone is not enough.
public struct MountPlace: Sendable, Equatable {
    var id: UInt64
    var device: UInt64
    var root: [UInt8]
    var path: [UInt8]
}

// The current path of a directory according to the kernel. A path is compared; the only one that is opened, to compare a handle, is one
// below the root, without symbolic links and mounts.
extension BackingTree {
    /// The names from the root of the tree to a directory.
    /// - Parameters:
    ///   - directory: any descriptor of it.
    ///   - status: its status.
    /// - Returns: nil if it was removed, is elsewhere, or has too long a path.
    public func names(to directory: SharedDescriptor, _ status: FileStatus) -> [[UInt8]]? {
        if status.device == root.key.device, status.inode == root.key.inode { return [] }
        guard let top = try? descriptor(of: root), let above = Self.path(of: top), let path = Self.path(of: directory)
        else {
            return nil
        }
        let prefix = above == [0x2F] ? above : above + [0x2F]
        guard path.count > prefix.count, path.starts(with: prefix) else { return nil }
        let inner = path[prefix.count...]
        // The kernel's suffix for a removed object, or the end of a real name.
        if inner.suffix(Self.removed.count).elementsEqual(Self.removed), !isPath(inner, to: status, from: top) {
            return nil
        }
        return inner.split(separator: 0x2F).map { Array($0) }
    }

    /// The mounts on the tree's root and inside of it, in the table's order.
    /// - Returns: nil if that is unknown.
    public func mountsInside(_ table: [MountInfo]) -> [MountPlace]? {
        // Without its mount in the table the path means something else.
        guard let top = try? descriptor(of: root), let status = try? Syscall.statx(top.rawValue, flags: AtFlag.dontSync),
            table.contains(where: { $0.id == status.mountID }), let path = Self.path(of: top)
        else { return nil }
        let prefix = path == [0x2F] ? path : path + [0x2F]
        return table.filter { ($0.path + [0x2F]).starts(with: prefix) }
            .map { MountPlace(id: $0.id, device: $0.device, root: $0.root, path: $0.path) }
    }

    private static let removed = Array(" (deleted)".utf8)

    /// The path by which the kernel knows an object now, from the root of the file systems; nil if it is too long or unknown.
    public func currentPath(of descriptor: SharedDescriptor) -> [UInt8]? { Self.path(of: descriptor) }

    private static func path(of descriptor: SharedDescriptor) -> [UInt8]? {
        // With an absolute path the directory is ignored.
        try? Syscall.readlinkat(descriptor.rawValue, "/proc/self/fd/\(descriptor.rawValue)")
    }

    private func isPath(_ path: ArraySlice<UInt8>, to status: FileStatus, from top: SharedDescriptor) -> Bool {
        let name = String(decoding: path, as: UTF8.self)
        guard Array(name.utf8) == Array(path) else { return false }
        guard let there = try? Syscall.statxAt(top.rawValue, name, flags: AtFlag.symlinkNoFollow | AtFlag.dontSync)
        else {
            return false
        }
        return (there.device, there.inode) == (status.device, status.inode)
    }

    /// Whether a name in a directory refers to this object now.
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

extension BackingTree {
    /// The object at a path below the root, for commands. Symbolic links are not followed.
    /// - Throws: `notdir` if a name in the path is no directory, `loop` if it is a symbolic link.
    public func object(at path: [[UInt8]]) throws(Errno) -> ResolvedObject {
        var found = try adopt(descriptor(of: root))
        for name in path {
            if found.status.isSymlink { throw .loop }
            guard found.status.isDirectory else { throw .notdir }
            let text = name.map { CChar(bitPattern: $0) } + [0]
            found = try resolve(text, in: found.descriptor, found.status)
        }
        return found
    }
}
