import LinuxSystem

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
    ///   - names: for a file, names that it had, the likeliest first: the kernel knows the path of a directory, and that of a file only sometimes.
    ///   - searches: whether to look through their directories for another name. It takes a while in a large one.
    public func place(of handle: FileHandle, lastNames names: [LastName], searches: Bool) -> ObjectPlace {
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
            if let path = self.names(to: descriptor, status) { return isFound(handle, at: path) ? .at(path) : .unknown }
            return isAboveRoot(status) ? .at([]) : .unknown
        }
        let known = names.compactMap { name in directory(name.directory).map { (directory: $0, name: name.name) } }
        for (directory, name) in known where isFound(handle, at: directory.names + [name]) { return .at(directory.names + [name]) }
        if let path = self.names(to: descriptor, status), isFound(handle, at: path) { return .at(path) }
        guard searches else { return .unknown }
        for (directory, _) in known {
            if let name = name(of: handle, in: directory.descriptor), isFound(handle, at: directory.names + [name]) {
                return .at(directory.names + [name])
            }
        }
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
