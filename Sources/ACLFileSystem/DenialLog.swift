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

/// The last denials of a mount, however many there were, and those of its views.
///
/// Views are asked by programs that nobody trusts. What they are refused lies apart from what the mount refuses, and of what there
/// is room for each view keeps its part: one that asks again and again loses its own denials, and no others.
final class DenialLog: Sendable {
    private struct Kept {
        var sequence: UInt64
        /// nil: the mount itself.
        var view: UInt64?
        var time: Int64
        var uid: UInt32
        var operation: Operation
        var inode: UInt64?
        var decision: Decision
        var rule: String?
    }
    /// Of the mount itself.
    private struct Ring {
        var slots: [Kept] = []
        var next = 0

        mutating func add(_ kept: Kept) {
            if slots.count < DenialLog.capacity {
                slots.append(kept)
            } else {
                slots[next] = kept
                next = (next + 1) % DenialLog.capacity
            }
        }
    }
    /// Of one view, the oldest first.
    private struct Line {
        private var slots: [Kept] = []
        private var start = 0
        var count: Int { slots.count - start }
        var kept: ArraySlice<Kept> { slots[start...] }

        mutating func add(_ kept: Kept) { slots.append(kept) }

        mutating func removeOldest() {
            start += 1
            guard start >= 256, start * 2 >= slots.count else { return }
            slots.removeFirst(start)
            start = 0
        }
    }
    private struct Lines {
        var ofViews: [UInt64: Line] = [:]
        var count = 0

        mutating func add(_ kept: Kept, of view: UInt64) {
            if count < DenialLog.capacity {
                count += 1
            } else if let longest = ofViews.max(by: { $0.value.count < $1.value.count })?.key {
                ofViews[longest]?.removeOldest()
                if ofViews[longest]?.count == 0 { ofViews[longest] = nil }
            }
            ofViews[view, default: Line()].add(kept)
        }
    }

    static let capacity = 1000
    private let ring = Mutex(Ring())
    private let lines = Mutex(Lines())
    private let sequence = Atomic<UInt64>(0)

    /// Texts are made when somebody asks; a refusal itself costs one slot.
    /// - Parameter view: the number of the view that refused; nil for the mount itself.
    func add(
        _ operation: Operation, _ decision: Decision, uid: UInt32, inode: UInt64?, rule: String?, time: Int64,
        view: UInt64? = nil
    ) {
        let number = sequence.add(1, ordering: .relaxed).oldValue
        let kept = Kept(
            sequence: number, view: view, time: time, uid: uid, operation: operation, inode: inode, decision: decision,
            rule: rule)
        if let view {
            lines.withLock { $0.add(kept, of: view) }
        } else {
            ring.withLock { $0.add(kept) }
        }
    }

    /// The newest ones first; of one user alone if a uid is given. Where there are more than are wanted, the mount and each of
    /// its views have an equal part, so that no view hides what others were refused.
    func last(_ limit: Int, of uid: UInt32?) -> [Denial] {
        var all = ring.withLock { $0.slots }
        lines.withLock { lines in
            for line in lines.ofViews.values { all += line.kept }
        }
        if let uid { all.removeAll { $0.uid != uid } }
        all.sort { $0.sequence > $1.sequence }
        return Self.fairly(all, max(0, limit)).map { kept in
            Denial(
                sequence: kept.sequence, time: kept.time, uid: kept.uid, operation: kept.operation.name,
                inode: kept.inode, errno: kept.decision.denial?.errno.name ?? "", stage: kept.decision.stage.name,
                rule: kept.rule)
        }
    }

    private static func fairly(_ all: [Kept], _ limit: Int) -> [Kept] {
        guard all.count > limit else { return all }
        let part = max(1, limit / Set(all.map(\.view)).count)
        var taken: [UInt64?: Int] = [:]
        var (chosen, others): ([Kept], [Kept]) = ([], [])
        for kept in all {
            let count = taken[kept.view, default: 0]
            if count < part, chosen.count < limit {
                taken[kept.view] = count + 1
                chosen.append(kept)
            } else {
                others.append(kept)
            }
        }
        chosen += others.prefix(limit - chosen.count)
        return chosen.sorted { $0.sequence > $1.sequence }
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
