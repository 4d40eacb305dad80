import ACLFormats
import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization

// Which way the data of a handle may go (docs/data-path.md). What the kernel does by itself nobody judges, so that is
// left to it for which there is nothing to judge.

extension ObjectFacts {
    /// Whether the kernel may read and write the object without us, for everybody who opens it.
    ///
    /// Not if some may only append: O_APPEND can be cleared after opening, and a mapping knows none. Not with set-id bits:
    /// a store into a mapping is a write that no request tells of.
    var leavesNothingToJudge: Bool {
        kind == .file && mode.isDisjoint(with: [.setUser, .setGroup]) && appendingImpliesWriting
    }
}

/// Chooses the way of each handle's data, and tells the kernel which backing files it may reach by itself (docs/data-path.md).
final class DataPaths: Sendable {
    let share: Share
    private let mounts: TreeMounts
    let judge: Judge
    let backingIDs: BackingIDs
    let accessTimes: AccessTimes
    private let report: @Sendable (String) -> Void
    private let hasReportedBusy = Atomic<Bool>(false)

    /// - Parameters:
    ///   - isShared: other hosts share the files.
    ///   - report: writes a line for the administrator.
    init(
        _ mounts: TreeMounts, _ judge: Judge, _ accessTimes: AccessTimes, isShared: Bool, _ report: @escaping @Sendable (String) -> Void
    ) {
        (self.mounts, self.judge, self.accessTimes, self.report) = (mounts, judge, accessTimes, report)
        share = mounts.share
        backingIDs = BackingIDs(accessTimes, idle: isShared ? IdleBackingIDs.mostOfShared : IdleBackingIDs.most, report: report)
    }
}

extension DataPaths {
    /// The flags of the mount have changed. Files that are open keep what they have.
    func changeAccessTimes(_ rule: AccessTimeRule) {
        accessTimes.change(to: rule)
        backingIDs.dropIdle()
    }

    /// What a handle about to be made asks of its path.
    func makeDemand(
        _ intent: OpenIntent, of object: ObjectState, isAppendOnly: Bool, clearsSetID: Bool, mayRetry: Bool = false,
        _ caller: Caller
    ) -> DataDemand {
        let writes = intent.contains(.write)
        // The kernel's own writing clears set-id bits, whoever writes; root's leaves them (docs/authorization.md 6.7).
        let hasSetID = !object.facts.mode.isDisjoint(with: [.setUser, .setGroup])
        return DataDemand(
            allowsPassthrough: object.facts.leavesNothingToJudge, isUncached: clearsSetID,
            // Once O_APPEND is cleared (fcntl(2)) the kernel would still add at the end of the backing file.
            isSeen: writes
                && (intent.contains(.append) || caller.uid == 0 && (hasSetID || mayNeedReserve(object.descriptor))),
            mustNotBeMapped: isAppendOnly, isMappable: writes && intent.contains(.read),
            // Only executing opens for neither, and that reads.
            reads: intent.contains(.read) || !writes, writes: writes, user: caller.uid, mayComeAgain: mayRetry)
    }

    /// Root may use what the file system keeps for it, but a backing id has one user for all who open the file, and that
    /// is nobody. So where the room for everybody comes to its end, root's writes come here (decision 14).
    private func mayNeedReserve(_ descriptor: SharedDescriptor) -> Bool {
        guard FileSystemUser.restrictedID != nil, let status = try? Syscall.fstatvfs(descriptor.rawValue),
            status.bfree > status.bavail
        else { return false }
        return status.bavail.multipliedReportingOverflow(by: max(status.frsize, 1)).partialValue < nearReserve
    }

    /// Joins the way of an object's data.
    /// - Throws: `busy` as `DataPathTable.join` does.
    func joinDataPath(_ object: ObjectState, _ demand: DataDemand) throws(Errno) -> DataPathShare {
        let path = try share.dataPaths.join(
            object.object.key, demand, on: backingIDs, everyMount: mounts.everyMountHasPassthrough(backingIDs),
            object.descriptor.rawValue)
        if object.status.nlink == 0 { share.dataPaths.noteRemoval(of: object.object.key) }
        return path
    }

    /// Once: it is no answer that a program expects of open(2).
    func noteBusy(_ node: Node) {
        if hasReportedBusy.exchange(true, ordering: .relaxed) { return }
        report(
            "inode \(node.object.key.inode): opened for reading and appending only while other programs hold it open in a "
                + "way by which it could be changed through a mapping (EBUSY); it can be opened so when they have closed it")
    }
}

/// Room for everybody, in bytes, below which root's writes are not left to the kernel.
private let nearReserve: UInt64 = 1 << 30

extension Opening {
    init(_ handle: HandleID, _ path: DataPath, noFlush: Bool) {
        var flags: Flags = noFlush ? .noFlush : []
        switch path {
        case .direct, .seenPassthrough: flags.insert(.directIO)
        case .cached, .passthrough: break
        }
        self.init(handle: handle, flags: flags, backingID: path.backingID)
    }
}

extension DataPaths {
    /// For `aclfs status`: opens by the way of their data, the kernel's ids of backing files, and files that are held.
    var members: [JSON.Member] {
        func number(_ value: UInt64) -> JSON { .integer(Int64(clamping: value)) }
        return [
            .init("opens_passthrough", number(judge.counters.opensPassthrough.load(ordering: .relaxed))),
            .init("opens_cached", number(judge.counters.opensCached.load(ordering: .relaxed))),
            .init("opens_uncached", number(judge.counters.opensSeen.load(ordering: .relaxed))),
            .init("backing_ids_opened", number(backingIDs.opened.load(ordering: .relaxed))),
            .init("backing_ids_idle", number(UInt64(backingIDs.idleCount))),
            .init("backing_ids_closed", number(backingIDs.closed.load(ordering: .relaxed))),
            .init("backing_ids_refused", number(backingIDs.refused.load(ordering: .relaxed))),
            .init("held_files", number(UInt64(share.held.heldCount))),
            .init("sleeping_threads", number(UInt64(share.held.threadCount))),
        ]
    }
}
