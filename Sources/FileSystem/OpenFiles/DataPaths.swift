import Authorization
import BackingStore
import ControlProtocol
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization

// The path of a handle's data (docs/internals/data-path.md). No request tells of what the kernel reads and writes by itself, so the kernel gets the
// files on which no read or write would be judged.

extension ObjectFacts {
    /// Whether the kernel may read and write the object by itself, for every caller that opens it.
    ///
    /// False if some callers may only append: they can clear O_APPEND after opening, and a mapping has no such mode. False with set-id
    /// bits: a store into a mapping must clear them, and no request tells of it.
    var leavesNothingToJudge: Bool {
        kind == .file && mode.isDisjoint(with: [.setUser, .setGroup]) && appendingImpliesWriting
    }
}

/// Says what each handle requires of its data path, and gets the path from `DataPathTable`, which chooses it (docs/internals/data-path.md).
final class DataPaths: Sendable {
    let share: Share
    private let mounts: TreeMounts
    private let tree: BackingTree
    let judge: Judge
    let backingIDs: BackingIDs
    let accessTimes: AccessTimes
    private let synchronous: SynchronousRule
    private let report: @Sendable (String) -> Void
    private let hasReportedBusy = Atomic<Bool>(false)

    /// - Parameters:
    ///   - mounts: of the backing tree.
    ///   - tree: the backing tree.
    ///   - judge: of this mount.
    ///   - accessTimes: how the mount updates access times.
    ///   - synchronous: whether every write waits for the disk.
    ///   - report: writes a line for the administrator.
    init(
        _ mounts: TreeMounts, _ tree: BackingTree, _ judge: Judge, _ accessTimes: AccessTimes, _ synchronous: SynchronousRule,
        _ report: @escaping @Sendable (String) -> Void
    ) {
        (self.mounts, self.tree, self.judge, self.accessTimes) = (mounts, tree, judge, accessTimes)
        (self.synchronous, self.report) = (synchronous, report)
        share = mounts.share
        let isShared = tree.isShared(device: tree.root.key.device)
        backingIDs = BackingIDs(accessTimes, idle: isShared ? IdleBackingIDs.mostOfShared : IdleBackingIDs.most, report: report)
    }
}

extension DataPaths {
    /// Applies a remount's rule for access times. Open files keep theirs.
    func changeAccessTimes(_ rule: AccessTimeRule) {
        accessTimes.change(to: rule)
        backingIDs.closeAllIdle()
    }

    /// What a new handle requires of its data path.
    /// - Parameter mayRetry: the open is tried again if paths of other handles exclude it.
    func makeDemand(
        _ intent: OpenIntent, of object: ObjectState, isAppendOnly: Bool, clearsSetID: Bool, mayRetry: Bool = false,
        _ caller: Caller
    ) -> DataDemand {
        let writes = intent.contains(.write)
        // A write by passthrough clears set-id bits for every caller; one that leaves them must not take it (docs/reference/authorization.md 6.7).
        let keepsSetID = !clearsSetID && !object.facts.mode.isDisjoint(with: [.setUser, .setGroup])
        return DataDemand(
            // The answer to an open has been sent when the server refuses what an entry allows.
            allowsPassthrough: object.facts.leavesNothingToJudge && !tree.opensAsCaller(device: object.status.device),
            isUncached: clearsSetID,
            // After fcntl(2) has cleared O_APPEND, the backing file would still have it. It knows nothing of this mount's `sync`.
            mustReachDaemon: writes
                && (intent.contains(.append) || synchronous.coversWrites || keepsSetID
                    || caller.uid == 0 && mayNeedReserve(object.descriptor)),
            mustNotBeMapped: isAppendOnly, isMappable: writes && intent.contains(.read),
            // OPEN for execution has neither mode, and reads.
            reads: intent.contains(.read) || !writes, writes: writes, user: caller.uid, mayRetry: mayRetry)
    }

    /// Whether a write of root's may need the blocks that are reserved for root. A backing id has one credential for all callers, and
    /// that credential may not use them. So when free space runs out, root's writes go through the daemon (decision 14).
    private func mayNeedReserve(_ descriptor: SharedDescriptor) -> Bool {
        guard FileSystemUser.restrictedID != nil, let status = try? Syscall.fstatvfs(descriptor.rawValue),
            status.bfree > status.bavail
        else { return false }
        return status.bavail.multipliedReportingOverflow(by: max(status.frsize, 1)).partialValue < nearReserve
    }

    /// Joins the data path that the object's handles share.
    /// - Throws: `busy` and `claimed` as `DataPathTable.acquire` does.
    func acquireDataPath(_ object: ObjectState, _ demand: DataDemand) throws(Errno) -> DataPathReference {
        let path = try share.dataPaths.acquire(
            object.object.key, demand, on: backingIDs, everyMount: mounts.everyMountHasPassthrough(backingIDs),
            object.descriptor.rawValue)
        if object.status.nlink == 0 { share.dataPaths.noteRemoval(of: object.object.key) }
        return path
    }

    /// Reports EBUSY to the administrator, once: programs do not expect it of open(2).
    func noteBusy(_ node: Node) {
        if hasReportedBusy.exchange(true, ordering: .relaxed) { return }
        report(
            "inode \(node.object.key.inode): opened for reading and appending only while other programs hold it open in a "
                + "way by which it could be changed through a mapping (EBUSY); it can be opened so when they have closed it")
    }
}

/// Bytes of unreserved free space below which root's writes pass the daemon.
private let nearReserve: UInt64 = 1 << 30

extension Opening {
    init(_ handle: HandleID, _ path: DataPath, noFlush: Bool) {
        var flags: Flags = noFlush ? .noFlush : []
        switch path {
        case .direct, .directWithMappings: flags.insert(.directIO)
        case .cached, .passthrough: break
        }
        self.init(handle: handle, flags: flags, backingID: path.backingID)
    }
}

extension DataPaths {
    /// For `aclfs status`: opens by data path, backing ids, and held files.
    var status: StatusAnswer.DataPathStatus {
        .init(
            opensPassthrough: judge.counters.opensPassthrough.load(ordering: .relaxed),
            opensCached: judge.counters.opensCached.load(ordering: .relaxed),
            opensUncached: judge.counters.opensDirect.load(ordering: .relaxed),
            backingIDsOpened: backingIDs.opened.load(ordering: .relaxed), backingIDsIdle: backingIDs.idleCount,
            backingIDsClosed: backingIDs.closed.load(ordering: .relaxed),
            backingIDsRefused: backingIDs.refused.load(ordering: .relaxed), heldFiles: share.held.heldCount,
            sleepingThreads: share.held.threadCount)
    }
}
