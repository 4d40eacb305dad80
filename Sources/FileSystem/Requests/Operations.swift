import BackingStore
import Identity
import MountOptions

/// The operations of one mount, by family. Each family receives the owners that it needs and nothing else.
struct Operations: Sendable {
    let lookups: LookupOperations
    let attributes: AttributeOperations
    let xattrs: XattrOperations
    let ioctls: IoctlOperations
    let names: NameOperations
    let opens: OpenOperations
    let directories: DirectoryOperations
    let bytes: DataOperations
    let gaps: GapReservations
    let held: HeldCalls
    let durable: DurableCalls

    init(
        _ kernel: KernelView, _ durable: DurableCalls, _ files: OpenFiles, _ options: MountOptions, _ accounts: AccountService,
        _ creationNotes: CreationNotes?, report: @escaping @Sendable (String) -> Void
    ) {
        self.durable = durable
        let (loader, judge, share) = (kernel.loader, kernel.judge, kernel.share)
        held = HeldCalls(loader: loader, share: share, backingIDs: files.backingIDs)
        gaps = GapReservations(
            loader: loader, kernel: kernel, held: held, share: share, files: files, options: options)
        lookups = LookupOperations(
            loader: loader, judge: judge, kernel: kernel, held: held, share: share)
        let refusals = ValueRefusals(report: report)
        let metadata = MetadataChanges(
            loader: loader, judge: judge, kernel: kernel, held: held, share: share, files: files, options: options,
            synchronous: durable.rule, refusals: refusals)
        attributes = AttributeOperations(
            loader: loader, judge: judge, kernel: kernel, held: held, share: share, gaps: gaps, metadata: metadata, files: files)
        xattrs = XattrOperations(
            loader: loader, judge: judge, kernel: kernel, held: held, share: share, gaps: gaps, metadata: metadata, options: options,
            accounts: accounts, refusals: refusals)
        ioctls = IoctlOperations(
            loader: loader, judge: judge, held: held, share: share, metadata: metadata, durable: durable,
            files: files)
        names = NameOperations(
            loader: loader, judge: judge, kernel: kernel, held: held, share: share, lookups: lookups, durable: durable,
            creationNotes: creationNotes)
        opens = OpenOperations(
            loader: loader, judge: judge, kernel: kernel, held: held, share: share, durable: durable, gaps: gaps,
            metadata: metadata, names: names, lookups: lookups, files: files)
        directories = DirectoryOperations(
            loader: loader, judge: judge, kernel: kernel, held: held, share: share, lookups: lookups, files: files)
        bytes = DataOperations(
            loader: loader, judge: judge, kernel: kernel, held: held, share: share, durable: durable, gaps: gaps, metadata: metadata,
            files: files)
    }
}
