import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// Requests about open directories: OPENDIR, READDIR, READDIRPLUS.
final class DirectoryOperations: Sendable {
    let loader: ObjectLoader
    let judge: Judge
    let kernel: KernelView
    let held: HeldCalls
    let share: Share
    let lookups: LookupOperations
    let files: OpenFiles

    init(
        loader: ObjectLoader, judge: Judge, kernel: KernelView, held: HeldCalls, share: Share, lookups: LookupOperations,
        files: OpenFiles
    ) {
        (self.loader, self.judge, self.kernel, self.held, self.share, self.lookups, self.files) = (
            loader, judge, kernel, held, share, lookups, files
        )
    }
}

extension DirectoryOperations {
    func openDirectory(_ id: NodeID, _ caller: Caller) throws(Errno) -> Opening {
        let node = try loader.node(id)
        return try share.lock.withReadLock { () throws(Errno) in
            let object = try loader.load(node)
            try judge.permit(.list, Operands(object: object), caller, about: object)
            guard object.facts.kind == .directory else { throw .notdir }
            let quota = try share.handleQuota.charge(caller.uid, to: caller.payer)
            let descriptor = SharedDescriptor(
                try files.accessTimes.open(
                    object.descriptor.rawValue,
                    OpenFlag.readOnly | OpenFlag.directory | OpenFlag.nonBlock))
            let position = ListingPosition(
                loader.tree.directoryCookies(of: object.object, object.descriptor),
                CookieRoom.Charge(share.cookieRoom, payer: caller.payer))
            return Opening(
                handle: files.add(
                    OpenDirectory(node: node, descriptor: descriptor, position, quota, cache: kernel.cache), for: caller.request),
                flags: listingFlags(object))
        }
    }

    /// Whether the kernel may answer the next caller from the names that one caller listed: every caller must hold the right to list.
    ///
    /// Before it does, it requests the attributes in the caller's name, so every caller must hold the right to read them. It discards
    /// the names when the mtime has moved, so the mtime must tell every change. A confined mount judges each part of a listing anew.
    private func listingFlags(_ directory: ObjectState) -> Opening.Flags {
        guard loader.view == nil, kernel.cache.timeouts.entry > 0, !directory.isOvermounted, !files.accessTimes.areStrict,
            // The kernel stores no mtime of such a directory (docs/internals/coherence.md "Attributes in steps").
            !kernel.isStickyDirectory(directory),
            loader.tree.stampsEveryChange(directory.status, directory.descriptor),
            judge.everyCallerHolds([.list, .search, .readAttributes, .readSecurity], on: directory)
        else { return [] }
        // A new listing brings the attributes of its objects; kept names do not, so each object would be requested.
        return kernel.mayKeepListing(of: directory) ? [.cacheDirectory, .keepCache] : [.cacheDirectory]
    }

    /// READDIR: adds the names from `offset` on to the reply.
    func list(_ id: HandleID, offset: UInt64, into reply: inout DirectoryReply, _ caller: Caller) throws(Errno) {
        let directory = try files.directory(id)
        // The next request on the handle proves that the kernel has used the last listing (R5).
        directory.listing.markUsed()
        if offset == 0 { directory.node.exposure.noteListing(at: SystemTime.monotonic()) }
        try held.passGates(caller) { () throws(Errno) in
            // While the lock is held, no open gate is closed.
            try share.lock.withReadLock { () throws(Errno) in
                if loader.view != nil { try permitListing(loader.load(directory.node), caller) }
                try forEachName(of: directory, from: offset) { name, inode, next in
                    reply.add(name: name.name, ino: inode, type: UInt32(name.type), offset: next)
                }
            }
        }
    }

    /// READDIRPLUS: as `list`, and exposes the objects if every caller may search the directory. Otherwise the entries have no node (R6).
    /// - Returns: the nodes that were exposed; each counts as a look-up.
    func listWithEntries(_ id: HandleID, offset: UInt64, into reply: inout DirectoryReply, _ caller: Caller) throws(Errno) -> [NodeID] {
        let directory = try files.directory(id)
        directory.listing.markUsed()
        directory.listing.begin()
        let now = SystemTime.monotonic()
        var exposed: [NodeID] = []
        do throws(Errno) {
            try listEntries(of: directory, from: offset, into: &reply, &exposed, caller)
        } catch {
            // The kernel does not learn of these nodes.
            for node in exposed { lookups.forgetLookups(of: node, 1) }
            throw error
        }
        if offset == 0 { directory.node.exposure.noteListing(at: now) }
        return exposed
    }

    /// A handle keeps what was granted, but not the location: after a move, the names are listed only if the new location permits it
    /// (docs/reference/sandbox-zones.md Z4).
    private func permitListing(_ directory: ObjectState, _ caller: Caller) throws(Errno) {
        guard !directory.location.rights.contains(.list) else { return }
        try judge.permit(.list, Operands(object: directory), caller, about: directory)
    }

    private func listEntries(
        of directory: OpenDirectory, from offset: UInt64, into reply: inout DirectoryReply, _ exposed: inout [NodeID],
        _ caller: Caller
    ) throws(Errno) {
        try held.passGates(caller) { () throws(Errno) in
            try share.lock.withReadLock { () throws(Errno) in
                try loader.requireOpenGate(of: directory.node.object)
                try listEntriesLocked(of: directory, from: offset, into: &reply, &exposed, caller)
            }
        }
    }

    private func listEntriesLocked(
        of directory: OpenDirectory, from offset: UInt64, into reply: inout DirectoryReply, _ exposed: inout [NodeID],
        _ caller: Caller
    ) throws(Errno) {
        var parent = try loader.load(directory.node)
        try permitListing(parent, caller)
        // With several mounts no listing exposes objects (R4).
        let exposesEntries =
            kernel.cache.mayShowObjects && !share.hasSeveralMounts && judge.everyCallerHolds(.search, on: parent)
            && kernel.isAffordable(nil, below: parent)
        if exposesEntries { kernel.watchNames(of: &parent) }
        var isAtRest =
            exposesEntries && (offset > 0 ? directory.node.exposure.wasListedAtRest : kernel.tells(parent, of: .event))
        // Asked again: an event may have come during the listing.
        defer { directory.node.exposure.noteListedAtRest(isAtRest && kernel.tells(parent, of: .event)) }
        let shortTimeout = kernel.cache.timeouts.attributes
        try forEachName(of: directory, from: offset) { name, inode, next in
            if exposesEntries, !name.isDot, let entry = listedEntry(name.name, below: parent, mayBeginWatch: directory.wasListedBefore) {
                if reply.add(name: name.name, entry: entry, offset: next) {
                    if entry.attributesValidFor <= shortTimeout { isAtRest = false }
                    exposed.append(entry.node)
                    directory.listing.append(name.name, entry.node)
                    return true
                }
                lookups.forgetLookups(of: entry.node, 1)
                return false
            }
            let attributes = ObjectAttributes(ino: inode, mode: UInt32(name.type) << 12)
            return reply.add(
                name: name.name, entry: Entry(node: NodeID(0), generation: 0, attributes: attributes),
                offset: next)
        }
    }

    /// The entry of a listed name; nil if it would be uncacheable.
    private func listedEntry(_ name: UnsafePointer<CChar>, below parent: ObjectState, mayBeginWatch: Bool) -> Entry? {
        guard let child = try? loader.child(name, of: parent), judge.gate.rights(behind: child.object.kind) == nil,
            !child.location.rights.isEmpty, kernel.isAffordable(child, below: parent)
        else { return nil }
        // A marked directory is left out (R7).
        if let known = loader.nodes.node(of: child.object), known.isDirectory, known.exposure.revalidation.isPossible { return nil }
        let entry = kernel.makeEntry(child, named: name, below: parent, isListed: true, mayBeginWatch: mayBeginWatch)
        if entry.entryValidFor > 0 { return entry }
        lookups.forgetLookups(of: entry.node, 1)
        return nil
    }

    private static let namesBetweenLooks = 16
    /// In nanoseconds. So long a listing goes on while requests of others wait; the kernel asks for the rest again.
    private static let longestTurn: UInt64 = 100_000

    private func isTurnOver(since begin: UInt64) -> Bool { othersWait && SystemTime.monotonic() - begin > Self.longestTurn }

    /// Calls `body` with each name, its inode number on this mount and the cookie behind it, until it returns false: it has not used the name.
    private func forEachName(
        of directory: OpenDirectory, from offset: UInt64, _ body: (DirectoryEntry, _ inode: UInt64, _ next: UInt64) -> Bool
    ) throws(Errno) {
        try loader.requireOpenGate(of: directory.node.object)
        let descriptor = directory.descriptor.rawValue
        let numbers = loader.tree.shownNumbers(ofDevice: directory.node.object.key.device)
        let isRoot = directory.node.id == .root
        let isOvermounted = directory.node.object.isOvermounted.load(ordering: .relaxed)
        let rootInode = numbers.shown(directory.node.object.key.inode)
        var colliding = loader.nodes.collidingCookies(of: directory.node)
        try directory.position.withLock { position throws(Errno) in
            var next = try position.find(offset, descriptor, colliding)
            if position.ofDescriptor != next { try Syscall.lseek(descriptor, offset: next, whence: Seek.set) }
            // Unknown while not all is used that was read.
            position.ofDescriptor = nil
            position.last = (offset, next)
            var isFull = false
            var names = 0
            let begin = SystemTime.monotonic()
            while !isFull {
                // What is read and not used is read again.
                let end = try withUnsafeTemporaryAllocation(byteCount: othersWait ? 2048 : 32768, alignment: 8) {
                    (buffer) -> Result<Bool, Errno> in
                    outcome { () throws(Errno) in
                        let count = try Syscall.getdents(descriptor, into: buffer)
                        for entry in DirectoryEntries(UnsafeRawBufferPointer(rebasing: buffer[..<count])) {
                            let previous = next
                            next = entry.nextOffset
                            if isOvermounted, !entry.isDot { continue }
                            // The parent of the mount's root is not revealed.
                            let inode = isRoot && entry.isDot ? rootInode : numbers.shown(entry.inode)
                            let cookie = try position.cookie(of: next, after: previous, descriptor, &colliding) {
                                loader.nodes.makeCollidingCookies(of: directory.node)
                            }
                            names += 1
                            isFull = !body(entry, inode, cookie)
                            if isFull { break }
                            position.last = (cookie, next)
                            isFull = names % Self.namesBetweenLooks == 0 && isTurnOver(since: begin)
                            if isFull { break }
                        }
                        return count == 0
                    }
                }.get()
                if end { break }
            }
            if !isFull { position.ofDescriptor = next }
        }
    }
}
