import Authorization
import LinuxSystem
import Synchronization

/// One refusal, as `explain --last` shows it. Requests carry no path: the object is known by its number.
public struct Denial: Sendable {
    public var sequence: UInt64
    /// Seconds since 1970.
    public var time: Int64
    public var uid: UInt32
    public var operation: String
    public var inode: UInt64?
    public var errno: String
    public var stage: String
    /// The key of the profile, or the container's place, by which a sandbox refused.
    public var rule: String?
}

/// The last denials of a mount, however many there were.
final class DenialLog: Sendable {
    private struct Kept {
        var time: Int64
        var uid: UInt32
        var operation: Operation
        var inode: UInt64?
        var decision: Decision
        var rule: String?
    }
    private struct Ring {
        var slots: [Kept] = []
        var count: UInt64 = 0
    }

    static let capacity = 1000
    private let ring = Mutex(Ring())

    /// Texts are made when somebody asks; a refusal itself costs one slot.
    func add(
        _ operation: Operation, _ decision: Decision, uid: UInt32, inode: UInt64?, rule: String?, time: Int64
    ) {
        let kept = Kept(time: time, uid: uid, operation: operation, inode: inode, decision: decision, rule: rule)
        ring.withLock { ring in
            if ring.slots.count < Self.capacity {
                ring.slots.append(kept)
            } else {
                ring.slots[Int(ring.count % UInt64(Self.capacity))] = kept
            }
            ring.count += 1
        }
    }

    /// The newest ones first; of one user alone if a uid is given.
    func last(_ limit: Int, of uid: UInt32?) -> [Denial] {
        let (slots, count) = ring.withLock { ($0.slots, $0.count) }
        var answer: [Denial] = []
        var sequence = count
        while sequence > 0, count - sequence < UInt64(slots.count), answer.count < limit {
            sequence -= 1
            let kept = slots[Int(sequence % UInt64(Self.capacity))]
            if let uid, kept.uid != uid { continue }
            answer.append(
                Denial(
                    sequence: sequence, time: kept.time, uid: kept.uid, operation: kept.operation.name,
                    inode: kept.inode, errno: kept.decision.denial?.errno.name ?? "", stage: kept.decision.stage.name,
                    rule: kept.rule))
        }
        return answer
    }
}

extension Operation {
    /// The word by which `explain` asks for it, where there is one.
    var name: String {
        switch self {
        case .lookup: "search"
        case .open(let intent):
            if intent.isDisjoint(with: [.write, .truncate]) {
                "open-read"
            } else {
                intent.contains(.append) ? "open-append" : "open-write"
            }
        case .execute: "exec"
        case .access(let mask):
            "access-" + (mask.contains(.read) ? "r" : "") + (mask.contains(.write) ? "w" : "")
                + (mask.contains(.execute) ? "x" : "")
        case .list: "list"
        case .stat: "stat"
        case .readACL: "readsecurity"
        case .readFlags: "readattr"
        case .readLink: "readlink"
        case .getXattr: "getxattr"
        case .listXattr: "listxattr"
        case .setXattr, .removeXattr: "setxattr"
        case .truncate: "truncate"
        case .unlink: "unlink"
        case .removeDirectory: "rmdir"
        case .create(let request): request.kind == .directory ? "mkdir" : "create"
        case .link: "link"
        case .rename: "rename"
        case .exchange: "exchange"
        case .chmod: "chmod"
        case .chown, .setOwner: "chown"
        case .setGroup: "chgrp"
        case .setTimes: "utimes"
        case .chflags: "chflags"
        case .setACL: "setacl"
        case .clone: "clone"
        case .exchangeData: "exchangedata"
        case .rights: "rights"
        case .unmapped: "unmapped"
        }
    }
}
