import Authorization
import LinuxSystem
import Synchronization

/// Counters for `aclfs status`. A number never decreases in the life of a mount.
public final class Counters: Sendable {
    private let allowed = Atomic<UInt64>(0)
    private let denied = Lock<[String: UInt64]>([:])

    let opensCached = Atomic<UInt64>(0)
    let opensPassthrough = Atomic<UInt64>(0)
    let opensDirect = Atomic<UInt64>(0)

    /// Counts an open file by its data path.
    func count(_ path: DataPath) {
        switch path {
        case .cached: opensCached.add(1, ordering: .relaxed)
        case .passthrough: opensPassthrough.add(1, ordering: .relaxed)
        case .direct, .directWithMappings: opensDirect.add(1, ordering: .relaxed)
        }
    }

    func count(_ decision: Decision) {
        if decision.isAllowed {
            allowed.wrappingAdd(1, ordering: .relaxed)
        } else {
            let family = decision.stage.family
            denied.withLock { $0[family, default: 0] += 1 }
        }
    }

    /// The number of decisions that granted.
    public var decisionsAllowed: UInt64 { allowed.load(ordering: .relaxed) }
    /// The number of denials by stage.
    public var denials: [String: UInt64] { denied.withLock { $0 } }
}

extension Stage {
    /// The stage without details, as the key of a counter.
    var family: String {
        switch self {
        case .precondition: "precondition"
        case .sandbox: "sandbox"
        case .attributePolicy: "attr_policy"
        case .ownershipIgnored: "ownership_ignored"
        case .root, .rootNoExecuteBit: "root"
        case .ownerRight: "owner_right"
        case .capability: "capability"
        case .entry: "acl"
        case .flags: "flags"
        case .mode: "posix"
        case .sticky: "sticky"
        case .noEquivalent: "no_bsd_equivalent"
        case .implicit: "implicit"
        case .special: "special"
        }
    }
}
