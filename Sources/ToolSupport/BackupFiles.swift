import LinuxSystem

/// What `aclfs backup` needs of the system besides what all commands need.
public protocol BackupFiles: ToolFiles {
    /// Where an opened object stands now.
    func absolutePath(of node: Node) throws(Errno) -> [UInt8]
    /// Hands out the names of a directory as they come, without keeping them.
    func forEachName(in directory: Node, _ body: ([UInt8]) -> Void) throws(Errno)
}

extension LinuxFiles: BackupFiles {
    public func absolutePath(of node: SharedDescriptor) throws(Errno) -> [UInt8] {
        try linkTarget(of: open(Array("/proc/self/fd/\(node.rawValue)".utf8), followsLink: false))
    }

    public func forEachName(in directory: SharedDescriptor, _ body: ([UInt8]) -> Void) throws(Errno) {
        let listing = try Syscall.reopen(directory.rawValue, OpenFlag.readOnly | OpenFlag.directory)
        let descriptor = listing.rawValue
        // One buffer for each level of the tree: small.
        var buffer = [UInt8](repeating: 0, count: 8192)
        var count = 1
        while count > 0 {
            count = try buffer.withUnsafeMutableBufferPointer { (buffer) throws(Errno) in
                try Syscall.getdents(descriptor, into: UnsafeMutableRawBufferPointer(buffer))
            }
            buffer.withUnsafeBytes { bytes in
                for entry in DirectoryEntries(UnsafeRawBufferPointer(rebasing: bytes[..<count])) where !entry.isDot {
                    body(entry.bytes)
                }
            }
        }
    }
}
