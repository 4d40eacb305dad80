import ACLFormats
import Authorization
import BackingStore
import LinuxSystem
import Synchronization

/// One refusal, as `explain --last` shows it.
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
    var subject: DeniedSubject?
}

/// What was refused, kept so that its path can be found when somebody asks (`DenialPlace.swift`): requests carry none.
struct DeniedSubject {
    /// The directory of the name that was asked for; the object itself where no name was.
    private let kept: BackingObject?
    /// Where objects are held by descriptors, a refusal must not be what keeps a removed file's blocks.
    private weak var held: BackingObject?
    let name: [UInt8]?

    init(_ object: BackingObject, name: [UInt8]? = nil) {
        (kept, held, self.name) = object.isPinned ? (nil, object, name) : (object, nil, name)
    }

    var object: BackingObject? { kept ?? held }
}

/// The last denials of a mount, however many there were.
final class DenialLog: Sendable {
    struct Kept {
        var time: Int64
        var uid: UInt32
        var operation: Operation
        var inode: UInt64?
        var subject: DeniedSubject?
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
    func add(_ kept: Kept) {
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
    /// - Parameter end: only those with a lower number.
    func last(_ limit: Int, of uid: UInt32?, before end: UInt64 = .max) -> [Denial] {
        let (slots, count) = ring.withLock { ($0.slots, $0.count) }
        var answer: [Denial] = []
        var sequence = count
        while sequence > 0, count - sequence < UInt64(slots.count), answer.count < limit {
            sequence -= 1
            let kept = slots[Int(sequence % UInt64(Self.capacity))]
            if sequence >= end { continue }
            if let uid, kept.uid != uid { continue }
            answer.append(
                Denial(
                    sequence: sequence, time: kept.time, uid: kept.uid, operation: kept.operation.name,
                    inode: kept.inode, errno: kept.decision.denial?.errno.name ?? "", stage: kept.decision.stage.name,
                    rule: kept.rule, subject: kept.subject))
        }
        return answer
    }
}

extension Operation {
    /// The word by which `explain` asks for it, where there is one.
    var name: String {
        if let word { return word.rawValue }
        return switch self {
        case .access(let mask):
            "access-" + (mask.contains(.read) ? "r" : "") + (mask.contains(.write) ? "w" : "")
                + (mask.contains(.execute) ? "x" : "")
        case .lookup: "search"
        case .list: "list"
        case .readACL: "readsecurity"
        case .readFlags: "readattr"
        case .exchange: "exchange"
        case .setGroup: "chgrp"
        case .clone: "clone"
        case .exchangeData: "exchangedata"
        case .rights: "rights"
        default: "unmapped"
        }
    }

    private var word: OperationWord? {
        switch self {
        case .open(let intent):
            if intent.isDisjoint(with: [.write, .truncate]) {
                .openRead
            } else {
                intent.contains(.append) ? .openAppend : .openWrite
            }
        case .execute: .exec
        case .access(.read): .accessRead
        case .access(.write): .accessWrite
        case .access(.execute): .accessExecute
        case .stat: .stat
        case .readLink: .readlink
        case .getXattr: .getxattr
        case .listXattr: .listxattr
        case .setXattr, .removeXattr: .setxattr
        case .truncate: .truncate
        case .unlink: .unlink
        case .removeDirectory: .rmdir
        case .create(let request): request.kind == .directory ? .mkdir : .create
        case .link: .link
        case .rename: .rename
        case .chmod: .chmod
        case .chown, .setOwner: .chown
        case .setTimes: .utimes
        case .chflags: .chflags
        case .setACL: .setacl
        default: nil
        }
    }
}
