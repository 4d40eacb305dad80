import LinuxSystem
import Synchronization

/// The mounts on objects of this daemon's mounts that are in other mount namespaces: those of services with `ReadWritePaths=`, of bwrap, of
/// containers. A bump detaches them like any other (docs/internals/coherence.md "The price of a bump"). The table of the daemon's own namespace does
/// not show them.
///
/// The kernel tells of mounts in namespaces that are known (fanotify). It tells of no new namespace, so all are counted again at times: as
/// long as entries are exposed, and before each bump that can wait.
final class OtherNamespaces: Sendable {
    /// Of this process: all its mounts share the work.
    static let all = OtherNamespaces()

    struct Mounted: Sendable, Equatable {
        var namespace: UInt64
        /// Of the mount that it is on.
        var device: UInt64
        /// From that file system's root.
        var names: [[UInt8]]
        /// Where its namespace shows it.
        var path: [UInt8]
    }

    private struct Namespace {
        var inode: UInt64?
        /// The kernel tells of its mounts.
        var isTold: Bool
    }

    private struct Listener {
        var device: UInt64
        var wake: @Sendable () -> Void
    }

    private struct State {
        var namespaces: [UInt64: Namespace] = [:]
        /// By the id of the mount.
        var mounted: [UInt64: Mounted] = [:]
        var listeners: [UInt64: Listener] = [:]
        var lastListener: UInt64 = 0
        /// When all namespaces were last counted, and how long that took, in monotonic nanoseconds.
        var lastCount: UInt64 = 0
        var duration: UInt64 = 0
    }

    private let state = Lock(State())
    /// Raised when the mounts change.
    private let changes = Atomic<UInt64>(0)
    private let events = try? MountEvents()

    /// Nanoseconds between two counts while entries are exposed, if these take no longer than a fiftieth of it.
    private static let interval: UInt64 = 100_000_000

    /// To wait for; -1: the kernel tells of nothing.
    var descriptor: Int32 { events?.descriptor ?? -1 }

    /// - Parameters:
    ///   - device: of the mount whose objects are of interest.
    ///   - wake: called when the mounts change, while a lock is held.
    func join(_ device: UInt64, wake: @escaping @Sendable () -> Void) -> UInt64 {
        state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = Listener(device: device, wake: wake)
            // Known ones may have mounts on it.
            state.namespaces = [:]
            state.mounted = [:]
            state.lastCount = 0
            return state.lastListener
        }
    }

    func leave(_ listener: UInt64) { state.withLock { _ = $0.listeners.removeValue(forKey: listener) } }

    /// Whether `read` may return something else than before.
    /// - Parameter seen: what it returned as `change`.
    func mayDiffer(since seen: UInt64) -> Bool {
        changes.load(ordering: .relaxed) != seen || (events.map { Syscall.isReadable($0.descriptor) } ?? false)
    }

    /// When to count the namespaces again while entries are exposed, in monotonic nanoseconds.
    var nextCount: UInt64 { state.withLock { $0.lastCount + max(Self.interval, 50 * $0.duration) } }

    /// Counts the namespaces, unless it was done a moment ago.
    /// - Parameter age: nanoseconds that count as a moment.
    func count(notWithin age: UInt64 = 0) {
        state.withLock { state in
            takeEvents(&state)
            let now = SystemTime.monotonic()
            if state.lastCount == 0 || now >= state.lastCount + age { countNamespaces(&state, now) }
        }
    }

    /// The mounts on objects of a mount, by their ids.
    func read(_ device: UInt64) -> (mounted: [UInt64: Mounted], change: UInt64) {
        state.withLock { state in
            if state.lastCount == 0 { countNamespaces(&state, SystemTime.monotonic()) }
            takeEvents(&state)
            return (state.mounted.filter { $0.value.device == device }, changes.load(ordering: .relaxed))
        }
    }

    private func noteChange(_ state: State) {
        changes.add(1, ordering: .relaxed)
        for listener in state.listeners.values { listener.wake() }
    }

    private func takeEvents(_ state: inout State) {
        guard let events, Syscall.isReadable(events.descriptor) else { return }
        do throws(Errno) {
            var hasChanged = false
            for mount in try events.take() {
                let before = state.mounted.removeValue(forKey: mount)
                for namespace in state.namespaces.keys {
                    guard let found = try? MountState(mount, in: namespace) else { continue }
                    note(mount, found, in: namespace, &state)
                    break
                }
                if state.mounted[mount] != before { hasChanged = true }
            }
            if hasChanged { noteChange(state) }
        } catch {
            // Events were lost.
            state.namespaces = [:]
            countNamespaces(&state, SystemTime.monotonic())
        }
    }

    /// Notes a mount if it is on an object of an own mount.
    private func note(_ mount: UInt64, _ found: MountState, in namespace: UInt64, parentDevice: UInt64? = nil, _ state: inout State) {
        guard let device = parentDevice ?? (try? MountState(found.parent, in: namespace).device),
            state.listeners.values.contains(where: { $0.device == device }),
            let place = try? MountState.paths(of: mount, in: namespace), let host = try? MountState.paths(of: found.parent, in: namespace),
            let names = MountsBelow.names(at: place.path, on: host.path, host.root)
        else { return }
        state.mounted[mount] = Mounted(namespace: namespace, device: device, names: names, path: place.path)
    }

    private func countNamespaces(_ state: inout State, _ now: UInt64) {
        defer {
            state.lastCount = now
            state.duration = SystemTime.monotonic() - now
        }
        guard let own = try? MountNamespace.ofThisProcess() else { return }
        let before = state.mounted
        var found: Set<UInt64> = []
        // The order is not that of their age.
        for isNext in [false, true] {
            guard var namespace = try? own.neighbour(isNext: isNext) else { continue }
            while true {
                found.insert(namespace.id)
                readIfNew(namespace, &state)
                guard let next = try? namespace.neighbour(isNext: isNext) else { break }
                namespace = next
            }
        }
        state.namespaces = state.namespaces.filter { found.contains($0.key) }
        state.mounted = state.mounted.filter { found.contains($0.value.namespace) }
        if state.mounted != before { noteChange(state) }
    }

    private func readIfNew(_ namespace: borrowing MountNamespace, _ state: inout State) {
        let id = namespace.id
        if let known = state.namespaces[id] {
            if known.isTold { return }
        } else {
            // The mark comes first, so that no mount is missed.
            var isTold = false
            if let events { isTold = (try? events.add(namespace)) != nil }
            state.namespaces[id] = Namespace(inode: namespace.inode, isTold: isTold)
        }
        state.mounted = state.mounted.filter { $0.value.namespace != id }
        var mounts: [UInt64: MountState] = [:]
        for mount in (try? MountState.ids(in: id)) ?? [] { mounts[mount] = try? MountState(mount, in: id) }
        for (mount, found) in mounts {
            if let parent = mounts[found.parent] { note(mount, found, in: id, parentDevice: parent.device, &state) }
        }
    }

    /// A process of a namespace, for people: its name and number.
    func holder(of namespace: UInt64) -> String? {
        guard let inode = state.withLock({ $0.namespaces[namespace]?.inode }) else { return nil }
        return MountNamespace.process(in: inode)
    }
}
