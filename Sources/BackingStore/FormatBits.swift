import ACLFormats
import Authorization
import LinuxSystem

/// The read-only and hidden bits of FAT and exFAT. Where a file system keeps no records, they are flags: `uchg` and `hidden`
/// (docs/mounting.md "Sources without extended attributes").
public enum FormatBits {
    /// Whether the file system of a directory has the bits.
    /// - Parameter directory: a real descriptor of it.
    public static func areKept(by directory: Int32) -> Bool { (try? Syscall.getFATAttributes(directory)) != nil }

    /// The flags that the bits of an object stand for.
    /// - Parameters:
    ///   - descriptor: any descriptor of it.
    ///   - kind: its kind, if it is known.
    /// - Throws: they cannot be read.
    static func flags(of descriptor: Int32, _ kind: ObjectKind?) throws(Errno) -> FileFlags {
        let real = try open(descriptor)
        return flags(try Syscall.getFATAttributes(real.rawValue), isDirectory: try isDirectory(descriptor, kind))
    }

    /// Stores flags as bits.
    /// - Throws: `opnotsupp` if no bit stands for one of them. Then nothing is changed.
    static func set(_ flags: FileFlags, of descriptor: Int32, _ kind: ObjectKind?) throws(Errno) {
        let real = try open(descriptor)
        let isDirectory = try isDirectory(descriptor, kind)
        let old = try Syscall.getFATAttributes(real.rawValue)
        var new = old & ~FATAttribute.hidden
        // A directory's read-only bit protects nothing: Windows marks folders with own icons by it.
        if !isDirectory { new &= ~FATAttribute.readOnly }
        if flags.contains(.userImmutable), !isDirectory { new |= FATAttribute.readOnly }
        if flags.contains(.hidden) { new |= FATAttribute.hidden }
        guard self.flags(new, isDirectory: isDirectory) == flags else { throw .opnotsupp }
        if new != old { try Syscall.setFATAttributes(real.rawValue, new) }
    }

    private static func flags(_ attributes: UInt32, isDirectory: Bool) -> FileFlags {
        var flags: FileFlags = []
        if attributes & FATAttribute.readOnly != 0, !isDirectory { flags.formUnion(.userImmutable) }
        if attributes & FATAttribute.hidden != 0 { flags.formUnion(.hidden) }
        return flags
    }

    private static func isDirectory(_ descriptor: Int32, _ kind: ObjectKind?) throws(Errno) -> Bool {
        if let kind { return kind == .directory }
        return try Syscall.statx(descriptor).isDirectory
    }

    private static func open(_ descriptor: Int32) throws(Errno) -> OwnedDescriptor {
        try Syscall.reopen(descriptor, OpenFlag.readOnly | OpenFlag.nonBlock)
    }
}
