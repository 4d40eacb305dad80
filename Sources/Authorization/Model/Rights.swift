/// A set of rights in kauth's bit positions (docs/reference/authorization.md 1.1).
///
/// A right has one bit with two names, one for files and one for directories. Only printing chooses between them.
public struct Rights: OptionSet, Sendable, Hashable {
    public var rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let read = Rights(rawValue: 1 << 1)
    public static let write = Rights(rawValue: 1 << 2)
    public static let execute = Rights(rawValue: 1 << 3)
    public static let delete = Rights(rawValue: 1 << 4)
    public static let append = Rights(rawValue: 1 << 5)
    public static let deleteChild = Rights(rawValue: 1 << 6)
    public static let readAttributes = Rights(rawValue: 1 << 7)
    public static let writeAttributes = Rights(rawValue: 1 << 8)
    public static let readExtendedAttributes = Rights(rawValue: 1 << 9)
    public static let writeExtendedAttributes = Rights(rawValue: 1 << 10)
    public static let readSecurity = Rights(rawValue: 1 << 11)
    public static let writeSecurity = Rights(rawValue: 1 << 12)
    public static let changeOwner = Rights(rawValue: 1 << 13)
    public static let synchronize = Rights(rawValue: 1 << 20)

    public static let list = Rights.read
    public static let addFile = Rights.write
    public static let search = Rights.execute
    public static let addSubdirectory = Rights.append

    /// Generic bits: legal in a stored entry, expanded when it is evaluated.
    public static let genericAll = Rights(rawValue: 1 << 21)
    public static let genericExecute = Rights(rawValue: 1 << 22)
    public static let genericWrite = Rights(rawValue: 1 << 23)
    public static let genericRead = Rights(rawValue: 1 << 24)

    /// Occurs in requests only, never in an entry: the operation asks about the object's flags alone.
    public static let linkTarget = Rights(rawValue: 1 << 25)
    public static let checkImmutable = Rights(rawValue: 1 << 26)

    /// Every right that an entry can name, without the generic bits.
    public static let all: Rights = [
        .read, .write, .execute, .delete, .append, .deleteChild, .readAttributes, .writeAttributes,
        .readExtendedAttributes, .writeExtendedAttributes, .readSecurity, .writeSecurity, .changeOwner,
        .synchronize,
    ]

    /// Rights that change something: a read-only volume refuses them, and flags may forbid them.
    public static var anyWrite: Rights {
        [
            .write, .append, .delete, .deleteChild, .writeAttributes, .writeExtendedAttributes, .writeSecurity,
            .changeOwner, .linkTarget, .checkImmutable,
        ]
    }

    static let readSet: Rights = [.read, .readAttributes, .readExtendedAttributes, .readSecurity]
    static let writeSet: Rights = [
        .write, .append, .delete, .deleteChild, .writeAttributes, .writeExtendedAttributes, .writeSecurity,
    ]

    /// The rights with generic bits replaced by what they stand for (docs/reference/authorization.md 1.1).
    @inlinable public var expandingGenericRights: Rights {
        if rawValue & 0x01E0_0000 == 0 { return self }
        return expandGenericRights(self)
    }
}

@usableFromInline func expandGenericRights(_ rights: Rights) -> Rights {
    var expanded = rights
    if !rights.isDisjoint(with: [.genericAll, .genericRead]) { expanded.formUnion(.readSet) }
    if !rights.isDisjoint(with: [.genericAll, .genericWrite]) { expanded.formUnion(.writeSet) }
    if !rights.isDisjoint(with: [.genericAll, .genericExecute]) { expanded.formUnion(.execute) }
    expanded.subtract([.genericAll, .genericRead, .genericWrite, .genericExecute])
    return expanded
}
