/// The flags word of an entry: its kind and how it is inherited (docs/reference/authorization.md 1.2).
public struct ACEFlags: OptionSet, Sendable, Hashable {
    public var rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let inherited = ACEFlags(rawValue: 0x010)
    public static let fileInherit = ACEFlags(rawValue: 0x020)
    public static let directoryInherit = ACEFlags(rawValue: 0x040)
    public static let limitInherit = ACEFlags(rawValue: 0x080)
    public static let onlyInherit = ACEFlags(rawValue: 0x100)

    /// The four flags that say how an entry is inherited; `inherited` says only where it came from.
    public static let inheritanceControl: ACEFlags = [
        .fileInherit, .directoryInherit, .limitInherit, .onlyInherit,
    ]
}

/// One access control entry: identity, kind and inheritance, rights.
public struct ACE: Sendable, Hashable {
    /// The kinds of entries that are evaluated.
    public enum Kind: UInt32, Sendable {
        case allow = 1
        case deny = 2
    }

    public var guid: GUID
    /// The whole flags word as stored, kind included: unknown bits are kept.
    public var flagsWord: UInt32
    public var rights: Rights

    @inlinable public init(guid: GUID, flagsWord: UInt32, rights: Rights) {
        (self.guid, self.flagsWord, self.rights) = (guid, flagsWord, rights)
    }
    @inlinable public init(_ guid: GUID, _ kind: Kind, _ rights: Rights, flags: ACEFlags = []) {
        self.init(guid: guid, flagsWord: kind.rawValue | flags.rawValue, rights: rights)
    }

    /// `nil` for reserved kinds (audit, alarm), which the evaluator skips.
    @inlinable public var kind: Kind? { Kind(rawValue: flagsWord & 0xF) }
    /// The flags without the kind.
    @inlinable public var flags: ACEFlags {
        get { ACEFlags(rawValue: flagsWord & ~0xF) }
        set { flagsWord = flagsWord & 0xF | newValue.rawValue & ~0xF }
    }
}

/// An access control list. An empty list differs from no list (`ACL?` = nil): with both the mode bits decide, but both states are
/// stored (docs/reference/authorization.md 1.3).
public struct ACL: Sendable, Hashable {
    public static let maximumEntryCount = 128
    /// The list takes nothing from a directory (docs/reference/authorization.md 5.1, Q25).
    public static let noInherit: UInt32 = 0x0002_0000

    public var entries: [ACE]
    public var listFlags: UInt32
    @inlinable public init(_ entries: [ACE], listFlags: UInt32 = 0) {
        (self.entries, self.listFlags) = (entries, listFlags)
    }

    /// Whether the list carries the mark `no_inherit`.
    @inlinable public var isProtected: Bool { listFlags & Self.noInherit != 0 }
}
