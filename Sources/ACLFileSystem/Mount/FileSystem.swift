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

/// One mount: the tables, the lock, and what every operation shares.
///
/// An operation takes four steps: find the objects, authorize on their state, perform on the same
/// objects, reply. `RequestDispatch.swift` connects the kernel's requests to them.
///
/// Lock order: a file's growth (`ZeroFillGrowth.swift`), `metadataLock`, a view's `choosing`, then the mutexes of tables and
/// caches; never the other way round. The metadata lock is
/// held for reading from the decision to the act, and for writing by whatever changes what decisions
/// read (mode, owner, flags, ACL), so that the state that was judged is the state that is acted on
/// (invariant I5). Names are held still by the kernel's own directory locks.
public final class FileSystem: Sendable {
    let tree: BackingTree
    let options: MountOptions
    /// What confines everything that comes through this mount; nil: nothing.
    let view: View?
    public let judge: Judge
    let nodes: NodeTable
    let handles = HandleTable()
    let share: Share
    var metadataLock: ReadWriteLock { share.lock }
    let backingIDs: BackingIDs
    let accessTimes: AccessTimes
    /// Is given one line for the log.
    let report: @Sendable (String) -> Void
    let hasSaidBusy = Atomic<Bool>(false)
    let cache: KernelCache
    let mountsBelow = MountsBelow()
    let notices = Notices()
    let forgetting = ForgettingQueue()
    private let agreed = Lock<Negotiated?>(nil)
    private let clock = Lock<CacheClock?>(nil)
    /// Names for texts. Membership has threads of its own, so that texts never stand in its way.
    let accounts = AccountService()
    /// Of what is being created; nil: none are kept. Those of the mount for its views, too.
    let creationNotes: CreationNotes?
    /// Of a view: the mount whose volume this is, too.
    let base: FileSystem?
    /// Random, so that a file handle of an earlier mount does not open another object (I8).
    let generation = UInt64.random(in: 1...UInt64(UInt32.max))

    /// - Parameters:
    ///   - share: of the other mounts of the same backing tree.
    ///   - audit: ended with the mount.
    ///   - creationNotes: removed with the mount.
    public init(
        tree: BackingTree, options: MountOptions, share: Share = Share(), profile: SandboxProfile? = nil,
        base: FileSystem? = nil, audit: AuditLog? = nil, creationNotes: CreationNotes? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.creationNotes = base.map { $0.creationNotes } ?? creationNotes
        self.base = base
        view = profile.map { View($0, options.cache) }
        self.share = share
        self.report = report
        accessTimes = base?.accessTimes ?? AccessTimes(options.accessTimes, tree)
        let isShared = tree.isShared(device: tree.root.key.device)
        backingIDs = BackingIDs(accessTimes, idle: isShared ? IdleBackingIDs.mostOfShared : IdleBackingIDs.most, report: report)
        self.tree = tree
        self.options = options
        nodes = NodeTable(root: tree.root)
        cache = KernelCache(options.cache)
        judge = Judge(options, tree, base: base?.judge, audit: audit, profile: profile?.name, number: generation)
    }

    /// Gives the way to the kernel, once and before it is served.
    /// - Parameter device: of the mount, from the mount table; nil if it was not found there.
    public func connect(_ notifier: Notifier, device: UInt64?) throws(Errno) {
        cache.connect(notifier)
        backingIDs.connect(notifier)
        try notices.start(notifier, nodes, cache)
        let made: CacheClock
        do throws(Errno) { made = try CacheClock(self, device: device) } catch {
            notices.stop()
            throw error
        }
        clock.withLock { $0 = made }
        do throws(Errno) { try share.join(self) } catch {
            // Nobody will serve it: its threads must not keep the way to the kernel open.
            disconnect()
            throw error
        }
    }

    /// The kernel has introduced itself.
    func begin(_ negotiated: Negotiated) {
        agreed.withLock { $0 = negotiated }
        cache.begin(hasEpoch: negotiated.epoch)
        if negotiated.passthrough { backingIDs.begin() }
    }

    /// Whether clearing set-id bits is ours alone.
    var kernelLeavesSetID: Bool { agreed.withLock { $0?.killPriv2 ?? true } }

    /// The mount is gone.
    public func disconnect() {
        share.leave(self)
        judge.end()
        if base == nil { creationNotes?.end() }
        share.growing.filler.settle(milliseconds: 1000)
        clock.withLock { $0.take() }?.stop()
        notices.stop()
        backingIDs.end()
    }

    /// Somebody has moved the log of decisions away.
    public func reopenAudit() { judge.reopenAudit() }

    /// The volume's state in force.
    public var volume: VolumeState { judge.volume }

    /// Changes the volume's state between two decisions, never within one.
    public func changeVolume(_ body: (inout VolumeState) -> Void) {
        metadataLock.withWriteLock { judge.changeVolume(body) }
    }
}

/// An object as one operation sees it: descriptor, status and facts read together.
struct ObjectState {
    let object: BackingObject
    let descriptor: SharedDescriptor
    let status: FileStatus
    let facts: ObjectFacts
    /// What its place lets pass.
    let location: EffectiveLocation
    /// If it was asked for by its node.
    var node: Node?
    /// Of a file that was just created: for reading and writing.
    var opened: SharedDescriptor?

    /// Nothing can be made, found or listed in a directory that something else is mounted on.
    var isOvermounted: Bool { object.isOvermounted.load(ordering: .relaxed) }
}

extension FileSystem {
    func node(_ id: NodeID) throws(Errno) -> Node {
        // Not ESTALE: the kernel would repeat the walk under other rules (docs/coherence.md R9).
        guard let node = nodes.find(id) else { throw .io }
        return node
    }

    func load(_ id: NodeID) throws(Errno) -> ObjectState { try load(node(id)) }

    func load(_ node: Node) throws(Errno) -> ObjectState {
        try requireNoGateAbove(node)
        let descriptor = try tree.descriptor(of: node.object)
        let status = try Syscall.statx(descriptor.rawValue)
        return ObjectState(
            object: node.object, descriptor: descriptor, status: status,
            facts: try tree.facts(node.object, descriptor, status),
            location: location(of: node, descriptor, status), node: node)
    }

    /// An object after a change of our own.
    /// - Parameter keepsRecord: the change left what is stored with it alone.
    func reload(_ object: ObjectState, keepsRecord: Bool) throws(Errno) -> ObjectState {
        let status = try Syscall.statx(object.descriptor.rawValue)
        if keepsRecord, !ThreadMark.isSet {
            tree.keepRecord(of: object.object, before: object.status, after: status, object.descriptor)
        }
        return ObjectState(
            object: object.object, descriptor: object.descriptor, status: status,
            facts: try tree.facts(object.object, object.descriptor, status), location: object.location, node: object.node)
    }

    /// After a change of our own that left alone what is stored with an object, but moved its ctime: names made, moved
    /// or removed in a directory, and the object that was moved.
    func keepRecord(of object: ObjectState) {
        // On a spare thread others may have changed it while no lock was held.
        if ThreadMark.isSet { return }
        guard let status = try? Syscall.statx(object.descriptor.rawValue, flags: AtFlag.dontSync) else { return }
        tree.keepRecord(of: object.object, before: object.status, after: status, object.descriptor)
    }

    func load(_ resolved: ResolvedObject, _ location: EffectiveLocation) throws(Errno) -> ObjectState {
        ObjectState(
            object: resolved.object, descriptor: resolved.descriptor, status: resolved.status,
            facts: try tree.facts(resolved), location: location)
    }

    /// The object that a name means now, with its facts.
    func child(_ name: UnsafePointer<CChar>, of parent: ObjectState) throws(Errno) -> ObjectState {
        try requireOpenGate(of: parent.object)
        return try load(tree.resolve(name, in: parent.descriptor, parent.status), parent.location.below(name))
    }

    /// nil if there is no such name.
    func childIfThere(_ name: UnsafePointer<CChar>, of parent: ObjectState) throws(Errno) -> ObjectState? {
        do { return try child(name, of: parent) } catch {
            if error == .noent { return nil }
            throw error
        }
    }

    func attributes(of object: ObjectState) -> ObjectAttributes {
        let status = object.status
        let modification =
            object.object.kind == .file
            ? share.growing.times.modification(of: object.object.key, status, object.descriptor.rawValue) : status.mtime
        return ObjectAttributes(
            ino: tree.shownInode(device: status.device, inode: status.inode), mode: status.mode,
            nlink: status.nlink, uid: status.uid, gid: status.gid, size: status.size, blocks: status.blocks,
            blksize: status.blksize, rdev: status.rdev, accessTime: Timestamp(status.atime),
            modificationTime: Timestamp(modification), changeTime: Timestamp(status.ctime),
            birthTime: status.hasBirthTime ? Timestamp(status.btime) : nil)
    }
}

extension Timestamp {
    init(_ time: Timespec) { self.init(seconds: time.sec, nanoseconds: time.nsec) }
}
