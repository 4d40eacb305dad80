import Authorization
import LinuxSystem

/// The table of identities in force on a mount and its views. Decisions read it at any time.
public final class IdentityMap: Sendable, Hashable {
    private let current: Lock<IdentityTable>
    private let obstacle = Lock<String?>(nil)

    public init(_ table: IdentityTable = IdentityTable()) { current = Lock(table) }

    /// Why the file, as it is now, is not in force; nil: it is.
    public var problem: String? { obstacle.withLock { $0 } }

    /// The user or group that an identity stands for; nil if nothing translates it.
    public func principal(of identity: GUID) -> Principal? { current.withLock { $0.principal(of: identity) } }

    /// The identity of the number that an identity stands for; itself if nothing translates it.
    func canonical(_ identity: GUID) -> GUID {
        switch principal(of: identity) {
        case .user(let uid): GUID(user: uid)
        case .group(let gid): GUID(group: gid)
        default: identity
        }
    }

    /// The caller holds the metadata lock for writing, so that no decision runs meanwhile.
    public func replace(by table: IdentityTable) {
        current.withLock { $0 = table }
        obstacle.withLock { $0 = nil }
    }

    /// The table stays in force.
    /// - Parameter problem: of the file that was read in its place.
    public func keep(_ problem: String) { obstacle.withLock { $0 = problem } }

    public static func == (one: IdentityMap, other: IdentityMap) -> Bool { one === other }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
