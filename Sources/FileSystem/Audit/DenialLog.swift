import ACLFormats
import Authorization
import BackingStore
import LinuxSystem
import Synchronization

/// One denial, as `explain --last` shows it.
public struct Denial: Sendable {
    /// The number in the log, from 0 on.
    public var sequence: UInt64
    /// Seconds since 1970.
    public var time: Int64
    /// The user who was denied.
    public var uid: UInt32
    /// The name of the operation, as in lines of the audit log.
    public var operation: String
    /// The inode number of the object; nil if it is unknown.
    public var inode: UInt64?
    /// The name of the errno, such as `EACCES`.
    public var errno: String
    /// The stage of the decision that denied.
    public var stage: String
    /// The key of the profile, or the location in the container, that denied.
    public var rule: String?
    var denied: DeniedObject?
}

/// The object of a denial. Its path is found only when a client asks for it (`DenialLocation.swift`), because requests carry no path.
struct DeniedObject {
    /// The directory, if the request had a name; otherwise the object.
    private let kept: BackingObject?
    /// Weak if objects keep descriptors, so that a denial does not keep the space of a removed file.
    private weak var held: BackingObject?
    let name: [UInt8]?

    init(_ object: BackingObject, name: [UInt8]? = nil) {
        (kept, held, self.name) = object.mayHoldDescriptor ? (nil, object, name) : (object, nil, name)
    }

    var object: BackingObject? { kept ?? held }
}

/// The last denials of a mount and of its views, up to a bound. Each user has a queue for denials of the mount
/// (`UserDenials.swift`), and each view one. So an untrusted program that asks a view often displaces only denials of that view.
final class DenialLog: Sendable {
    struct Kept {
        /// Set by the log.
        fileprivate(set) var sequence: UInt64 = 0
        /// The number of the view that denied; nil for the mount itself.
        var view: UInt64?
        var time: Int64
        /// Nanoseconds within the second `time`.
        var nanoseconds: UInt32 = 0
        var uid: UInt32
        /// The user who acts under this uid, and has a part of the log.
        var payer: UInt32
        var operation: Operation
        var inode: UInt64?
        var denied: DeniedObject?
        var decision: Decision
        var rule: String?
    }
    /// The denials of one view, the oldest first.
    private struct ViewQueue {
        private var slots: [Kept] = []
        private var start = 0
        var count: Int { slots.count - start }
        var kept: ArraySlice<Kept> { slots[start...] }

        mutating func add(_ kept: Kept) { slots.append(kept) }

        /// Whether the other queue is shortened before this one.
        func outlasts(_ other: ViewQueue) -> Bool {
            (count, other.kept.last?.sequence ?? 0) < (other.count, kept.last?.sequence ?? 0)
        }

        mutating func removeOldest() {
            start += 1
            guard start >= 256, start * 2 >= slots.count else { return }
            slots.removeFirst(start)
            start = 0
        }
    }
    private struct ViewQueues {
        private var ofViews: [UInt64: ViewQueue] = [:]
        /// The queues of ended views.
        private var ofEnded: [UInt64: ViewQueue] = [:]
        private var count = 0
        private var countOfEnded = 0
        var kept: [Kept] { ofViews.values.flatMap(\.kept) + ofEnded.values.flatMap(\.kept) }

        mutating func add(_ kept: Kept, of view: UInt64) {
            if count < DenialLog.capacity { count += 1 } else { makeRoom() }
            ofViews[view, default: ViewQueue()].add(kept)
        }

        mutating func end(_ view: UInt64) {
            guard let queue = ofViews.removeValue(forKey: view) else { return }
            ofEnded[view] = queue
            countOfEnded += queue.count
        }

        /// Removes the oldest denial of the largest queue. Among ended views that is the longest queue, or of equal ones the one
        /// with the oldest last denial.
        private mutating func makeRoom() {
            let longest = ofViews.max { $0.value.count < $1.value.count }
            if let longest, longest.value.count >= countOfEnded {
                Self.shorten(&ofViews, longest.key)
            } else if let longest = ofEnded.max(by: { $0.value.outlasts($1.value) }) {
                Self.shorten(&ofEnded, longest.key)
                countOfEnded -= 1
            }
        }

        private static func shorten(_ queues: inout [UInt64: ViewQueue], _ view: UInt64) {
            queues[view]?.removeOldest()
            if queues[view]?.count == 0 { queues[view] = nil }
        }
    }

    static let capacity = 1000
    private let ofUsers = Lock(UserDenials(capacity: capacity))
    private let views = Lock(ViewQueues())
    private let sequence = Atomic<UInt64>(0)

    /// Adds a denial. Its text is made only when a client asks for it.
    func add(_ refused: Kept) {
        var kept = refused
        kept.sequence = sequence.add(1, ordering: .relaxed).oldValue
        if let view = kept.view {
            views.withLock { $0.add(kept, of: view) }
        } else {
            ofUsers.withLock { $0.add(kept) }
        }
    }

    /// Notes that a view has ended. Its queue then counts with those of ended views.
    func end(_ view: UInt64) { views.withLock { $0.end(view) } }

    /// The newest denials, the newest first.
    /// - Parameters:
    ///   - limit: the most denials.
    ///   - uid: only those of this user; nil: of all.
    ///   - end: of these, only those with a lower sequence number, so that a client can read them in parts.
    func last(_ limit: Int, of uid: UInt32?, before end: UInt64 = .max) -> [Denial] {
        var all = ofUsers.withLock { $0.kept } + views.withLock { $0.kept }
        if let uid { all.removeAll { $0.uid != uid } }
        all.sort { $0.sequence > $1.sequence }
        return all.prefix(max(0, limit)).filter { $0.sequence < end }.map { kept in
            Denial(
                sequence: kept.sequence, time: kept.time, uid: kept.uid, operation: kept.operation.name,
                inode: kept.inode, errno: kept.decision.denial?.errno.name ?? "", stage: kept.decision.stage.name,
                rule: kept.rule, denied: kept.denied)
        }
    }
}

extension Operation {
    /// The name of the operation in denials and in the audit log: the word of `explain`, if there is one.
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
