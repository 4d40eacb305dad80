/// A POSIX ACL that an object of the backing directory carries by itself (docs/authorization.md Q22): what it says besides the mode.
///
/// The bits of the owner and of others stand in the mode, and so does the mask: the mode's group bits. So what is kept of the
/// list stays right over a chmod.
public struct PosixACL: Sendable, Hashable {
    public enum Subject: Sendable, Hashable {
        case owningGroup
        case user(UInt32)
        case group(UInt32)
    }

    public struct Entry: Sendable, Hashable {
        public var subject: Subject
        /// rwx = 421, before the mask.
        public var permissions: UInt16
        public init(_ subject: Subject, _ permissions: UInt16) {
            (self.subject, self.permissions) = (subject, permissions & 7)
        }
    }

    /// In stored order. A list that could be read has the owning group's at least.
    public var entries: [Entry]
    public init(_ entries: [Entry]) { self.entries = entries }

    /// It is there and cannot be understood: anyone but the owner may be named in it, with no bits at all.
    public static let unreadable = PosixACL([])
    public var isUnreadable: Bool { entries.isEmpty }
}
