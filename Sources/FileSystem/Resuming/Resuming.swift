import BackingStore
import FuseSession
import LinuxSystem
import MountOptions

// One process serves a mount's connection after another one, and no program notices (docs/decisions/0042-an-upgrade-nobody-notices.md).

extension FileSystem {
    /// Why no other process can serve this mount's connection.
    public struct ResumingObstacle: Sendable {
        /// For people.
        public let reason: String
        /// It passes by itself.
        public var passes = false
    }

    /// nil if another process can serve this mount's connection.
    public var obstacleToResuming: ResumingObstacle? {
        if let reason = lastingObstacle { return ResumingObstacle(reason: reason) }
        // It would end with its change half made, and keeps what this process has open and locked.
        if mounts.share.held.threadCount > 0 {
            return ResumingObstacle(reason: "a change of a file that a program holds has not ended", passes: true)
        }
        guard kernel.cache.isSuspended(.mountsBelow) else { return nil }
        return ResumingObstacle(reason: "something was mounted on a directory or file of it a moment ago", passes: true)
    }

    private var lastingObstacle: String? {
        guard let negotiated = kernel.negotiated else { return "the kernel has not introduced itself yet" }
        if negotiated.uring { return "its requests come over io_uring (with transport=dev it can)" }
        if loader.view != nil { return "a profile confines it" }
        if mounts.count > 1 { return "its daemon serves several mounts of this directory" }
        // Nothing would end entries that the kernel has for a while.
        if !negotiated.epoch, kernel.cache.timeouts.entry > 0 { return "the kernel cannot end all entries at once (Linux 6.16 can)" }
        if loader.tree.hasOtherFileSystems { return "other file systems are mounted below its source" }
        // The other process bumps the epoch, which would detach them.
        if kernel.mountsBelow.exist { return "something is mounted on a directory or file of it" }
        return nil
    }

    /// Makes the pause short. Call it before.
    public func settle() {
        mounts.share.writableFiles.filler.drain(milliseconds: 1000)
        // Until the mount table is read. Where mounts come and go all the time it is never known for long.
        for _ in 0..<30 where !kernel.areNoMountsBelow { SystemTime.sleep(milliseconds: 10) }
    }

    /// Writes what waits for the log of decisions. It takes no more.
    public func endAudit() { judge.end() }

    /// Call while the session is paused: nothing changes then.
    /// - Parameter session: what it left.
    /// - Returns: nil: another process could not find all objects.
    public func save(_ session: SavedSession) -> SavedTables? {
        // What waits longer stays reserved, and reads as zero.
        mounts.share.writableFiles.filler.drain(milliseconds: 10)
        let tree = loader.tree
        guard let root = tree.save(tree.root), let nodes = loader.nodes.save(tree.save) else { return nil }
        let handles = files.save()
        var tables = SavedTables()
        (tables.session, tables.root, tables.generation) = (session, root, kernel.generation)
        (tables.nodes, tables.rootCookies, tables.nextNode) = nodes
        (tables.files, tables.directories, tables.nextHandle) = handles
        // The root's own descriptor is kept by whoever keeps the mount.
        tables.root.descriptor = -1
        tables.backingIDs = files.backingIDs.all
        var counted: [ObjectKey: UInt64] = [:]
        for file in tables.files where file.isCounted {
            guard let node = loader.nodes.find(NodeID(file.node)) else { return nil }
            counted[node.object.key] = file.node
        }
        tables.writableFiles = mounts.share.writableFiles.save(counted)
        return tables
    }

    /// Takes what another process has saved. Call when the notifier is attached, and before the first request.
    /// - Throws: it is not of this tree, or contradicts itself. Then this mount must not be served.
    public func restore(_ tables: SavedTables) throws(SavedProblem) {
        let tree = loader.tree
        guard tables.generation == kernel.generation, tables.root.inode == tree.root.key.inode, tables.root.handle == tree.root.key.handle
        else { throw SavedProblem("what the daemon left is of another directory") }
        let descriptors = InheritedDescriptors()
        try loader.nodes.restore(tables.nodes, rootCookies: tables.rootCookies, next: tables.nextNode) { (saved) throws(SavedProblem) in
            guard let object = tree.restore(saved, try descriptors.takeIfAny(saved.descriptor)) else {
                throw SavedProblem("inode \(saved.inode) is not the object that the daemon served")
            }
            return object
        }
        let writable = mounts.share.writableFiles
        var writers: [UInt64: Int] = [:]
        for file in tables.files where file.isCounted { writers[file.node, default: 0] += 1 }
        var restored: [UInt64: WritableFile] = [:]
        for saved in tables.writableFiles {
            guard let node = loader.nodes.find(NodeID(saved.node)), let count = writers[saved.node] else { throw .isCut }
            restored[saved.node] = writable.restore(saved, node.object.key, writers: count)
        }
        defer { for file in restored.values { writable.release(file) } }
        try files.restore(tables, loader.nodes, kernel.cache, descriptors, restored)
        // Each directory's entry may have a timeout, which the coming bump makes worthless.
        for node in loader.nodes.all where node.isDirectory { node.exposure.noteCacheableEntry(bumps: kernel.cache.bumps) }
        inherited.withLock { $0 = Set(tables.files.map(\.path.backingID)) }
    }

    /// As `restore`, after a death.
    public func restore(_ left: LeftByDeath) throws(SavedProblem) {
        try restore(left.tables)
        files.inherit(creators: left.creators)
        mounts.share.acts.inherit(left.acts, left.repeats)
    }

    /// From now on notes everything in tables that outlive this process. Call when features are known, and before the first request that is
    /// answered.
    /// - Parameters:
    ///   - device: the descriptor of the connection.
    ///   - session: what another process has to know of it.
    /// - Returns: nil: after a death the mount has to be made anew, because another process could not serve the connection.
    public func startLiveTables(device: Int32, _ session: SavedSession) -> LiveTablesFile? {
        let resends: UInt64 = 1 << 39
        guard lastingObstacle == nil, !options.maskedKernelFeatures.contains("resend"), let offered = kernel.negotiated?.offeredFlags,
            offered & resends != 0
        else { return nil }
        var tables = SavedTables()
        guard let root = loader.tree.save(loader.tree.root) else { return nil }
        (tables.session, tables.root, tables.generation) = (session, root, kernel.generation)
        tables.root.descriptor = -1
        (tables.nextNode, tables.nextHandle) = (2, 1)
        guard let live = try? LiveTables(device: device, tables) else { return nil }
        loader.nodes.follow(live)
        files.follow(live)
        mounts.share.acts.follow(live)
        return LiveTablesFile(live)
    }

    /// Ends what the other process has exposed. Call when features are known, and before the first request.
    func endInheritedExposures() {
        guard let used = inherited.withLock({ $0.take() }) else { return }
        kernel.cache.endInheritedExposures()
        for node in loader.nodes.all { kernel.cache.invalidateAttributes(of: node.id) }
        files.backingIDs.closeAll(but: used)
        kernel.settleLookups(from: loader.nodes.lookups)
    }
}

/// The memory file of tables that are up to date before each reply.
public struct LiveTablesFile: Sendable {
    private let live: LiveTables

    init(_ live: LiveTables) { self.live = live }

    public var descriptor: Int32 { live.memory.rawValue }

    /// From now on a death needs a new mount.
    public func giveUp() { live.giveUp() }
}

// MARK: Counts that may be too high

/// Nodes that another process has counted look-ups of, whose FORGET it may have taken along. After a while the kernel is asked whether it knows them.
final class InheritedLookups: Sendable {
    private struct State {
        var counts: [(id: NodeID, count: UInt64)] = []
        /// Monotonic nanoseconds; nil: there is nothing to do.
        var due: UInt64?
    }
    private let state = Lock(State())
    /// A reply takes less until the kernel knows the node.
    private static let delay: UInt64 = 60_000_000_000

    func begin(_ counts: [(id: NodeID, count: UInt64)]) {
        state.withLock { $0 = State(counts: counts, due: SystemTime.monotonic() + Self.delay) }
    }

    var due: UInt64? { state.withLock { $0.due } }

    func takeDue(_ now: UInt64) -> [(id: NodeID, count: UInt64)] {
        state.withLock { state in
            guard let due = state.due, due <= now else { return [] }
            defer { state = State() }
            return state.counts
        }
    }
}

extension KernelView {
    func settleLookups(from counts: [(id: NodeID, count: UInt64)]) {
        inheritedLookups.begin(counts)
        cache.wakeClock()
    }

    /// Forgets nodes that the kernel does not know. Called by the clock.
    func settleDueLookups(_ now: UInt64) {
        for (id, count) in inheritedLookups.takeDue(now) where loader.nodes.lookups(of: id) == count {
            // A removed file would keep its space.
            if !cache.invalidateKnownAttributes(of: id), let object = loader.nodes.forget(id, count) { dropIfRemoved(object) }
        }
    }
}
