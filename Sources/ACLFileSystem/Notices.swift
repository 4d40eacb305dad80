import FuseSession
import LinuxSystem

/// The thread for notifications that take a lock of the kernel's on a directory. They wait for every unanswered
/// request there, so no thread that answers requests may send them (R15).
final class Notices: Sendable {
    private enum Notice: Sendable {
        case drop(ForgettingQueue.Candidate)
        case expire(HandedOutNames, then: @Sendable () -> Void)
        case settle(directory: NodeID, then: @Sendable () -> Void)
    }

    private let queue = WorkQueue<Notice>(capacity: 1024)

    /// - Parameter notifier: to the kernel whose locks are taken.
    func start(_ notifier: Notifier) throws(Errno) {
        let queue = queue
        _ = try Thread.start(name: "aclfs-notices") {
            while let notice = queue.next() {
                switch notice {
                case .drop(let candidate):
                    notifier.invalidateEntry(candidate.name, in: candidate.parent)
                    candidate.node.revalidation.attemptIsOver()
                case .expire(let names, let then):
                    names.forEach { notifier.expireEntry($0.bytes, in: $0.parent) }
                    then()
                case .settle(let directory, let then):
                    // A name that cannot exist: only the directory's lock is wanted (R4).
                    notifier.expireEntry("/", in: directory)
                    then()
                }
            }
        }
    }

    func stop() { queue.close() }

    /// Has the kernel forget a name, if it has time; what is not done now is asked for again later.
    func drop(_ candidate: ForgettingQueue.Candidate) {
        if !queue.add(.drop(candidate)) { candidate.node.revalidation.attemptIsOver() }
    }

    /// Has each of these names looked up again, then calls `then`.
    func expire(_ names: HandedOutNames, then: @escaping @Sendable () -> Void) {
        queue.add(.expire(names, then: then), evenIfFull: true)
    }

    /// Calls `then` when the kernel has used every listing of the directory that was answered before (R4).
    func settleListings(of directory: NodeID, then: @escaping @Sendable () -> Void) {
        if !queue.add(.settle(directory: directory, then: then), evenIfFull: true) { then() }
    }
}
