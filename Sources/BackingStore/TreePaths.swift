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

/// Where an object is that is known by its handle.
public enum ObjectPlace: Sendable, Equatable {
    /// Names from the tree's root.
    case at([[UInt8]])
    /// It has no name any more.
    case removed
    /// It exists, but not below the root, or under a name that is not known. Also if that cannot be told now.
    case unknown
}

/// The directory and the name of a file.
public struct LastName: Sendable, Hashable {
    public var directory: FileHandle
    public var name: [UInt8]

    public init(directory: FileHandle, name: [UInt8]) { (self.directory, self.name) = (directory, name) }
}

extension BackingTree {
    /// Whether objects of the root's file system can be found again by their handles.
    public var opensHandles: Bool { handleMount != nil }

    /// Looks an object of the root's file system up by its handle. The place is where a walk from the root finds the object now.
    /// - Parameters:
    ///   - handle: of the object.
    ///   - last: for a file, where it was last: the kernel knows the path of a directory, and that of a file only sometimes.
    ///   - searches: whether to look through that directory for another name. It takes a while in a large one.
    public func place(of handle: FileHandle, last: LastName?, searches: Bool) -> ObjectPlace {
        guard let handleMount else { return .unknown }
        let descriptor: SharedDescriptor
        let status: FileStatus
        do throws(Errno) {
            descriptor = SharedDescriptor(try Syscall.openByHandle(handleMount.rawValue, handle, OpenFlag.path | OpenFlag.noFollow))
            status = try Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync)
        } catch { return error == .stale || error == .noent ? .removed : .unknown }
        // A process may have it open still.
        if status.nlink == 0 { return .removed }
        if status.isDirectory {
            if let names = names(to: descriptor, status) { return isFound(handle, at: names) ? .at(names) : .unknown }
            return isAboveRoot(status) ? .at([]) : .unknown
        }
        if let last {
            let known = directory(last.directory)
            if let known, isFound(handle, at: known.names + [last.name]) { return .at(known.names + [last.name]) }
            if let names = names(to: descriptor, status), isFound(handle, at: names) { return .at(names) }
            if searches, let known, let name = name(of: handle, in: known.descriptor), isFound(handle, at: known.names + [name]) {
                return .at(known.names + [name])
            }
            return .unknown
        }
        if let names = names(to: descriptor, status), isFound(handle, at: names) { return .at(names) }
        return .unknown
    }

    private func directory(_ handle: FileHandle) -> (descriptor: SharedDescriptor, names: [[UInt8]])? {
        guard let handleMount,
            let opened = try? Syscall.openByHandle(handleMount.rawValue, handle, OpenFlag.path | OpenFlag.directory).release()
        else { return nil }
        let descriptor = SharedDescriptor(rawValue: opened)
        guard let status = try? Syscall.statx(opened, flags: AtFlag.dontSync), let names = names(to: descriptor, status) else { return nil }
        return (descriptor, names)
    }

    /// Whether a walk from the root, which crosses no mount, comes to the object of a handle.
    private func isFound(_ handle: FileHandle, at names: [[UInt8]]) -> Bool {
        guard !names.isEmpty else { return true }
        let path = names.joined(separator: [0x2F]).map { CChar(bitPattern: $0) } + [0]
        do throws(Errno) {
            let there = try Syscall.openBeneath(rootDescriptor.rawValue, path, OpenFlag.path | OpenFlag.noFollow)
            return try Syscall.nameToHandle(there.rawValue) == handle
        } catch { return false }
    }

    /// Looks through a directory for a name of the object, at most 10 000 names.
    private func name(of handle: FileHandle, in directory: SharedDescriptor) -> [UInt8]? {
        do throws(Errno) {
            let listed = try Syscall.reopen(directory.rawValue, OpenFlag.readOnly | OpenFlag.directory)
            return try Syscall.names(listed.rawValue).prefix(10_000).first { name in
                let text = name.map { CChar(bitPattern: $0) } + [0]
                return (try? Syscall.nameToHandle(directory.rawValue, text)) == handle
            }
        } catch { return nil }
    }

    private func isAboveRoot(_ status: FileStatus) -> Bool {
        var isAbove = false
        try? Syscall.visitAncestors(of: rootDescriptor.rawValue) { above in
            isAbove = (above.device, above.inode) == (status.device, status.inode)
            return !isAbove
        }
        return isAbove
    }
}

/// The value of an attribute of a directory above an object.
public struct AttributeAbove {
    public var value: [UInt8]
    /// From that directory to the object; the last one is the object's own.
    public var names: [[UInt8]]
}

extension BackingTree {
    /// Reads an attribute of each directory from the root of the tree to an object, the object left out.
    ///
    /// Directories are opened one name after the other, each in the one above (I7). If a name on the way has become another object meanwhile, the
    /// answer is that there is none.
    /// - Parameters:
    ///   - attribute: of the directories.
    ///   - descriptor: any descriptor of the object.
    ///   - status: its status. A file with several names has no directory of which it could be said that it lies there.
    /// - Returns: the values from the root on, without those of directories that lack it.
    /// - Throws: a directory or its attribute cannot be read.
    public func values(
        of attribute: String, above descriptor: SharedDescriptor, _ status: FileStatus
    ) throws(Errno) -> [AttributeAbove] {
        guard status.isDirectory || status.nlink == 1, let names = names(to: descriptor, status), let last = names.last else { return [] }
        var found: [AttributeAbove] = []
        var directory = rootDescriptor
        do throws(Errno) {
            var above = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync)
            for depth in names.indices {
                if let value = try value(of: attribute, on: directory.rawValue) {
                    found.append(AttributeAbove(value: value, names: Array(names[depth...])))
                }
                if depth == names.count - 1 { break }
                let parent = directory.rawValue
                directory = SharedDescriptor(
                    rawValue: try names[depth].withCString { (name) throws(Errno) in
                        try Syscall.openat(parent, name, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow).release()
                    })
                let here = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync)
                // An attribute there would be asked of this daemon itself.
                if try leavesTree(here, from: above) { return [] }
                above = here
            }
            if found.isEmpty { return [] }
            let there = try last.withCString { (name) throws(Errno) in
                try Syscall.statxAt(directory.rawValue, name, flags: AtFlag.symlinkNoFollow | AtFlag.noAutomount | AtFlag.dontSync)
            }
            return (there.device, there.inode) == (status.device, status.inode) ? found : []
        } catch {
            if error == .noent || error == .notdir || error == .loop { return [] }
            throw error
        }
    }

    private func value(of attribute: String, on directory: Int32) throws(Errno) -> [UInt8]? {
        do throws(Errno) {
            return try ownersAccess.with(OwnersAccess.reading, on: directory) { () throws(Errno) in
                try Syscall.getxattr(.directory(directory), attribute)
            }
        } catch {
            // A directory that an ordinary user's daemon may not read declares nothing.
            if error == .nodata || error == .opnotsupp || error == .acces { return nil }
            throw error
        }
    }
}
