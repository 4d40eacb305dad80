import BackingStore
import LinuxSystem
import Synchronization

/// What the clock's thread knows of the mounts below, in all namespaces.
struct MountsSeen {
    var inside = MountsInside()
    /// Those of other namespaces, by their ids.
    var elsewhere: [UInt64: Elsewhere] = [:]
    /// The number of bumps when the tables were last read.
    var bumps: UInt64 = 0
    /// Since when nothing is mounted below although entries are still uncacheable, in monotonic nanoseconds.
    var absentSince: UInt64?
    var lastReport: UInt64 = 0

    struct Elsewhere {
        var mounted: OtherNamespaces.Mounted
        /// A process of its namespace, for people.
        var holder: String
        /// There were bumps since the tables were last read without it: it may have been there already.
        var mayBeDetached: Bool
    }
}

/// The mount tables in which mounts on objects of one mount may appear, and what follows from them: while there is one, no entry is
/// cacheable and nothing is bumped (docs/internals/coherence.md "The price of a bump").
final class MountTableWatch: Sendable {
    let table: SharedDescriptor
    let elsewhere = OtherNamespaces.all
    private let device: UInt64
    private let kernel: KernelView
    private let report: @Sendable (String) -> Void
    private let listener: UInt64
    /// The state of `elsewhere` that was read.
    private let seen = Atomic<UInt64>(0)

    /// Nanoseconds without a mount below after which entries are cacheable again. That begins with a bump, and mounts often come one
    /// after the other.
    static let longestAbsence: UInt64 = 2_000_000_000
    /// The bump waits until no process has looked up a name for so long: a program that is about to mount something has looked up the place.
    private static let quiet: UInt64 = 20_000_000
    /// A busy mount is never quiet.
    private static let longestWait: UInt64 = 1_000_000_000
    /// Between two lines that tell of mounts elsewhere.
    private static let reportInterval: UInt64 = 60_000_000_000

    init(
        _ device: UInt64, _ kernel: KernelView, _ report: @escaping @Sendable (String) -> Void, wake: @escaping @Sendable () -> Void
    ) throws(Errno) {
        (self.device, self.kernel, self.report) = (device, kernel, report)
        table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        listener = elsewhere.join(device, wake: wake)
        kernel.cache.watchMountTable(
            try .ofThisProcess { [elsewhere, weak self] in
                self.map { elsewhere.mayDiffer(since: $0.seen.load(ordering: .relaxed)) } ?? false
            })
    }

    func end() { elsewhere.leave(listener) }

    /// Reads the tables, and makes entries uncacheable if there is something below.
    func read(_ mounts: inout MountsSeen) {
        let cache = kernel.cache
        cache.beginMountTableRead()
        let bumps = cache.bumps
        let (found, change) = elsewhere.read(device)
        seen.store(change, ordering: .relaxed)
        var mayBeBelow = true
        // A table that cannot be read may hide a mount, so it counts as one.
        if let entries = try? MountInfo.read(table.rawValue) {
            if mounts.inside.update(kernel.loader.tree.mountsInside(entries)) {
                kernel.loader.tree.forgetDescriptors()
                cache.requestBump()
            }
            kernel.mountsBelow.update(entries, device: device, others: found.values.map { $0.names }, tree: kernel.loader.tree)
            mayBeBelow = kernel.mountsBelow.exist
        }
        if mayBeBelow {
            mounts.absentSince = nil
            kernel.suspendForMountsBelow()
        } else if mounts.absentSince == nil, cache.isSuspended(.mountsBelow) {
            mounts.absentSince = SystemTime.monotonic()
        }
        cache.endMountTableRead()
        noteElsewhere(found, bumps, &mounts)
    }

    /// Makes entries cacheable again a while after the last mount below has gone.
    func resume(_ mounts: inout MountsSeen, _ now: UInt64) {
        guard let due = resumeDue(mounts, now), due <= now else { return }
        elsewhere.count()
        guard !elsewhere.mayDiffer(since: seen.load(ordering: .relaxed)) else { return }
        kernel.cache.resume(.mountsBelow)
        if !kernel.cache.isSuspended(.mountsBelow) { mounts.absentSince = nil }
    }

    private func resumeDue(_ mounts: MountsSeen, _ now: UInt64) -> UInt64? {
        mounts.absentSince.map { since in
            let due = since + Self.longestAbsence
            return now < due || now >= due + Self.longestWait || kernel.cache.isQuiet(for: Self.quiet, now) ? due : now + Self.quiet / 2
        }
    }

    /// Whether the tables must be read before anything is bumped. Looks for namespaces that the kernel does not tell of.
    func mustRead(_ mounts: MountsSeen, _ now: UInt64) -> Bool {
        if kernel.cache.isBumpDue(now) {
            elsewhere.count()
        } else if nextCount(mounts).map({ $0 <= now }) ?? false {
            elsewhere.count(notWithin: 1)
        }
        return elsewhere.mayDiffer(since: seen.load(ordering: .relaxed))
    }

    /// When something is to be done, in monotonic nanoseconds.
    func nextDue(_ mounts: MountsSeen, _ now: UInt64) -> UInt64? {
        [nextCount(mounts), resumeDue(mounts, now)].compactMap { $0 }.min()
    }

    /// While entries are exposed, new namespaces; while there are mounts elsewhere, namespaces that have ended.
    private func nextCount(_ mounts: MountsSeen) -> UInt64? {
        kernel.cache.hasExposedEntries || !mounts.elsewhere.isEmpty ? elsewhere.nextCount : nil
    }

    private func noteElsewhere(_ found: [UInt64: OtherNamespaces.Mounted], _ bumps: UInt64, _ mounts: inout MountsSeen) {
        let now = SystemTime.monotonic()
        for (id, gone) in mounts.elsewhere where found[id] == nil {
            mounts.elsewhere[id] = nil
            // A service that ends takes its namespace along.
            if gone.mayBeDetached, elsewhere.holder(of: gone.mounted.namespace) != nil {
                let path = String(decoding: gone.mounted.path, as: UTF8.self)
                report(
                    """
                    \(path): a mount in the namespace of \(gone.holder) is gone. If it was not unmounted there, a right that was revoked in \
                    the moment when it was made has detached it. Where that must not happen, mount with cache=strict (docs/reference/security.md)
                    """)
            }
        }
        for (id, new) in found where mounts.elsewhere[id] == nil {
            let holder = elsewhere.holder(of: new.namespace) ?? "an unknown process"
            if mounts.elsewhere.isEmpty, mounts.lastReport == 0 || now >= mounts.lastReport + Self.reportInterval {
                mounts.lastReport = now
                report(
                    """
                    \(String(decoding: new.path, as: UTF8.self)): mounted in the namespace of \(holder), on an object of this mount. \
                    While it is there, the kernel caches no names of this mount, as with cache=strict
                    """)
            }
            mounts.elsewhere[id] = MountsSeen.Elsewhere(mounted: new, holder: holder, mayBeDetached: mounts.bumps < bumps)
        }
        mounts.bumps = bumps
    }
}

/// Whether the mount table has changed since the clock thread last read it (docs/internals/coherence.md "The price of a bump"). A bump
/// detaches what is mounted below. So a bump without a revocation waits until that thread has read the table.
struct MountTableChanges: Sendable {
    /// Nanoseconds that changes of the mount table can defer a bump, even if they never end.
    static let longestDelay: UInt64 = 100_000_000

    /// Whether the table has changed since the last call.
    private let takeChange: @Sendable () -> Bool
    /// The clock thread must read the table.
    private(set) var isReadDue = true
    private var isReading = false
    /// When bumps were first and last deferred, in monotonic nanoseconds.
    private var deferral: (since: UInt64, last: UInt64)?

    init(_ takeChange: @escaping @Sendable () -> Bool) { self.takeChange = takeChange }

    /// Opens a descriptor of its own, because the kernel reports a change once for each descriptor.
    /// - Parameter mayDifferElsewhere: whether mounts in other namespaces may have changed since the clock thread read them.
    static func ofThisProcess(_ mayDifferElsewhere: @escaping @Sendable () -> Bool) throws(Errno) -> MountTableChanges {
        let table = SharedDescriptor(try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly))
        return MountTableChanges { Syscall.hasExceptionalCondition(table.rawValue) || mayDifferElsewhere() }
    }

    /// Whether the table was read since its last change, or a bump was deferred for the longest time. Otherwise notes the deferral.
    mutating func confirmRead(_ now: UInt64) -> Bool {
        if takeChange() { isReadDue = true }
        guard isReadDue || isReading else {
            deferral = nil
            return true
        }
        let earlier = deferral.flatMap { now < $0.last + Self.longestDelay ? $0.since : nil }
        let since = earlier ?? now
        deferral = (since, now)
        return now >= since + Self.longestDelay
    }

    /// Notes that the table is read next. A later change counts as new.
    mutating func beginRead() {
        _ = takeChange()
        (isReadDue, isReading) = (false, true)
    }

    /// Notes that the consequences of the table are in force.
    mutating func endRead() { isReading = false }
}

/// The mounts inside the backing directory. A mount changes what names lead to, but no ctime.
struct MountsInside {
    /// Nanoseconds. A look-up that began before a mount takes less.
    private static let longestLookup: UInt64 = 10_000_000_000

    /// nil if unknown, and before the table is first read.
    private var known: [MountPlace]?
    private var changed: UInt64?

    /// - Parameter found: the mounts in the table; nil if unknown.
    /// - Returns: true if they may differ from those of the last update.
    mutating func update(_ found: [MountPlace]?) -> Bool {
        let mayDiffer = found == nil || found != known
        if found != known { changed = SystemTime.monotonic() }
        known = found
        return mayDiffer
    }

    /// Whether a look-up in flight may still return an object that a mount has covered or uncovered.
    /// - Parameter now: monotonic nanoseconds.
    func mayStillChangeNames(_ now: UInt64) -> Bool {
        known == nil || changed.map { now < $0 + Self.longestLookup } ?? false
    }
}
