/// The POSIX ACL of an object of the backing directory (docs/reference/authorization.md Q22), as far as the mode does not say it.
///
/// The mode holds the bits of the owner and of others, and the mask as its group bits. So the rest of the list stays valid after a
/// chmod.
public struct PosixACL: Sendable, Hashable {
    /// The subjects of an entry.
    public enum Subject: Sendable, Hashable {
        case owningGroup
        case user(UInt32)
        case group(UInt32)
    }

    /// One entry for a user or group.
    public struct Entry: Sendable, Hashable {
        public var subject: Subject
        /// Read, write, execute = 4, 2, 1, before the mask.
        public var permissions: UInt16
        public init(_ subject: Subject, _ permissions: UInt16) {
            (self.subject, self.permissions) = (subject, permissions & 7)
        }
    }

    /// In stored order. A list that could be read has at least the entry of the owning group.
    public var entries: [Entry]
    public init(_ entries: [Entry]) { self.entries = entries }

    /// A list that cannot be parsed: it may name every caller but the owner, and grants nothing.
    public static let unreadable = PosixACL([])
    public var isUnreadable: Bool { entries.isEmpty }
}
