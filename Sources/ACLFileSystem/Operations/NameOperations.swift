/// Requests that change names: MKNOD, MKDIR, SYMLINK, LINK, UNLINK, RMDIR, RENAME.
final class NameOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let lookups: LookupOperations
    let creationNotes: CreationNotes?

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, lookups: LookupOperations,
        creationNotes: CreationNotes?
    ) {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.lookups, self.creationNotes) = (
            loader, judge, kernel, held, share, lookups, creationNotes
        )
    }
}
