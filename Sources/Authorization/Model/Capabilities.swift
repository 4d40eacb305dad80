/// Capabilities of Linux that count in decisions (docs/reference/authorization.md 3.12), by their numbers in capabilities(7).
public struct Capabilities: OptionSet, Sendable, Hashable {
    public let rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Owners and groups change as the caller likes.
    public static let chown = Capabilities(rawValue: 1 << 0)
    /// Neither entries nor mode bits bind reading, writing, searching, and the execution of what has an x bit.
    public static let dacOverride = Capabilities(rawValue: 1 << 1)
    /// Neither entries nor mode bits bind reading, and searching directories.
    public static let readSearch = Capabilities(rawValue: 1 << 2)
    /// The caller counts as the owner, except for the owner's bits and entries.
    public static let fowner = Capabilities(rawValue: 1 << 3)
    /// Set-id bits stay at a write; set-gid may be set for a group of others.
    public static let fsetid = Capabilities(rawValue: 1 << 4)
    /// System flags change.
    public static let linuxImmutable = Capabilities(rawValue: 1 << 9)
    /// `security.*` but for capabilities, and `trusted.*`.
    public static let sysAdmin = Capabilities(rawValue: 1 << 21)
    /// Devices are made.
    public static let mknod = Capabilities(rawValue: 1 << 27)
    /// `security.capability`.
    public static let setfcap = Capabilities(rawValue: 1 << 31)

    /// What root of 3.5 has.
    public static let ofRoot: Capabilities = [.dacOverride, .fowner, .chown]
    /// What counts in the user namespace of the file system alone, as in the kernel: the maker of a namespace has them all there.
    public static let ofSystem: Capabilities = [.linuxImmutable, .sysAdmin, .mknod]
    public static let all: Capabilities = [
        .chown, .dacOverride, .readSearch, .fowner, .fsetid, .linuxImmutable, .sysAdmin, .mknod, .setfcap,
    ]

    private static let names: [(Capabilities, String)] = [
        (.chown, "chown"), (.dacOverride, "dac_override"), (.readSearch, "dac_read_search"), (.fowner, "fowner"), (.fsetid, "fsetid"),
        (.linuxImmutable, "linux_immutable"), (.sysAdmin, "sys_admin"), (.mknod, "mknod"), (.setfcap, "setfcap"),
    ]

    /// The names as capabilities(7) has them, without the prefix and in lower case.
    public var names: [String] { Self.names.filter { contains($0.0) }.map(\.1) }

    /// The names as capabilities(7) spells them, such as `CAP_CHOWN, CAP_FOWNER`.
    public var shown: String { names.map { "CAP_\($0.uppercased())" }.joined(separator: ", ") }
}
