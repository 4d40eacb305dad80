/// BSD file flags in their ABI positions (docs/reference/authorization.md 6.6).
public struct FileFlags: OptionSet, Sendable, Hashable {
    public var rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let noDump = FileFlags(rawValue: 0x1)
    public static let userImmutable = FileFlags(rawValue: 0x2)
    public static let userAppend = FileFlags(rawValue: 0x4)
    public static let opaque = FileFlags(rawValue: 0x8)
    public static let compressed = FileFlags(rawValue: 0x20)
    public static let tracked = FileFlags(rawValue: 0x40)
    public static let dataVault = FileFlags(rawValue: 0x80)
    public static let hidden = FileFlags(rawValue: 0x8000)
    public static let archived = FileFlags(rawValue: 0x1_0000)
    public static let systemImmutable = FileFlags(rawValue: 0x2_0000)
    public static let systemAppend = FileFlags(rawValue: 0x4_0000)
    public static let restricted = FileFlags(rawValue: 0x8_0000)
    public static let noUnlink = FileFlags(rawValue: 0x10_0000)
    public static let firmlink = FileFlags(rawValue: 0x80_0000)
    public static let dataless = FileFlags(rawValue: 0x4000_0000)

    public static let immutable: FileFlags = [.userImmutable, .systemImmutable]
    public static let appendOnly: FileFlags = [.userAppend, .systemAppend]

    /// Flags that an owner may change; all others are system flags.
    public static let userSettable = FileFlags(rawValue: 0x0000_FFFF)
    /// Flags that root may name in a call; the top two bits are synthetic.
    public static let rootNameable = FileFlags(rawValue: 0x3FFF_FFFF)
    /// Flags that a change by root stores.
    public static let rootSettable = FileFlags(rawValue: 0x009F_0000 | 0x0000_FFFF)
    /// Synthetic bits: ignored in comparisons, never settable.
    public static let synthetic = FileFlags(rawValue: 0xC000_0000)
    /// Flags that a new object gets from its directory (docs/reference/authorization.md 5.3).
    public static let inheritedAtCreation: FileFlags = [.restricted, .dataVault]
}
