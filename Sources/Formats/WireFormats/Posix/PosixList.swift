import Authorization

/// A POSIX ACL (POSIX.1e draft 17) that is complete: what getfacl(1) shows and setfacl(1) sets.
///
/// Permissions are read, write, execute = 4, 2, 1.
public struct PosixList: Hashable, Sendable {
    /// An entry for a user or group by number.
    public struct Named: Hashable, Sendable {
        public var id: UInt32
        /// Before the mask.
        public var permissions: UInt16
        public init(_ id: UInt32, _ permissions: UInt16) { (self.id, self.permissions) = (id, permissions) }
    }

    /// Each named entry becomes an entry of a stored list at least.
    public static let mostEntries = ACL.maximumEntryCount + 4

    public var owner: UInt16
    /// By uid, each once.
    public var users: [Named]
    /// Of the owning group, before the mask.
    public var group: UInt16
    /// By gid, each once.
    public var groups: [Named]
    /// nil only in a list without named entries.
    public var mask: UInt16?
    public var other: UInt16

    /// - Parameters:
    ///   - users: in any order, each once.
    ///   - groups: in any order, each once.
    public init(owner: UInt16, users: [Named] = [], group: UInt16, groups: [Named] = [], mask: UInt16? = nil, other: UInt16) {
        (self.owner, self.group, self.mask, self.other) = (owner, group, mask, other)
        self.users = users.sorted { $0.id < $1.id }
        self.groups = groups.sorted { $0.id < $1.id }
    }

    /// Whether the list says more than a mode can.
    public var isExtended: Bool { mask != nil }
    /// The mask, or what a list without one leaves to the owning group.
    public var classBits: UInt16 { mask ?? group }
    /// Whether each user and group that another list names has an entry in this one.
    public func names(allOf other: PosixList) -> Bool {
        Set(users.map(\.id)).isSuperset(of: other.users.map(\.id)) && Set(groups.map(\.id)).isSuperset(of: other.groups.map(\.id))
    }
    /// The owning group and the named entries, put together: the mask that setfacl(1) computes.
    public var union: UInt16 { (users + groups).reduce(group) { $0 | $1.permissions } }
}

extension PosixList {
    /// Makes a list of entries, in the order of the kernel: owner, users, owning group, groups, mask, others.
    /// - Throws: the first error. Users among themselves and groups among themselves may have any order.
    public init(_ entries: [PosixWireEntry]) throws(PosixWireError) {
        // Before the search for duplicates, which takes the square of the number.
        if entries.count > Self.mostEntries { throw .tooMany(entries.count) }
        var single: [PosixWireEntry.Tag: UInt16] = [:]
        var (users, groups): ([Named], [Named]) = ([], [])
        var last = PosixWireEntry.Tag.owner
        for (index, entry) in entries.enumerated() {
            // The tags' numbers rise in that order.
            if entry.tag.rawValue < last.rawValue { throw .order(entry.tag, at: index) }
            last = entry.tag
            if entry.permissions > 7 { throw .permissions(entry.permissions, at: index) }
            if entry.tag.isNamed, entry.id == .max { throw .noID(at: index) }
            switch entry.tag {
            case .user:
                if users.contains(where: { $0.id == entry.id }) { throw .duplicate(.user, at: index) }
                users.append(Named(entry.id, entry.permissions))
            case .group:
                if groups.contains(where: { $0.id == entry.id }) { throw .duplicate(.group, at: index) }
                groups.append(Named(entry.id, entry.permissions))
            case .owner, .owningGroup, .mask, .other:
                if single.updateValue(entry.permissions, forKey: entry.tag) != nil { throw .duplicate(entry.tag, at: index) }
            }
        }
        guard let owner = single[.owner] else { throw .missing(.owner) }
        guard let group = single[.owningGroup] else { throw .missing(.owningGroup) }
        guard let other = single[.other] else { throw .missing(.other) }
        if single[.mask] == nil, !users.isEmpty || !groups.isEmpty { throw .missing(.mask) }
        self.init(owner: owner, users: users, group: group, groups: groups, mask: single[.mask], other: other)
    }

    /// In the kernel's order.
    public var wireEntries: [PosixWireEntry] {
        [PosixWireEntry(.owner, owner)] + users.map { PosixWireEntry(.user, $0.permissions, id: $0.id) }
            + [PosixWireEntry(.owningGroup, group)] + groups.map { PosixWireEntry(.group, $0.permissions, id: $0.id) }
            + (mask.map { [PosixWireEntry(.mask, $0)] } ?? []) + [PosixWireEntry(.other, other)]
    }
}
