import LinuxSystem

extension BackingTree {
    /// What stands at a path from the top, for commands. Symbolic links lead nowhere.
    /// - Throws: `notdir` if a name on the way is no directory, `loop` if it is a link.
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
