import LinuxSystem

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
