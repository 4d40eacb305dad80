extension Syscall {
    /// Visits the directory itself and its ancestors, up to the root directory or until `visit` returns false.
    ///
    /// Each is opened as `..` of the one before, so that no path leads elsewhere and no mount of aclfs gets a request.
    public static func visitAncestors(of directory: Int32, _ visit: (FileStatus) -> Bool) throws(Errno) {
        try visitOpenAncestors(of: directory) { _, status in visit(status) }
    }

    /// As `visitAncestors`, with a descriptor of each.
    public static func visitOpenAncestors(of directory: Int32, _ visit: (SharedDescriptor, FileStatus) -> Bool) throws(Errno) {
        var current = SharedDescriptor(try dup(directory))
        var last: FileStatus?
        while true {
            let status = try statx(current.rawValue, flags: AtFlag.dontSync)
            // The root is its own parent.
            if let last, (last.device, last.inode) == (status.device, status.inode) { return }
            guard visit(current, status) else { return }
            last = status
            current = SharedDescriptor(try openat(current.rawValue, "..", OpenFlag.path | OpenFlag.directory))
        }
    }
}
