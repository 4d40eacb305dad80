import LinuxSystem

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
            return try ownersAccess.value(attribute, of: directory, isDirectory: true)
        } catch {
            // A directory that an ordinary user's daemon may not read declares nothing.
            if error == .nodata || error == .opnotsupp || error == .acces { return nil }
            throw error
        }
    }
}
