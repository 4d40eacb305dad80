import FuseSession
import LinuxSystem

/// Requests that change names: MKNOD, MKDIR, SYMLINK, LINK, UNLINK, RMDIR, RENAME.
final class NameOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let lookups: LookupOperations
    let durable: DurableCalls
    let creationNotes: CreationNotes?

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, lookups: LookupOperations,
        durable: DurableCalls, creationNotes: CreationNotes?
    ) {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.lookups, self.durable, self.creationNotes) = (
            loader, judge, kernel, held, share, lookups, durable, creationNotes
        )
    }

    /// Brings a new name to the disk, where the mount promises that. If it fails, the look-up of the entry is not counted.
    func finish(_ entry: Entry, in parent: NodeID) throws(Errno) -> Entry {
        do throws(Errno) { try durable.finishNames(in: parent, made: entry.node) } catch {
            lookups.forgetLookups(of: entry.node, 1)
            throw error
        }
        return entry
    }
}
