import CLinux

/// The object of an attribute call.
///
/// Values are in the caller's buffers; with an empty buffer a call returns just the size. Getting and listing throw range if the
/// buffer is too small, getting and removing throw nodata if there is no such attribute.
public enum XattrTarget {
    /// An open file or directory (not O_PATH): the fastest.
    case open(Int32)
    /// Any descriptor, of symlinks and special files too, through /proc/self/fd.
    case any(Int32)
    /// Any descriptor of a directory, as its `.`: half the time of /proc.
    case directory(Int32)
    /// A path of a command; a symlink is not followed.
    case path(UnsafePointer<CChar>)
}

extension Syscall {
    /// Reads a value into the buffer.
    /// - Returns: the size of the value in bytes.
    public static func getxattr(
        _ target: XattrTarget, _ name: UnsafePointer<CChar>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        let (base, size) = (buffer.baseAddress, UInt64(buffer.count))
        return Int(
            try repeating {
                switch target {
                case .open(let descriptor): aclfs_fgetxattr(descriptor, name, base, size)
                case .any(let descriptor): aclfs_pgetxattr(descriptor, name, base, size)
                case .directory(let descriptor): aclfs_dgetxattr(descriptor, name, base, size)
                case .path(let path): aclfs_lgetxattr(path, name, base, size)
                }
            })
    }

    /// Reads an attribute of the object of a name; a symlink is not followed (getxattrat(2)). The kernel refuses O_PATH descriptors
    /// with an empty name (badf).
    /// - Throws: nosys before Linux 6.13.
    public static func getxattrat(
        _ directory: Int32, _ at: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        Int(try repeating { aclfs_getxattrat(directory, at, name, buffer.baseAddress, UInt64(buffer.count)) })
    }

    /// `flags` of `XattrFlag`, or 0 to create or replace.
    public static func setxattr(
        _ target: XattrTarget, _ name: UnsafePointer<CChar>, _ bytes: UnsafeRawBufferPointer, flags: Int32 = 0
    ) throws(Errno) {
        let (base, size) = (bytes.baseAddress, UInt64(bytes.count))
        try repeating {
            switch target {
            case .open(let descriptor): aclfs_fsetxattr(descriptor, name, base, size, flags)
            case .any(let descriptor): aclfs_psetxattr(descriptor, name, base, size, flags)
            case .directory(let descriptor): aclfs_dsetxattr(descriptor, name, base, size, flags)
            case .path(let path): aclfs_lsetxattr(path, name, base, size, flags)
            }
        }
    }

    public static func setxattr(
        _ target: XattrTarget, _ name: UnsafePointer<CChar>, _ bytes: [UInt8], flags: Int32 = 0
    ) throws(Errno) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(Errno) in
            try setxattr(target, name, UnsafeRawBufferPointer(buffer), flags: flags)
        }
    }

    /// Reads the list of names, each ending in NUL, into the buffer.
    /// - Returns: the size of the list in bytes.
    public static func listxattr(
        _ target: XattrTarget, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        let (base, size) = (buffer.baseAddress, UInt64(buffer.count))
        return Int(
            try repeating {
                switch target {
                case .open(let descriptor): aclfs_flistxattr(descriptor, base, size)
                case .any(let descriptor), .directory(let descriptor): aclfs_plistxattr(descriptor, base, size)
                case .path(let path): aclfs_llistxattr(path, base, size)
                }
            })
    }

    /// Removes an attribute.
    public static func removexattr(_ target: XattrTarget, _ name: UnsafePointer<CChar>) throws(Errno) {
        try repeating {
            switch target {
            case .open(let descriptor): aclfs_fremovexattr(descriptor, name)
            case .any(let descriptor), .directory(let descriptor): aclfs_premovexattr(descriptor, name)
            case .path(let path): aclfs_lremovexattr(path, name)
            }
        }
    }
}

// MARK: Whole values

extension Syscall {
    /// The whole value, however long.
    public static func getxattr(_ target: XattrTarget, _ name: UnsafePointer<CChar>) throws(Errno) -> [UInt8] {
        try whole { (buffer) throws(Errno) in try getxattr(target, name, into: buffer) }
    }

    public static func getxattrat(
        _ directory: Int32, _ at: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>
    ) throws(Errno) -> [UInt8] {
        try whole { (buffer) throws(Errno) in try getxattrat(directory, at, name, into: buffer) }
    }

    /// The names, without their NULs.
    public static func listxattr(_ target: XattrTarget) throws(Errno) -> [[UInt8]] {
        let list = try whole { (buffer) throws(Errno) in try listxattr(target, into: buffer) }
        return list.split(separator: 0).map { Array($0) }
    }

    /// Tries a size that is enough for nearly all values, then the size that the kernel reports, which may have grown.
    private static func whole(
        _ get: (UnsafeMutableRawBufferPointer) throws(Errno) -> Int
    ) throws(Errno) -> [UInt8] {
        var room = 512
        while true {
            var failure: Errno?
            let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                do throws(Errno) { count = try get(UnsafeMutableRawBufferPointer(buffer)) } catch { failure = error }
            }
            guard let failure else { return bytes }
            if failure != .range { throw failure }
            // The kernel's own limit on values and lists is 64 KiB.
            room = max(room * 2, try get(UnsafeMutableRawBufferPointer(start: nil, count: 0)))
        }
    }
}
