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

/// What was refused, kept so that its path can be found when somebody asks (`DenialLocation.swift`): requests carry none.
struct DeniedSubject {
    /// The directory of the name that was asked for; the object itself where no name was.
    private let kept: BackingObject?
    /// Where objects are held by descriptors, a refusal must not be what keeps a removed file's blocks.
    private weak var held: BackingObject?
    let name: [UInt8]?

    init(_ object: BackingObject, name: [UInt8]? = nil) {
        (kept, held, self.name) = object.mayHoldDescriptor ? (nil, object, name) : (object, nil, name)
    }

    var object: BackingObject? { kept ?? held }
}

/// The last denials of a mount, however many there were, and those of its views.
///
/// Of what the mount itself refuses each user keeps a part (`UserDenials.swift`).
///
/// Views are asked by programs that nobody trusts. What they are refused lies apart from what the mount refuses, and of what there
/// is room for each view keeps its part, those that have ended one part together: one that asks again and again loses its own
/// denials, and no others.
final class DenialLog: Sendable {
    struct Kept {
        /// Given by the log.
        fileprivate(set) var sequence: UInt64 = 0
        /// The number of the view that refused; nil for the mount itself.
        var view: UInt64?
        var time: Int64
        /// Of the second that `time` is.
        var nanoseconds: UInt32 = 0
        var uid: UInt32
        var operation: Operation
        var inode: UInt64?
        var subject: DeniedSubject?
        var decision: Decision
        var rule: String?
    }
    /// Of one view, the oldest first.
    private struct Line {
        private var slots: [Kept] = []
        private var start = 0
        var count: Int { slots.count - start }
        var kept: ArraySlice<Kept> { slots[start...] }

        mutating func add(_ kept: Kept) { slots.append(kept) }

        /// Whether the other one is to be shortened before this one.
        func outlasts(_ other: Line) -> Bool {
            (count, other.kept.last?.sequence ?? 0) < (other.count, kept.last?.sequence ?? 0)
        }

        mutating func removeOldest() {
            start += 1
            guard start >= 256, start * 2 >= slots.count else { return }
            slots.removeFirst(start)
            start = 0
        }
    }
    private struct Lines {
        private var ofViews: [UInt64: Line] = [:]
        /// Of views that nobody holds any more.
        private var ofEnded: [UInt64: Line] = [:]
        private var count = 0
        private var countOfEnded = 0
        var kept: [Kept] { ofViews.values.flatMap(\.kept) + ofEnded.values.flatMap(\.kept) }

        mutating func add(_ kept: Kept, of view: UInt64) {
            if count < DenialLog.capacity { count += 1 } else { makeRoom() }
            ofViews[view, default: Line()].add(kept)
        }

        mutating func end(_ view: UInt64) {
            guard let line = ofViews.removeValue(forKey: view) else { return }
            ofEnded[view] = line
            countOfEnded += line.count
        }

        /// The largest part loses its oldest; of those that have ended the longest line, and of equal ones the one that was
        /// refused nothing for the longest time.
        private mutating func makeRoom() {
            let longest = ofViews.max { $0.value.count < $1.value.count }
            if let longest, longest.value.count >= countOfEnded {
                Self.shorten(&ofViews, longest.key)
            } else if let longest = ofEnded.max(by: { $0.value.outlasts($1.value) }) {
                Self.shorten(&ofEnded, longest.key)
                countOfEnded -= 1
            }
        }

        private static func shorten(_ lines: inout [UInt64: Line], _ view: UInt64) {
            lines[view]?.removeOldest()
            if lines[view]?.count == 0 { lines[view] = nil }
        }
    }

    static let capacity = 1000
    private let ofUsers = Lock(UserDenials(capacity: capacity))
    private let lines = Lock(Lines())
    private let sequence = Atomic<UInt64>(0)

    /// Texts are made when somebody asks; a refusal itself costs one slot.
    func add(_ refused: Kept) {
        var kept = refused
        kept.sequence = sequence.add(1, ordering: .relaxed).oldValue
        if let view = kept.view {
            lines.withLock { $0.add(kept, of: view) }
        } else {
            ofUsers.withLock { $0.add(kept) }
        }
    }

    /// The view has ended: from now on it has no part of its own.
    func end(_ view: UInt64) { lines.withLock { $0.end(view) } }

    /// The newest of all that are kept, the newest first; of one user alone if a uid is given.
    /// - Parameter end: of these, only those with a lower number, so that they can be had in parts.
    func last(_ limit: Int, of uid: UInt32?, before end: UInt64 = .max) -> [Denial] {
        var all = ofUsers.withLock { $0.kept } + lines.withLock { $0.kept }
        if let uid { all.removeAll { $0.uid != uid } }
        all.sort { $0.sequence > $1.sequence }
        return all.prefix(max(0, limit)).filter { $0.sequence < end }.map { kept in
            Denial(
                sequence: kept.sequence, time: kept.time, uid: kept.uid, operation: kept.operation.name,
                inode: kept.inode, errno: kept.decision.denial?.errno.name ?? "", stage: kept.decision.stage.name,
                rule: kept.rule, subject: kept.subject)
        }
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
