/// The identity of a process that makes calls. No account needs to have its numbers.
public struct Subject: Hashable, Sendable {
    public var uid: UInt32
    public var gid: UInt32
    /// The supplementary groups.
    public var groups: [UInt32]
    /// The real ids where they differ from the effective ones, as access(2) uses them.
    public var realUID: UInt32?
    public var realGID: UInt32?

    public init(uid: UInt32, gid: UInt32, groups: [UInt32] = [], realUID: UInt32? = nil, realGID: UInt32? = nil) {
        (self.uid, self.gid, self.groups) = (uid, gid, groups)
        (self.realUID, self.realGID) = (realUID, realGID)
    }

    public static let root = Subject(uid: 0, gid: 0)
}

/// The users and groups of a run: consecutive numbers that no account has.
///
/// alice and bob are members of staff, alice of eng, bob of ops; carol is in staff alone.
public struct Numbers: Hashable, Sendable {
    /// How many uids and gids a run uses.
    public static let count: UInt32 = 5
    /// Where a run looks first.
    public static let usual: UInt32 = 60_001
    /// The highest number that `first` may have: the next ones stand for "no id" in places.
    public static let highest: UInt32 = 2_147_483_000

    /// The first uid, which is also the first gid.
    public let first: UInt32
    public init(first: UInt32) { self.first = first }

    public var alice: UInt32 { first }
    public var bob: UInt32 { first + 1 }
    public var carol: UInt32 { first + 2 }
    public var dave: UInt32 { first + 3 }

    public var staff: UInt32 { first }
    public var eng: UInt32 { first + 1 }
    public var ops: UInt32 { first + 2 }
    public var contractors: UInt32 { first + 3 }
    public var world: UInt32 { first + 4 }

    /// The uid for one of the vectors.
    public func uid(_ stated: UInt32) -> UInt32 {
        switch stated {
        case 501: alice
        case 502: bob
        case 503: carol
        case 504: dave
        default: stated
        }
    }

    /// The gid for one of the vectors.
    public func gid(_ stated: UInt32) -> UInt32 {
        switch stated {
        case 12: world
        case 20: staff
        case 600: eng
        case 601: ops
        case 602: contractors
        default: stated
        }
    }
}
