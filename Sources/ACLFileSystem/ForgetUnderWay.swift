import Authorization
import BackingStore
import FuseSession
import LinuxSystem

// A directory that the kernel has forgotten and asks for again at once: its FORGET, for which nobody waits, comes behind the
// LOOKUP that was sent after it. Answered in that order the node would have, or keep, the mark of R7, and be forgotten once more
// a second later with all that is below it, under whoever is at work there. So the LOOKUP waits a moment, and finds a new
// node then (docs/coherence.md, "A FORGET that comes late").

extension FileSystem {
    /// The node of a directory that is looked up although the kernel should believe its name, or because it was dropped.
    func nodePerhapsForgotten(_ found: Loaded) -> Node? {
        guard found.object.kind == .directory, let node = nodes.known(found.object) else { return nil }
        let isLikely = node.revalidation.isPossible ? node.revalidation.mayAwaitForget() : cache.isAskedAgain(node)
        return isLikely ? node : nil
    }

    /// Waits until a node is forgotten, but not for long. Without any lock of ours; the kernel holds that of the directory above.
    func awaitForget(of node: Node) {
        let longest: UInt64 = 3_000_000
        let pause: UInt64 = 200_000
        let end = SystemTime.monotonic() + longest
        waiting {
            while nodes.find(node.id) != nil, SystemTime.monotonic() < end { SystemTime.sleep(nanoseconds: pause) }
        }
    }
}
