import FuseSession
import LinuxSystem
import Synchronization

/// The thread for notifications that take a lock of the kernel's on a directory. They wait for every unanswered
/// request there, so no thread that answers requests may send them (R15).
final class Notices: Sendable {
    private enum Notice: Sendable {
        case drop(ForgettingQueue.Candidate)
        case dropContent(NodeID)
        case expire(HandedOutNames, then: @Sendable () -> Void)
    }

    private let queue = WorkQueue<Notice>(capacity: 1024)
    private let notifier = Mutex<Notifier?>(nil)

    /// - Parameter notifier: to the kernel whose locks are taken.
    func start(_ notifier: Notifier) throws(Errno) {
        self.notifier.withLock { $0 = notifier }
        let queue = queue
        _ = try Thread.start(name: "aclfs-notices") {
            while let notice = queue.next() {
                switch notice {
                case .drop(let candidate):
                    notifier.invalidateEntry(candidate.name, in: candidate.parent)
                    candidate.node.revalidation.attemptIsOver()
                case .dropContent(let node): notifier.invalidateContent(of: node)
                case .expire(let names, let then):
                    names.forEach { notifier.expireEntry($0.bytes, in: $0.parent) }
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

    /// Has the kernel read a file's bytes anew.
    func dropContent(of node: NodeID) { queue.add(.dropContent(node), evenIfFull: true) }

    /// Has each of these names looked up again, then calls `then`.
    func expire(_ names: HandedOutNames, then: @escaping @Sendable () -> Void) {
        queue.add(.expire(names, then: then), evenIfFull: true)
    }

    /// Returns when the kernel has used every listing of the directory that was answered before (R4). Only from a
    /// thread that answers no requests.
    func awaitListings(of directory: NodeID) {
        // A name that cannot exist: only the directory's lock is wanted.
        notifier.withLock { $0 }?.expireEntry("/", in: directory)
    }

    /// As `expire`, and returns when it is done. Only from a thread that answers no requests.
    func expireNow(_ names: HandedOutNames) {
        guard let notifier = notifier.withLock({ $0 }) else { return }
        names.forEach { notifier.expireEntry($0.bytes, in: $0.parent) }
    }
}
