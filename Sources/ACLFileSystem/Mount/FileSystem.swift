import ACLFormats
import Authorization
import BackingStore
import FuseSession
import Glibc
import Identity
import LinuxSystem
import MountOptions
import SandboxPolicy
import Synchronization

/// One mount: its owners, put together, started and stopped. It decides nothing and answers no request.
///
/// An operation takes four steps: find the objects, authorize on their state, perform on the same
/// objects, reply. `RequestDispatch.swift` connects the kernel's requests to them.
///
/// Lock order: a file's exclusion (`WritableFile.swift`), `metadataLock`, a view's `choosing`, then the mutexes of tables and
/// caches; never the other way round. The metadata lock is
/// held for reading from the decision to the act, and for writing by whatever changes what decisions
/// read (mode, owner, flags, ACL), so that the state that was judged is the state that is acted on
/// (invariant I5). Names are held still by the kernel's own directory locks.
public final class FileSystem: Sendable {
    let options: MountOptions
    let mounts: TreeMounts
    let loader: ObjectLoader
    public let judge: Judge
    let kernel: KernelView
    let data: DataPaths
    let handles = HandleTable()
    let operations: Operations
    /// Names for texts. Membership has threads of its own, so that texts never stand in its way.
    let accounts = AccountService()
    /// Of what is being created; nil: none are kept. Those of the mount for its views, too.
    let creationNotes: CreationNotes?
    /// Of a view: the mount whose volume this is, too.
    let base: FileSystem?
    /// Writes a line for the administrator.
    let report: @Sendable (String) -> Void

    /// - Parameters:
    ///   - mounts: the other mounts of the same backing tree.
    ///   - audit: ended with the mount.
    ///   - creationNotes: removed with the mount.
    public init(
        tree: BackingTree, options: MountOptions, mounts: TreeMounts = TreeMounts(), profile: SandboxProfile? = nil,
        base: FileSystem? = nil, audit: AuditLog? = nil, creationNotes: CreationNotes? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.options, self.mounts, self.base, self.report) = (options, mounts, base, report)
        let share = mounts.share
        self.creationNotes = base.map { $0.creationNotes } ?? creationNotes
        let generation = UInt64.random(in: 1...UInt64(UInt32.max))
        loader = ObjectLoader(tree, profile.map { View($0, options.cache) }, share)
        judge = Judge(options, tree, base: base?.judge, audit: audit, profile: profile?.name, number: generation)
        kernel = KernelView(loader, judge, mounts, handles, options.cache, generation: generation)
        data = DataPaths(
            mounts, judge, base?.data.accessTimes ?? AccessTimes(options.accessTimes, tree),
            isShared: tree.isShared(device: tree.root.key.device), report)
        operations = Operations(kernel, data, handles, options, accounts, self.creationNotes)
    }

    /// Attaches the notifier. Call once, before the session loop starts.
    /// - Parameter device: of the mount, from the mount table; nil if it was not found there.
    public func connect(_ notifier: Notifier, device: UInt64?) throws(Errno) {
        data.backingIDs.attach(notifier)
        try kernel.start(notifier, device: device)
        do throws(Errno) { try join() } catch {
            // Joining failed. Disconnect, or the notifier's threads keep the descriptor open.
            disconnect()
            throw error
        }
    }

    /// Before the first request.
    func join() throws(Errno) { try mounts.join(kernel, data.backingIDs, base: base?.kernel) }
    func leave() { mounts.leave(kernel) }

    /// The kernel has introduced itself.
    func begin(_ negotiated: Negotiated) {
        kernel.begin(negotiated)
        if negotiated.passthrough { data.backingIDs.enable() }
    }

    /// The mount is gone.
    public func disconnect() {
        leave()
        judge.end()
        if base == nil { creationNotes?.end() }
        mounts.share.writableFiles.filler.drain(milliseconds: 1000)
        kernel.stop()
        data.backingIDs.closeAll()
    }

    /// The administrator has moved the log of decisions away.
    public func reopenAudit() { judge.reopenAudit() }

    /// The volume's state in force.
    public var volume: VolumeState { judge.volume }

    /// Changes the volume's state between two decisions, never within one.
    public func changeVolume(_ body: (inout VolumeState) -> Void) {
        mounts.share.lock.withWriteLock { judge.changeVolume(body) }
    }

    /// The flags of the mount have changed. Files that are open keep what they have.
    public func changeAccessTimes(_ rule: AccessTimeRule) { data.changeAccessTimes(rule) }

    /// Why the kernel moves no data although it agreed to; nil if it does.
    public var passthroughObstacle: String? { data.backingIDs.obstacle }

    /// Answers what would be decided.
    public var explainer: Explainer { Explainer(loader: loader, judge: judge, share: mounts.share, accounts: accounts) }
}
