import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

// A directory that the kernel has forgotten and asks for again at once: its FORGET, for which nobody waits, comes behind the
// LOOKUP that was sent after it. Answered in that order the node would have, or keep, the mark of R7, and be forgotten once more
// a second later with all that is below it, under whoever is at work there. So the LOOKUP waits a moment, and finds a new
// node then (docs/coherence.md "A delayed FORGET").

/// When there may be FORGETs to wait for, and how many look-ups wait.
final class ForgetWaits: Sendable {
    /// Nanoseconds behind a loss within which somebody who was at work there has asked again.
    private static let longest: UInt64 = 50_000_000
    private static let mostAtATime = 8

    /// Monotonic nanoseconds when we last made the kernel lose entries, by a bump or by dropping a name.
    private let lastLoss = Atomic<UInt64>(0)
    /// How many look-ups wait now.
    let waiting = Atomic<Int>(0)

    func noteLoss() { lastLoss.store(SystemTime.monotonic(), ordering: .relaxed) }

    var isAnyLikely: Bool {
        let last = lastLoss.load(ordering: .relaxed)
        return last != 0 && SystemTime.monotonic() < last + Self.longest
    }

    /// - Returns: false if so many wait that requests could find no thread.
    func begin() -> Bool {
        if waiting.add(1, ordering: .relaxed).newValue <= Self.mostAtATime { return true }
        end()
        return false
    }

    func end() { waiting.subtract(1, ordering: .relaxed) }
}

extension FileSystem {
    /// Waits for the FORGET of a directory that is looked up, if one is likely, but not for long, and with no lock of ours; the kernel may
    /// hold that of the directory above.
    /// - Returns: the node for which it waited. If the kernel knows it still, the question may have been put without a lock (R7).
    func awaitForget(of name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller) -> Node? {
        guard cache.forgets.isAnyLikely, let node = nodePerhapsForgotten(name, in: parent, caller), cache.forgets.begin() else {
            return nil
        }
        defer { cache.forgets.end() }
        let longest: UInt64 = 3_000_000
        let pause: UInt64 = 200_000
        let end = SystemTime.monotonic() + longest
        waiting {
            while isKnown(node), SystemTime.monotonic() < end { SystemTime.sleep(nanoseconds: pause) }
        }
        return node
    }

    func isKnown(_ node: Node) -> Bool { nodes.find(node.id) === node }

    /// The node of a directory that is looked up although the kernel should believe its name, or that has the mark and was just dropped.
    /// Decides for itself alone whether the caller may find it; what is answered is decided, and counted, behind the wait.
    private func nodePerhapsForgotten(_ name: UnsafePointer<CChar>, in parent: NodeID, _ caller: Caller) -> Node? {
        metadataLock.withReadLock {
            guard let directory = try? load(parent), !directory.isOvermounted, judge.everybodyHolds(.search, on: directory),
                judge.decide(.lookup, Operands(finding: name, in: directory), caller).isAllowed,
                let found = try? child(name, of: directory), found.object.kind == .directory, let node = nodes.known(found.object)
            else { return nil }
            let isLikely = node.revalidation.isPossible ? node.revalidation.mayAwaitForget() : cache.isAskedAgain(node)
            return isLikely ? node : nil
        }
    }
}
