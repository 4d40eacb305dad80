import ACLFormats
import BackingStore
import FuseSession
import LinuxSystem
import Synchronization

/// One mount's way of telling its kernel which backing files it may reach by itself (docs/data-path.md).
final class BackingIDs: Sendable {
    private struct State {
        var notifier: Notifier?
        var obstacle: String?
        var reportedErrors: Set<Int32> = []
        var idle: IdleBackingIDs
        /// All that the kernel has.
        var open: Set<Int32> = []
    }

    private let state: Lock<State>
    /// Not before the kernel has agreed, and not after it has refused for good.
    private let isOn = Atomic<Bool>(false)
    private let report: @Sendable (String) -> Void
    let opened = Atomic<UInt64>(0)
    let closed = Atomic<UInt64>(0)
    let refused = Atomic<UInt64>(0)

    private let accessTimes: AccessTimes
    private let mostIdle: Int

    /// - Parameter idle: how many ids of files that are not open any more are kept.
    init(_ accessTimes: AccessTimes, idle: Int = IdleBackingIDs.most, report: @escaping @Sendable (String) -> Void) {
        state = Lock(State(idle: IdleBackingIDs(most: idle)))
        (self.accessTimes, mostIdle, self.report) = (accessTimes, idle, report)
    }

    /// The way to the kernel, as soon as there is one.
    func attach(_ notifier: Notifier) { state.withLock { $0.notifier = notifier } }

    /// The kernel has agreed.
    func enable() { isOn.store(true, ordering: .sequentiallyConsistent) }

    var areUsable: Bool { isOn.load(ordering: .sequentiallyConsistent) }

    /// Why there is no passthrough although the kernel has agreed to it.
    var obstacle: String? { state.withLock { $0.obstacle } }

    /// An id for a file; nil if the kernel does not give one, which is said once. The kernel opens and uses the file with
    /// the rights of the calling thread: never to be called while it acts for root (decision 14).
    func open(_ key: ObjectKey, _ descriptor: Int32) -> Int32? {
        guard areUsable else { return nil }
        let (known, notifier) = state.withLock { ($0.idle.take(key), $0.notifier) }
        if let known { return known }
        guard let notifier else { return nil }
        // The kernel opens the file with the flags of each handle, on the mount that this descriptor is on.
        let onCopy = accessTimes.descriptorOnMountCopy(of: descriptor)
        let id = withExtendedLifetime(onCopy) { notifier.openBacking(onCopy?.rawValue ?? descriptor) }
        if id > 0 {
            opened.add(1, ordering: .relaxed)
            state.withLock { _ = $0.open.insert(id) }
            return id
        }
        refused.add(1, ordering: .relaxed)
        reportOnce(Errno(rawValue: -id))
        return nil
    }

    var idleCount: Int { state.withLock { $0.idle.count } }

    /// Nobody has the file open any more.
    /// - Parameter isRemoved: it has no name, so nobody will open it again, and its space is to be given back.
    func release(_ id: Int32, of key: ObjectKey, isRemoved: Bool) {
        if isRemoved { return close(id) }
        close(state.withLock { $0.idle.insert(id, of: key) })
    }

    /// An id holds its file as a descriptor does: none is kept of what was removed.
    func closeIdle(of key: ObjectKey) {
        if let id = state.withLock({ $0.idle.take(key) }) { close(id) }
    }

    /// The mount is gone. The kernel would keep their files until it has taken the connection apart, which with rings comes after the end
    /// of this process: the source would be busy so long.
    func closeAll() {
        isOn.store(false, ordering: .sequentiallyConsistent)
        close(Array(state.withLock { $0.open }))
    }

    /// They stand for what does not hold any more.
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
        // Once: the kernel may give the number to another file.
        let (isOurs, notifier) = state.withLock { ($0.open.remove(id) != nil, $0.notifier) }
        guard isOurs else { return }
        closed.add(1, ordering: .relaxed)
        notifier?.closeBacking(id)
    }

    private func reportOnce(_ error: Errno) {
        let reason: String
        switch error {
        // It will not change its mind.
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
