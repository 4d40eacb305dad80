import Authorization
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization
import WireFormats

// Entries and attributes with their timeouts (docs/internals/coherence.md). Every timeout is asked for in this file; `KernelCache.expose` and
// `KernelCache.timeouts` may still answer 0. Whether the kernel may cache a listing is decided by `DirectoryOperations.listingFlags`.
// All of it runs with the metadata lock held since the decision.

/// Attributes and their timeout in seconds.
struct AttributeAnswer {
    var attributes: ObjectAttributes
    var validFor: Double
}

/// The result of a look-up.
enum LookupAnswer {
    case found(Entry)
    /// There is no such name; the timeout of this answer in seconds.
    case absent(validFor: Double)

    /// There is no such name, and the kernel asks each time.
    static let absentUncacheable = LookupAnswer.absent(validFor: 0)
}

extension KernelView {
    /// Exposes an object under a name, and counts the look-up.
    /// - Parameters:
    ///   - child: the object.
    ///   - name: in `parent`.
    ///   - isListed: the answer is one to READDIRPLUS.
    ///   - mayBeginWatch: the object may be watched from now on.
    func makeEntry(
        _ child: ObjectState, named name: UnsafePointer<CChar>, below parent: ObjectState, isListed: Bool = false,
        mayBeginWatch: Bool = true
    ) -> Entry {
        let isNew = mayBeUnknownToKernel(child.object)
        let node = loader.enter(child, named: name, below: parent)
        return Entry(
            node: node.id, generation: generation, attributes: attributes(of: child),
            attributesValidFor: isNew || hasSeveralNames(child)
                ? prepareUncacheable(child, of: node) : prepareCacheable(child, of: node, mayBeginWatch: mayBeginWatch),
            entryValidFor: entryTimeout(node, child, named: name, below: parent, isListed: isListed))
    }

    /// Sets the timeout of an entry's attributes to 0, after a change since the entry was made.
    func makeAttributesUncacheable(in entry: inout Entry) { entry.attributesValidFor = 0 }

    /// The entry of an object without a name, with timeouts of 0; counts the look-up.
    func makeUnnamedEntry(_ object: ObjectState, in directory: ObjectState) -> Entry {
        let node = loader.enter(object, named: nil, below: directory)
        return Entry(node: node.id, generation: generation, attributes: attributes(of: object))
    }

    /// The timeout of an entry in seconds. It is 0 unless every caller may search the directory; 0 for a special file that the gate
    /// guards; 0 for a directory that a stale answer could bring back (R7).
    private func entryTimeout(
        _ node: Node, _ object: ObjectState, named name: UnsafePointer<CChar>, below parent: ObjectState, isListed: Bool
    ) -> Double {
        guard let directory = parent.node, cache.timeouts.entry > 0, judge.everyCallerHolds(.search, on: parent),
            judge.gate.rights(behind: node.object.kind) == nil, isAffordable(object, below: parent)
        else {
            cache.noteUncacheableAnswer()
            if node.isDirectory {
                node.exposure.revalidation.mark()
                cache.invalidateOldTimeout(of: node, charging: account(of: parent))
            } else {
                cache.noteUncacheableEntry(node)
            }
            return 0
        }
        if node.isDirectory, node.exposure.revalidation.isPossible {
            if forgetting.add(node, name, in: directory.id) { cache.wakeClock() }
            if node.exposure.revalidation.isUntried, cache.noteMarkedWalk() {
                forgetting.requestBump()
                cache.wakeClock()
            }
            return 0
        }
        let child = NamedChild(node: node, isOnOtherMount: object.status.mountID != parent.status.mountID)
        return cache.expose(name, child, below: directory, at: parent.status.ctime, isListed: isListed) { tells(parent, of: $0) }
    }

    /// Who pays for a bump that entries of an object, or below it, require.
    private func account(of object: ObjectState) -> BumpBudget.Account { .init(object.object, owner: object.facts.owner) }

    /// Whether an entry may be cacheable as far as its cost for others goes.
    func isAffordable(_ object: ObjectState?, below parent: ObjectState) -> Bool {
        cache.isAffordable(account(of: parent), object.map { account(of: $0) })
    }

    /// The timeout of the answer that there is no such name, in seconds.
    func absenceTimeout(of name: UnsafePointer<CChar>, below parent: ObjectState) -> Double {
        guard let directory = parent.node, judge.everyCallerHolds(.search, on: parent), isAffordable(nil, below: parent) else { return 0 }
        return cache.expose(name, nil, below: directory, at: parent.status.ctime) { tells(parent, of: $0) }
    }

    /// Whether a directory tells of every later change of its names in this way.
    func tells(_ directory: ObjectState, of way: NameChange) -> Bool {
        switch way {
        case .event: loader.view == nil && isWatchedSinceLookup(directory)
        case .ctime: ctimeTellsEveryChange(directory)
        }
    }

    /// Whether every later change of a directory moves its ctime, and the facts that were judged belong to the present one. On a
    /// confined mount the zones decide as well, and no ctime tells of them.
    private func ctimeTellsEveryChange(_ directory: ObjectState) -> Bool {
        loader.view == nil && Self.isChangeComplete(at: directory.status.ctime) && loader.tree.isCurrent(directory.object, directory.status)
    }

    /// Whether the last change is complete: a file system moves the ctime first, and may wait for its journal before the name changes.
    static func isChangeComplete(at ctime: Timespec) -> Bool {
        let longestChange: Int64 = 10
        return ctime.nsec != 0 && ctime.sec < SystemTime.now().sec - longestChange
    }

    /// Whether the ctimes of these directories are unchanged (docs/internals/coherence.md "When time alone is no reason").
    func check(_ directories: ExposedDirectories) -> DirectoryCheck {
        // Beyond this deadline a bump is cheaper.
        let end = SystemTime.monotonic() + 20_000_000
        var read = 0
        for seen in directories.all where !share.watched.isWatched(seen.directory.object.key, sinceBefore: seen.ctime) {
            // A directory that the kernel has forgotten has no entries: most of these were removed.
            guard loader.nodes.find(seen.directory.id) === seen.directory else { continue }
            read += 1
            guard read <= ExposedDirectories.mostReads, SystemTime.monotonic() < end,
                let descriptor = loader.tree.openDescriptor(of: seen.directory.object),
                let status = try? Syscall.statx(descriptor.rawValue), status.ctime == seen.ctime
            else { return .changed }
        }
        return .unchanged(read: read)
    }

    /// Whether the kernel may keep the names of the last listing: less than 70 % of the timeout of the attributes in it has passed. No listing
    /// is kept longer, because an mtime can be set back; of a watched directory the kernel reports that.
    func mayKeepListing(of directory: ObjectState) -> Bool {
        guard let node = directory.node else { return false }
        let age = node.exposure.timeSinceListing(at: SystemTime.monotonic())
        let timeouts = cache.timeouts
        let isAtRest = node.exposure.wasListedAtRest && share.watched.isWatched(directory.object.key, at: directory.status.ctime)
        return Double(age) < 0.7 * 1e9 * (isAtRest ? timeouts.watchedAttributes : timeouts.attributes)
    }

    /// The attributes of an object, with a timeout if every caller may see them.
    func cacheableAttributes(of object: ObjectState) -> AttributeAnswer {
        let timeout = object.node.map { prepareCacheable(object, of: $0) }
        return AttributeAnswer(attributes: attributes(of: object), validFor: timeout ?? 0)
    }

    /// The attributes that answer a SETATTR.
    func attributesAfterChange(of object: ObjectState) -> AttributeAnswer {
        let timeout = everyCallerMayRead(object) && kernelLearnsChanges(of: object) ? cache.timeoutOfChangedAttributes : 0
        // The kernel takes these with their timeout, even if attributes were invalidated meanwhile.
        object.node?.exposure.attributeTimeout.replace(seconds: timeout, at: SystemTime.monotonic())
        return AttributeAnswer(attributes: attributes(of: object), validFor: timeout)
    }

    /// The attributes with a timeout of 0: the kernel asks by itself, through an open file, for any caller.
    func uncacheableAttributes(of object: ObjectState) -> AttributeAnswer {
        if let node = object.node { prepareUncacheable(object, of: node) }
        return AttributeAnswer(attributes: attributes(of: object), validFor: 0)
    }

    /// Chooses the timeout of attributes in an answer and prepares the kernel for it.
    /// - Returns: seconds.
    private func prepareCacheable(_ object: ObjectState, of node: Node, mayBeginWatch: Bool = true) -> Double {
        let isForEveryCaller = everyCallerMayRead(object)
        let timeout =
            isForEveryCaller && kernelLearnsChanges(of: object) ? timeoutAtPresent(object, of: node, mayBeginWatch: mayBeginWatch) : 0
        prepareAnswer(object, of: node, timeout: timeout, isForEveryCaller: isForEveryCaller)
        return timeout
    }

    /// Prepares the kernel for an answer with a timeout of 0.
    /// - Returns: that timeout.
    @discardableResult private func prepareUncacheable(_ object: ObjectState, of node: Node) -> Double {
        prepareAnswer(object, of: node, timeout: 0, isForEveryCaller: everyCallerMayRead(object))
        return 0
    }

    /// Whether look-ups of the object by different names may race: no lock orders them, so its entries get uncacheable attributes (R12).
    private func hasSeveralNames(_ object: ObjectState) -> Bool { object.facts.kind != .directory && object.status.nlink > 1 }

    private func everyCallerMayRead(_ object: ObjectState) -> Bool { judge.everyCallerHolds([.readAttributes, .readSecurity], on: object) }

    /// Whether the kernel learns of every change of the attributes.
    private func kernelLearnsChanges(of object: ObjectState) -> Bool {
        !mayChangeElsewhere(object.object) && !(object.status.isRegular && mayChangeUnseen(object))
    }

    /// Whether a file's data or times may change while the kernel does not know.
    private func mayChangeUnseen(_ object: ObjectState) -> Bool {
        share.writableFiles.times.isTracked(object.object.key)
            || share.dataPaths.mayChangeUnnoticed(object.object.key, object.descriptor.rawValue)
    }
}

// The kernel stores the attributes of an answer in several steps, and readers take no lock (docs/internals/coherence.md "Attributes in steps"):
// - It marks them as valid before it stores their new timeout. In between, the old timeout applies: if it has not expired, a caller that
//   may no longer see the attributes still gets them.
// - It stores the sticky bit before it removes it again. In between, it obeys the bit and refuses with EPERM what the daemon granted.
// So it must not store such attributes at all. It discards those of an answer if attributes were invalidated after the request was sent;
// the caller gets them all the same.

extension KernelView {
    /// Invalidates attributes before they are answered, if the kernel's steps would show. The caller holds the metadata lock, so that
    /// a change after the decision knows of the timeout.
    /// - Parameters:
    ///   - timeout: of the answer, in seconds.
    ///   - isForEveryCaller: every caller may see the attributes.
    func prepareAnswer(_ object: ObjectState, of node: Node, timeout: Double, isForEveryCaller: Bool) {
        let oldTimeoutApplies =
            !isForEveryCaller && knowsAllChanges(of: node) && node.exposure.attributeTimeout.isRunning(at: SystemTime.monotonic())
        if oldTimeoutApplies || isStickyDirectory(object) { cache.invalidateAttributes(of: node.id) }
        if timeout > 0 { node.exposure.attributeTimeout.extend(seconds: timeout, at: SystemTime.monotonic()) }
    }

    /// Whether every change of sizes, link counts and times passes through this kernel, so that it can discard those of an answer.
    private func knowsAllChanges(of node: Node) -> Bool {
        !share.hasSeveralMounts || !node.exposure.hasChangedElsewhere
    }

    func isStickyDirectory(_ object: ObjectState) -> Bool {
        object.facts.kind == .directory && object.facts.mode.contains(.sticky)
    }
}

extension KernelView {
    func attributes(of object: ObjectState) -> ObjectAttributes {
        let status = object.status
        let times =
            object.object.kind == .file
            ? share.writableFiles.times.times(of: object.object.key, status, object.descriptor.rawValue) : (status.mtime, status.ctime)
        return ObjectAttributes(
            ino: loader.tree.shownInode(device: status.device, inode: status.inode),
            mode: status.mode & ~0o7777 | UInt32(judge.posix.shownMode(object.facts).rawValue),
            nlink: status.nlink, uid: status.uid, gid: status.gid, size: status.size, blocks: status.blocks,
            blksize: status.blksize, rdev: status.rdev, accessTime: Timestamp(status.atime),
            modificationTime: Timestamp(times.0), changeTime: Timestamp(times.1),
            birthTime: status.hasBirthTime ? Timestamp(status.btime) : nil)
    }
}

extension Timestamp {
    init(_ time: Timespec) { self.init(seconds: time.sec, nanoseconds: time.nsec) }
}
