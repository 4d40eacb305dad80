import ACLFormats
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// The backing ids of one mount: the files that its kernel may read and write without the daemon (docs/internals/data-path.md).
final class BackingIDs: Sendable {
    private struct State {
        var notifier: Notifier?
        var obstacle: String?
        var reportedErrors: Set<Int32> = []
        var idle: IdleBackingIDs
        /// All ids that the kernel holds.
        var open: Set<Int32> = []
        var live: LiveTables?
    }

    private let state: Lock<State>
    /// False until the kernel has agreed to passthrough, and again after it has refused an id for good.
    private let isOn = Atomic<Bool>(false)
    private let report: @Sendable (String) -> Void
    let opened = Atomic<UInt64>(0)
    let closed = Atomic<UInt64>(0)
    let refused = Atomic<UInt64>(0)

    private let accessTimes: AccessTimes
    private let mostIdle: Int

    /// - Parameters:
    ///   - accessTimes: finds the mount on which the kernel opens a file.
    ///   - idle: the number of ids that are kept for files without an open handle.
    ///   - report: writes one line to the log.
    init(_ accessTimes: AccessTimes, idle: Int = IdleBackingIDs.most, report: @escaping @Sendable (String) -> Void) {
        state = Lock(State(idle: IdleBackingIDs(most: idle)))
        (self.accessTimes, mostIdle, self.report) = (accessTimes, idle, report)
    }

    /// Attaches the notifier. Call once, before the session loop starts.
    func attach(_ notifier: Notifier) { state.withLock { $0.notifier = notifier } }

    /// All ids that the kernel holds.
    var all: [Int32] { state.withLock { Array($0.open) } }

    func follow(_ live: LiveTables) {
        state.withLock { state in
            state.live = live
            for id in state.open { live.note(backingID: id) }
        }
    }

    /// The kernel holds these ids, which another process has opened.
    func restore(_ ids: [Int32]) { state.withLock { $0.open = Set(ids) } }

    /// Closes ids of no open file. Call when the notifier is attached.
    func closeAll(but used: Set<Int32>) { close(all.filter { !used.contains($0) }) }

    /// Begins to register files. Call when the kernel has agreed to passthrough.
    func enable() { isOn.store(true, ordering: .sequentiallyConsistent) }

    var areUsable: Bool { isOn.load(ordering: .sequentiallyConsistent) }

    /// Why no data passes through although the kernel has agreed to passthrough.
    var obstacle: String? { state.withLock { $0.obstacle } }

    /// Registers a file, or takes an idle id of it. The kernel opens and uses the file with the rights of the calling thread. Never
    /// call it while the thread acts for root (decision 14).
    /// - Returns: nil if the kernel refuses, which is reported once for each errno.
    func open(_ key: ObjectKey, _ descriptor: Int32) -> Int32? {
        guard areUsable else { return nil }
        let (known, notifier) = state.withLock { ($0.idle.take(key), $0.notifier) }
        if let known { return known }
        guard let notifier else { return nil }
        // The kernel opens the file for each handle on the mount of this descriptor.
        let onCopy = accessTimes.descriptorOnMountCopy(of: descriptor)
        let id = withExtendedLifetime(onCopy) { notifier.openBacking(onCopy?.rawValue ?? descriptor) }
        if id > 0 {
            opened.add(1, ordering: .relaxed)
            state.withLock { state in
                state.live?.note(backingID: id)
                state.open.insert(id)
            }
            return id
        }
        refused.add(1, ordering: .relaxed)
        reportOnce(Errno(rawValue: -id))
        return nil
    }

    var idleCount: Int { state.withLock { $0.idle.count } }

    /// Keeps the id for the next open, after the last handle of the file on this mount was closed.
    /// - Parameter isRemoved: the file has no name, so its id is closed at once and its space becomes free.
    func release(_ id: Int32, of key: ObjectKey, isRemoved: Bool) {
        if isRemoved { return close(id) }
        close(state.withLock { $0.idle.insert(id, of: key) })
    }

    /// Closes the idle id of a removed file. An id keeps the space of its file, as a descriptor does.
    func closeIdle(of key: ObjectKey) {
        if let id = state.withLock({ $0.idle.take(key) }) { close(id) }
    }

    /// Closes all ids when the mount ends. Over rings the kernel ends the connection only after this process has ended. Until then
    /// the ids would keep the source busy.
    func closeAll() {
        isOn.store(false, ordering: .sequentiallyConsistent)
        close(Array(state.withLock { $0.open }))
    }

    /// Closes all idle ids, because they were opened under rules that have changed.
    func closeAllIdle() {
        close(
            state.withLock { state in
                defer { state.idle = IdleBackingIDs(most: mostIdle) }
                return state.idle.all
            })
    }

    private func close(_ ids: [Int32]) {
        for id in ids { close(id) }
    }

    private func close(_ id: Int32) {
        // At most once: the kernel may use the number for another file afterwards.
        let (wasOpen, notifier) = state.withLock { ($0.open.remove(id) != nil, $0.notifier) }
        guard wasOpen else { return }
        closed.add(1, ordering: .relaxed)
        notifier?.closeBacking(id)
    }

    private func reportOnce(_ error: Errno) {
        let reason: String
        switch error {
        // The kernel answers the same to every later call.
        case .perm, .notty:
            reason =
                "the kernel refuses to register backing files (\(error)), which needs CAP_SYS_ADMIN on the host; "
                + "data goes through the daemon"
            isOn.store(false, ordering: .sequentiallyConsistent)
        case .loop:
            reason =
                "a backing file lies on a file system that is itself stacked on another (\(error)); the data of such files "
                + "goes through the daemon"
        default: reason = "the kernel did not register a backing file (\(error)); its data goes through the daemon"
        }
        let isNew = state.withLock { state in
            if !areUsable { state.obstacle = reason }
            return state.reportedErrors.insert(error.rawValue).inserted
        }
        if isNew { report("passthrough: " + reason) }
    }
}

/// Backing ids of files without an open handle. Most files are opened again, and registering a file costs as much as the rest of an
/// open. The least recently used ids are evicted first, half of them at once.
struct IdleBackingIDs {
    /// The table keeps between this many ids and twice as many.
    static let most = 512
    /// The same where other hosts share the files. A server keeps open what this daemon keeps open, and its space if another host
    /// removes it.
    static let mostOfShared = 4
    let most: Int

    private var young: [ObjectKey: Int32] = [:]
    private var old: [ObjectKey: Int32] = [:]

    init(most: Int = IdleBackingIDs.most) { self.most = most }

    var count: Int { young.count + old.count }

    var all: [Int32] { Array(young.values) + old.values }

    mutating func take(_ key: ObjectKey) -> Int32? {
        if young.isEmpty, old.isEmpty { return nil }
        return young.removeValue(forKey: key) ?? old.removeValue(forKey: key)
    }

    /// Adds an id.
    /// - Returns: the ids that are evicted and must be closed.
    mutating func insert(_ id: Int32, of key: ObjectKey) -> [Int32] {
        var given: [Int32] = []
        if let other = take(key) { given.append(other) }
        if young.count >= most {
            given += old.values
            (old, young) = (young, [:])
        }
        young[key] = id
        return given
    }
}
