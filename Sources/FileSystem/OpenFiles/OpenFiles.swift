import ACLFormats
import Authorization
import BackingStore
import ControlProtocol
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization

/// The open files and directories of one mount: what was granted when they were opened, and how their bytes travel
/// (docs/internals/data-path.md). Numbers of handles are never reused.
///
/// No request tells of what the kernel reads and writes by itself, so the kernel gets the files on which no read or write would be judged. This
/// type says what a handle requires of its data path; `DataPathTable` chooses the path.
final class OpenFiles: Sendable {
    private enum OpenObject {
        case file(OpenFile)
        case directory(OpenDirectory)
    }
    private struct State {
        var objects: [HandleID: OpenObject] = [:]
        /// Those with `isHandedOver`. A node has one at most: the handle that made its object.
        var handedOver: [ObjectIdentifier: OpenFile] = [:]
        var next: UInt64 = 1
        /// What outlives this process; nil: nothing does.
        var live: LiveTables?
        /// Handles that another process has made, by the requests that they were made for: until their answers are known to have arrived.
        var creators: [UInt64: HandleID] = [:]

        /// - Parameter creator: the number of the request that it is made for.
        mutating func note(_ object: OpenObject, _ id: HandleID, creator: UInt64) {
            guard let live else { return }
            live.note(nextHandle: next)
            switch object {
            case .file(let file): file.slot = live.add(file.save(id), creator: creator)
            case .directory(let directory):
                directory.slot = live.add(
                    directory: id.rawValue, node: directory.node.id.rawValue, directory.descriptor.rawValue, user: directory.charge.uid,
                    payer: directory.charge.payer, wasListedBefore: directory.wasListedBefore, creator: creator)
            }
        }
    }
    private let state = Lock(State())
    private let share: Share
    private let mounts: TreeMounts
    private let tree: BackingTree
    private let judge: Judge
    private let options: MountOptions
    let backingIDs: BackingIDs
    let accessTimes: AccessTimes
    private let synchronous: SynchronousRule
    private let report: @Sendable (String) -> Void
    private let hasReportedBusy = Atomic<Bool>(false)
    /// Until then the root's file system is not asked for its free space again, in monotonic nanoseconds.
    private let roomyUntil = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - mounts: of the backing tree.
    ///   - tree: the backing tree.
    ///   - judge: of this mount.
    ///   - options: of this mount.
    ///   - accessTimes: how the mount updates access times.
    ///   - synchronous: whether every write waits for the disk.
    ///   - report: writes a line for the administrator.
    init(
        _ mounts: TreeMounts, _ tree: BackingTree, _ judge: Judge, _ options: MountOptions, _ accessTimes: AccessTimes,
        _ synchronous: SynchronousRule, _ report: @escaping @Sendable (String) -> Void
    ) {
        (self.mounts, self.tree, self.judge, self.options, self.accessTimes) = (mounts, tree, judge, options, accessTimes)
        (self.synchronous, self.report) = (synchronous, report)
        share = mounts.share
        let isShared = tree.isShared(device: tree.root.key.device)
        backingIDs = BackingIDs(accessTimes, idle: isShared ? IdleBackingIDs.mostOfShared : IdleBackingIDs.most, report: report)
    }

    /// Applies a remount's rule for access times. Open files keep theirs.
    func changeAccessTimes(_ rule: AccessTimeRule) {
        accessTimes.change(to: rule)
        backingIDs.closeAllIdle()
    }

    /// For `aclfs status`: opens by data path, backing ids, and held files.
    var status: [JSON.Member] {
        [
            .init(.opensPassthrough, judge.counters.opensPassthrough.load(ordering: .relaxed)),
            .init(.opensCached, judge.counters.opensCached.load(ordering: .relaxed)),
            .init(.opensUncached, judge.counters.opensDirect.load(ordering: .relaxed)),
            .init(.backingIDsOpened, backingIDs.opened.load(ordering: .relaxed)), .init(.backingIDsIdle, backingIDs.idleCount),
            .init(.backingIDsClosed, backingIDs.closed.load(ordering: .relaxed)),
            .init(.backingIDsRefused, backingIDs.refused.load(ordering: .relaxed)), .init(.heldFiles, share.held.heldCount),
            .init(.sleepingThreads, share.held.threadCount),
        ]
    }
}

// MARK: Handles

extension OpenFiles {
    /// Takes the entries of listings that the kernel may not have used yet, to be invalidated singly.
    func takeUnusedNames() -> ExposedEntries {
        let listings = state.withLock { state in
            state.objects.values.compactMap { object -> UnusedListing? in
                if case .directory(let directory) = object { directory.listing } else { nil }
            }
        }
        var names = ExposedEntries()
        for listing in listings { names.append(listing.takeUnused()) }
        return names
    }

    /// Adds an open file.
    /// - Parameter creator: the number of the request that it is made for.
    /// - Returns: the answer to the request that opened it.
    func add(_ file: OpenFile, for creator: UInt64) -> Opening {
        let path = file.dataPath.path
        judge.counters.count(path)
        var flags: Opening.Flags = []
        // FLUSH only has to reserve gaps.
        if !file.isWritable || options.zeroFill == .off { flags.insert(.noFlush) }
        switch path {
        case .direct, .directWithMappings: flags.insert(.directIO)
        case .cached, .passthrough: break
        }
        return Opening(handle: add(.file(file), for: creator), flags: flags, backingID: path.backingID)
    }

    func add(_ directory: OpenDirectory, for creator: UInt64) -> HandleID { add(.directory(directory), for: creator) }

    private func add(_ object: OpenObject, for creator: UInt64) -> HandleID {
        // The id is chosen under the lock, so that no two handles get the same one.
        state.withLock { state in
            let id = HandleID(state.next)
            state.next += 1
            state.objects[id] = object
            if case .file(let file) = object, file.isHandedOver { state.handedOver[ObjectIdentifier(file.node)] = file }
            state.note(object, id, creator: creator)
            return id
        }
    }

    /// From now on notes everything in tables that outlive this process. Call before the first request that is answered.
    func follow(_ live: LiveTables) {
        state.withLock { state in
            state.live = live
            live.note(nextHandle: state.next)
            let creators = Dictionary(state.creators.map { ($1, $0) }, uniquingKeysWith: max)
            for (id, object) in state.objects { state.note(object, id, creator: creators[id] ?? 0) }
        }
        backingIDs.follow(live)
    }

    func inherit(creators: [UInt64: UInt64]) { state.withLock { $0.creators = creators.mapValues { HandleID($0) } } }

    /// The handle that another process has made for a request that is answered anew.
    func takeHandle(madeFor request: UInt64) -> HandleID? { state.withLock { $0.creators.removeValue(forKey: request) } }

    func save() -> (files: [SavedFile], directories: [SavedDirectory], next: UInt64) {
        let (objects, next) = state.withLock { ($0.objects, $0.next) }
        var (files, directories): ([SavedFile], [SavedDirectory]) = ([], [])
        for (id, object) in objects {
            switch object {
            case .file(let file): files.append(file.save(id))
            case .directory(let directory): directories.append(directory.save(id))
            }
        }
        return (files, directories, next)
    }

    /// Call before the first request, when the nodes are there.
    /// - Parameters:
    ///   - saved: the tables.
    ///   - nodes: of the mount.
    ///   - cache: of the mount.
    ///   - descriptors: that are left open.
    ///   - writableFiles: by the numbers of their nodes.
    func restore(
        _ saved: SavedTables, _ nodes: NodeTable, _ cache: KernelCache, _ descriptors: InheritedDescriptors,
        _ writableFiles: [UInt64: WritableFile]
    ) throws(SavedProblem) {
        backingIDs.restore(saved.backingIDs)
        share.dataPaths.assumeAnyMapped()
        for saved in saved.files {
            guard let node = nodes.find(NodeID(saved.node)), let durability = Durability(rawValue: saved.durability) else { throw .isCut }
            let place = try descriptors.take(saved.pathDescriptor)
            let status = try? Syscall.statx(place.rawValue, flags: AtFlag.dontSync)
            guard let status, status.device == node.object.key.device, status.inode == node.object.key.inode,
                let path = share.dataPaths.adopt(node.object.key, saved.path, on: backingIDs, by: saved.user, isRemoved: status.nlink == 0)
            else { throw .isCut }
            let mode = HandleMode(rawValue: saved.mode)
            let opened = try descriptors.takeIfAny(saved.descriptor)
            if let opened { try Self.check(opened, is: node) }
            let file = OpenFile(
                node: node, pathDescriptor: place, descriptor: opened, accessTimes,
                share.handleQuota.chargeOpen(saved.user, to: saved.payer), path, isReadable: mode.contains(.readable),
                isWritable: mode.contains(.writable), isAppendOnly: mode.contains(.appendOnly), isHandedOver: saved.isHandedOver, durability
            )
            if saved.isCounted, let writableFile = writableFiles[saved.node] {
                _ = share.writableFiles.retain(writableFile.key)
                file.attach(writableFile)
            }
            add(.file(file), as: HandleID(saved.id))
        }
        for saved in saved.directories {
            guard let node = nodes.find(NodeID(saved.node)) else { throw .isCut }
            let descriptor = try descriptors.take(saved.descriptor)
            try Self.check(descriptor, is: node)
            var position = ListingPosition(
                tree.directoryCookies(of: node.object, descriptor), CookieRoom.Charge(share.cookieRoom, payer: saved.payer))
            guard position.restore(last: saved.last, second: saved.second, numbered: saved.numbered) else { throw .isCut }
            add(
                .directory(
                    OpenDirectory(
                        saved, node, descriptor, position, share.handleQuota.chargeOpen(saved.user, to: saved.payer), cache: cache)),
                as: HandleID(saved.id))
        }
        state.withLock { $0.next = saved.nextHandle }
    }

    private static func check(_ descriptor: SharedDescriptor, is node: Node) throws(SavedProblem) {
        guard let status = try? Syscall.statx(descriptor.rawValue, flags: AtFlag.dontSync), status.device == node.object.key.device,
            status.inode == node.object.key.inode
        else { throw .isCut }
    }

    private func add(_ object: OpenObject, as id: HandleID) {
        state.withLock { state in
            state.objects[id] = object
            if case .file(let file) = object, file.isHandedOver { state.handedOver[ObjectIdentifier(file.node)] = file }
        }
    }

    func file(_ id: HandleID) throws(Errno) -> OpenFile {
        guard case .file(let file) = state.withLock({ $0.objects[id] }) else { throw .badf }
        return file
    }

    func directory(_ id: HandleID) throws(Errno) -> OpenDirectory {
        guard case .directory(let directory) = state.withLock({ $0.objects[id] }) else { throw .badf }
        return directory
    }

    /// The node of a handle of a file or directory.
    func node(_ id: HandleID) throws(Errno) -> Node {
        switch state.withLock({ $0.objects[id] }) {
        case .file(let file): return file.node
        case .directory(let directory): return directory.node
        case nil: throw .badf
        }
    }

    func hasWritableFile(of node: Node, openedBy uid: UInt32) -> Bool {
        state.withLock { state in
            state.objects.values.contains { object in
                guard case .file(let file) = object else { return false }
                return file.node === node && file.isWritable && file.openedBy == uid
            }
        }
    }

    /// Whether any file is open for writing.
    var hasWritableFile: Bool {
        state.withLock { state in
            state.objects.values.contains { object in
                if case .file(let file) = object { file.isWritable } else { false }
            }
        }
    }

    /// The open handle by which this user made the object of a node and gave it away.
    func handedOver(_ node: Node, by uid: UInt32) -> OpenFile? {
        state.withLock { $0.handedOver[ObjectIdentifier(node)] }.flatMap { $0.openedBy == uid ? $0 : nil }
    }

    /// - Returns: the file, if it was one.
    @discardableResult
    func remove(_ id: HandleID) -> OpenFile? {
        state.withLock { state in
            let object = state.objects.removeValue(forKey: id)
            if case .directory(let directory) = object { state.live?.remove(handleAt: directory.slot) }
            guard case .file(let file) = object else { return nil }
            state.live?.remove(handleAt: file.slot)
            if file.isHandedOver { state.handedOver.removeValue(forKey: ObjectIdentifier(file.node)) }
            return file
        }
    }
}

// MARK: Opening

extension OpenFiles {
    /// Opens an object that was judged, for a handle.
    /// - Parameters:
    ///   - flags: of the request.
    ///   - quota: the descriptor is charged to it.
    ///   - isAppendOnly: the handle may add bytes at the end and change none.
    ///   - clearsSetID: writing through the handle clears set-id bits.
    ///   - executes: the file is opened to execute it.
    ///   - mayRetry: the open is tried again if paths of other handles exclude it.
    /// - Throws: `busy` and `claimed` as `DataPathTable.acquire` does; the errno of an open(2).
    func open(
        _ object: ObjectState, _ node: Node, flags: Int32, _ quota: HandleQuota.Charge, isAppendOnly: Bool = false,
        clearsSetID: Bool = false, executes: Bool = false, isHandedOver: Bool = false, mayRetry: Bool = false, _ caller: Caller
    ) throws(Errno) -> OpenFile {
        let intent = OpenIntent(flags: flags)
        let isWritable = intent.contains(.write)
        let demand = makeDemand(intent, of: object, isAppendOnly: isAppendOnly, clearsSetID: clearsSetID, mayRetry: mayRetry, caller)
        let dataPath = try acquireDataPath(object, demand)
        // The access mode, and nothing that could block or follow a link. The daemon itself handles appending, truncation and exclusion.
        let backingFlags = flags & OpenFlag.accessMask | OpenFlag.nonBlock | OpenFlag.noControllingTerminal
        if dataPath.path.backingID != nil, flags & OpenFlag.direct != 0 {
            // Fails with the right errno if the backing file system has no O_DIRECT; the kernel would return EIO.
            _ = try Syscall.reopen(object.descriptor.rawValue, backingFlags | OpenFlag.direct)
        }
        // Creation has opened the file for reading and writing. The daemon holds the handle to its access mode.
        var descriptor = isWritable ? object.opened : nil
        // A handle that reads by passthrough may never need a descriptor.
        if descriptor == nil, isWritable || dataPath.path.backingID == nil {
            descriptor = SharedDescriptor(try accessTimes.open(object.descriptor.rawValue, backingFlags))
        }
        return OpenFile(
            node: node, pathDescriptor: object.descriptor, descriptor: descriptor, accessTimes, quota, dataPath,
            isReadable: intent.contains(.read) || executes, isWritable: isWritable, isAppendOnly: isAppendOnly,
            isHandedOver: isHandedOver, Durability(flags: flags))
    }

    /// What a new handle requires of its data path.
    /// - Parameter mayRetry: the open is tried again if paths of other handles exclude it.
    private func makeDemand(
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
                    || caller.uid == 0 && mayNeedReserve(object)),
            mustNotBeMapped: isAppendOnly, isMappable: writes && intent.contains(.read),
            // OPEN for execution has neither mode, and reads.
            reads: intent.contains(.read) || !writes, writes: writes, user: caller.uid, mayRetry: mayRetry)
    }

    /// Whether a write of root's may need the blocks that are reserved for root. A backing id has one credential for all callers, and
    /// that credential may not use them. So when free space runs out, root's writes go through the daemon (decision 14).
    private func mayNeedReserve(_ object: ObjectState) -> Bool {
        let isOnRoot = object.status.device == tree.root.key.device
        if FileSystemUser.restrictedID == nil || isOnRoot && SystemTime.monotonic() < roomyUntil.load(ordering: .relaxed) { return false }
        guard let status = try? Syscall.fstatvfs(object.descriptor.rawValue) else { return false }
        let free = status.bavail.multipliedReportingOverflow(by: max(status.frsize, 1)).partialValue
        if isOnRoot, free >= 2 * nearReserve { roomyUntil.store(SystemTime.monotonic() + 100_000_000, ordering: .relaxed) }
        return status.bfree > status.bavail && free < nearReserve
    }

    /// Joins the data path that the object's handles share.
    /// - Throws: `busy` and `claimed` as `DataPathTable.acquire` does.
    private func acquireDataPath(_ object: ObjectState, _ demand: DataDemand) throws(Errno) -> DataPathReference {
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

extension ObjectFacts {
    /// Whether the kernel may read and write the object by itself, for every caller that opens it.
    ///
    /// False if some callers may only append: they can clear O_APPEND after opening, and a mapping has no such mode. False with set-id
    /// bits: a store into a mapping must clear them, and no request tells of it.
    var leavesNothingToJudge: Bool {
        kind == .file && mode.isDisjoint(with: [.setUser, .setGroup]) && appendingImpliesWriting
    }
}
