import ACLFormats
import Authorization
import LinuxSystem

/// The read-only and hidden bits of FAT and exFAT. Where a file system keeps no records, they are flags: `uchg` and `hidden`
/// (docs/reference/mounting.md "Sources without extended attributes").
public enum FormatBits {
    /// Whether the file system of a directory has the bits.
    /// - Parameter directory: a real descriptor of it.
    public static func areKept(by directory: Int32) -> Bool { (try? Syscall.getFATAttributes(directory)) != nil }

    /// The flags that the bits of an object stand for; none for what is neither a file nor a directory, which is never opened.
    /// - Parameters:
    ///   - descriptor: any descriptor of it.
    ///   - status: its status.
    /// - Throws: they cannot be read.
    static func flags(of descriptor: Int32, _ status: FileStatus) throws(Errno) -> FileFlags {
        guard status.isDirectory || status.isRegular else { return [] }
        let real = try open(descriptor)
        return flags(try Syscall.getFATAttributes(real.rawValue), isDirectory: status.isDirectory)
    }

    /// Stores flags as bits.
    /// - Throws: `opnotsupp` if no bit stands for one of them. Then nothing is changed.
    static func set(_ flags: FileFlags, of descriptor: Int32, _ status: FileStatus) throws(Errno) {
        guard status.isDirectory || status.isRegular else { throw .opnotsupp }
        let real = try open(descriptor)
        let old = try Syscall.getFATAttributes(real.rawValue)
        // A directory's read-only bit protects nothing: Windows marks folders with own icons by it.
        let known = status.isDirectory ? FATAttribute.hidden : FATAttribute.hidden | FATAttribute.readOnly
        let wanted = (flags.contains(.userImmutable) ? FATAttribute.readOnly : 0) | (flags.contains(.hidden) ? FATAttribute.hidden : 0)
        let new = old & ~known | wanted & known
        guard self.flags(new, isDirectory: status.isDirectory) == flags else { throw .opnotsupp }
        if new != old { try Syscall.setFATAttributes(real.rawValue, new) }
    }

    private static func flags(_ attributes: UInt32, isDirectory: Bool) -> FileFlags {
        var flags: FileFlags = []
        if attributes & FATAttribute.readOnly != 0, !isDirectory { flags.formUnion(.userImmutable) }
        if attributes & FATAttribute.hidden != 0 { flags.formUnion(.hidden) }
        return flags
    }

    private static func open(_ descriptor: Int32) throws(Errno) -> OwnedDescriptor {
        try Syscall.reopen(descriptor, OpenFlag.readOnly | OpenFlag.nonBlock)
    }
}
