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

/// One mount: creates its owners (docs/internals/architecture.md "Owners"), starts and stops them. It decides nothing and answers no request.
///
/// An operation takes four steps: find the objects, authorize on their state, perform on the same objects, reply. `RequestDispatch.swift`
/// calls the operations.
///
/// Lock order: a file's exclusion (`WritableFile.swift`), the metadata lock (`Share.lock`), a view's `choosing`, then the mutexes of tables
/// and caches. The metadata lock is held for reading from the decision to the system call. A change of what decisions read (mode, owner,
/// flags, ACL) holds it for writing. So the state that is judged is the state that is acted on (invariant I5). The kernel's directory
/// locks hold names still.
public final class FileSystem: Sendable {
    let options: MountOptions
    let mounts: TreeMounts
    let loader: ObjectLoader
    public let judge: Judge
    let kernel: KernelView
    let files: OpenFiles
    let operations: Operations
    /// Looks up names of accounts for texts. Group membership has a service of its own, so that no text delays a decision.
    let accounts = AccountService()
    /// Notes of objects that are being created; nil if none are kept. A confined mount shares those of its base.
    let creationNotes: CreationNotes?
    /// The backing ids of files that another process has opened; nil: this one has served the mount from its beginning, or serves it by now.
    let inherited = Lock<Set<Int32>?>(nil)
    private let volumeFollower = Lock<(@Sendable (VolumeState) -> Void)?>(nil)
    /// Of a confined mount: the mount whose volume it shows.
    let base: FileSystem?
    /// Writes a line for the administrator.
    let report: @Sendable (String) -> Void

    /// - Parameters:
    ///   - tree: the backing tree.
    ///   - options: of the mount.
    ///   - mounts: the mounts of the same backing tree.
    ///   - profile: confines the mount; nil if nothing does.
    ///   - base: of a confined mount, the mount whose volume it shows.
    ///   - lent: of a confined mount, capabilities that count for root in it.
    ///   - identities: what a file says of identities from elsewhere; nil without one. A confined mount uses that of its base.
    ///   - audit: the log of decisions; ends with the mount.
    ///   - creationNotes: of objects that are being created; removed with the mount.
    ///   - tables: what another process left that has served the mount's connection; nil for a new mount.
    ///   - report: writes a line for the administrator.
    public init(
        tree: BackingTree, options: MountOptions, mounts: TreeMounts = TreeMounts(), profile: SandboxProfile? = nil,
        base: FileSystem? = nil, lent: Capabilities = [], identities: IdentityMap? = nil, audit: AuditLog? = nil,
        creationNotes: CreationNotes? = nil, resuming tables: SavedTables? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.options, self.mounts, self.base, self.report) = (options, mounts, base, report)
        let share = mounts.share
        self.creationNotes = base.map { $0.creationNotes } ?? creationNotes
        let generation = tables?.generation ?? UInt64.random(in: 1...UInt64(UInt32.max))
        loader = ObjectLoader(tree, profile.map { ViewPolicy($0, options.cache, tree, share.followed) }, share)
        judge = Judge(
            options, tree, base: base?.judge, identities: identities, audit: audit, profile: profile?.name, number: generation,
            lent: lent)
        let synchronous = base?.operations.durable.rule ?? SynchronousRule(options, tree)
        files = OpenFiles(
            mounts, tree, judge, options, base?.files.accessTimes ?? AccessTimes(options.accessTimes, tree), synchronous, report)
        kernel = KernelView(loader, judge, mounts, files, options.cache, generation: generation)
        operations = Operations(
            kernel, DurableCalls(synchronous, loader), files, options, accounts, self.creationNotes, report: report)
    }

    /// Attaches the notifier. Call once, before the session loop starts.
    /// - Parameters:
    ///   - notifier: to this mount's kernel.
    ///   - device: of the mount, from the mount table; nil if it is not there.
    /// - Throws: if a thread cannot be started, or the mount cannot join the others of its tree.
    public func connect(_ notifier: Notifier, device: UInt64?) throws(Errno) {
        files.backingIDs.attach(notifier)
        try kernel.start(notifier, device: device, report: report)
        do throws(Errno) { try join() } catch {
            // Joining failed. Disconnect, or the notifier's threads keep the descriptor open.
            disconnect()
            throw error
        }
    }

    /// Joins the mounts of the tree. Call before the first request.
    func join() throws(Errno) { try mounts.join(kernel, files.backingIDs, base: base?.kernel) }
    func leave() { mounts.leave(kernel) }

    /// Applies what was negotiated with the kernel in INIT.
    func begin(_ negotiated: Negotiated) {
        kernel.begin(negotiated, watchObstacle: startWatching(negotiated))
        if negotiated.passthrough { files.backingIDs.enable() }
        endInheritedExposures()
    }

    /// Begins to watch for changes elsewhere, if this mount can.
    /// - Returns: why it cannot.
    private func startWatching(_ negotiated: Negotiated) -> String? {
        if options.maskedKernelFeatures.contains("fanotify") { return "hidden by kernel_features" }
        if options.cache != .auto { return "not needed: cache=auto alone" }
        if !negotiated.epoch { return "it needs the epoch" }
        if loader.view != nil { return "a confined mount judges by names" }
        if geteuid() != 0 { return "only root is told of every change" }
        guard loader.tree.tellsOfEveryChange(loader.tree.root) else { return "not on this backing file system" }
        do throws(Errno) { try mounts.startWatching() } catch { return "the kernel refuses (\(error))" }
        return nil
    }

    /// Ends threads, logs and notes. The mount is gone.
    public func disconnect() {
        leave()
        judge.end()
        if base == nil { creationNotes?.end() }
        mounts.share.writableFiles.filler.drain(milliseconds: 1000)
        kernel.stop()
        files.backingIDs.closeAll()
    }

    /// Opens the log of decisions anew after the administrator has moved it away.
    public func reopenAudit() { judge.reopenAudit() }

    /// The volume's state in force.
    public var volume: VolumeState { judge.volume }

    /// Replaces what identities from elsewhere stand for, on this mount and its views. No decision runs meanwhile. Nothing that the kernel
    /// holds depends on it (docs/internals/coherence.md R2).
    /// - Parameter table: as the file has it now.
    public func changeIdentities(to table: IdentityTable) {
        mounts.share.lock.withWriteLock { judge.identities?.replace(by: table) }
    }

    /// Identities from elsewhere stay what they are.
    /// - Parameter problem: of the file that should have replaced them, for people.
    public func keepIdentities(_ problem: String) { judge.identities?.keep(problem) }

    /// Changes the volume's state. No decision runs meanwhile.
    /// - Parameter body: modifies the state.
    public func changeVolume(_ body: (inout VolumeState) -> Void) {
        mounts.share.lock.withWriteLock { judge.changeVolume(body) }
        volumeFollower.withLock { $0?(judge.volume) }
    }

    /// Calls a function with the volume's state after each change of it.
    public func followVolume(_ body: @escaping @Sendable (VolumeState) -> Void) { volumeFollower.withLock { $0 = body } }

    /// Call before the first request, for a mount that replaces one whose daemon died.
    /// - Parameter isInUse: whether anything of the dead mount is in use.
    public func follow(predecessor isInUse: @escaping @Sendable () -> Bool) { mounts.share.dataPaths.add(predecessor: isInUse) }

    /// Begins to ask for the kernel's flags of the mount where they decide.
    /// - Parameter apply: applies what the kernel has changed and `changeVolume` has not followed yet.
    public func followKernel(_ apply: @escaping @Sendable (inout VolumeState) -> Void) { judge.followKernel(apply) }

    /// Applies a remount's rule for access times. Open files keep theirs.
    /// - Parameter rule: the new rule.
    public func changeAccessTimes(_ rule: AccessTimeRule) { files.changeAccessTimes(rule) }

    /// Applies a remount's `sync` and `dirsync`. Open files keep their data path.
    /// - Parameters:
    ///   - writes: the mount has `sync`.
    ///   - names: it has `dirsync`.
    public func changeSynchronous(writes: Bool, names: Bool) { operations.durable.rule.change(writes: writes, names: names) }

    /// Why changes of the backing directory are not watched for; nil if they are.
    public var obstacleToWatching: String? { kernel.watchObstacle }

    /// Why passthrough is not used although the kernel supports it; nil if it is used.
    public var passthroughObstacle: String? { files.backingIDs.obstacle }

    /// Answers what would be decided on this mount.
    public var explainer: Explainer { Explainer(loader: loader, judge: judge, share: mounts.share, accounts: accounts) }
}
