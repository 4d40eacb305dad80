import ACLFileSystem
import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import SandboxPolicy
import ToolSupport

/// The mounts that this process serves: of one backing directory, or of directories one inside the other. The first is
/// its own, later ones are handed over by the commands that made them (docs/architecture.md "One daemon").
final class MountHost: Sendable {
    private struct Served {
        var mount: AttachedMount
        var tree: BackingTree
        var session: Session
        var fileSystem: FileSystem
    }

    private struct State {
        var served: [Served] = []
        var failure: MountFailure?
        /// Nothing is taken over any more.
        var isEnding = false
    }

    /// Views that one user other than root holds at a time.
    static let viewsOfOneUser = 8

    /// How many views each user has. A lock of its own: one may end while the other is held.
    private let views = Lock<[UInt32: Int]>([:])
    private let share = Share(report: { Journal.note(.warning, $0) })
    private let state = Lock(State())
    /// Gets an item whenever a mount has ended.
    private let ended = WorkQueue<Void>(capacity: .max)
    private let control: String?
    private let controlStart: ControlStart
    let store: GrantStore
    /// Held while grants change, and while a mount begins with those there are.
    private let granting = Lock(())

    /// Starts the control server of a mount, in a directory.
    typealias ControlStart =
        @Sendable (
            FileSystem, BackingTree, AttachedMount, NegotiatedPaths, MountWatch, String, MountHost
        ) -> ControlServer?

    /// - Parameters:
    ///   - control: the directory of the control sockets, if there may be any.
    ///   - startControl: is called for each mount that clients may ask.
    init(control: String?, grants: GrantStore, startControl: @escaping ControlStart) {
        (self.control, store, controlStart) = (control, grants, startControl)
    }

    /// Starts to serve a mount on threads of its own.
    /// - Parameter whenServing: called once: true when the kernel has introduced itself, false if it never did.
    func serve(
        _ mount: AttachedMount, tree: BackingTree, _ whenServing: @escaping @Sendable (Bool) -> Void
    ) throws(MountFailure) {
        // Who asks for a view is told by his own command; anybody may ask, so the log says nothing.
        let warnings = mount.view == nil ? mount.profile.map { MountProfile.warnings(of: $0) } ?? [] : []
        for warning in warnings { Journal.record(.warning, "warning: \(warning)") }
        let profile = try confining(mount, tree)
        let fileSystem = FileSystem(
            tree: tree, options: mount.options, share: share, profile: profile, base: mount.view?.base,
            audit: try audit(mount), creationNotes: creationNotes(mount, tree), report: { Journal.note(.warning, $0) })
        let negotiated = NegotiatedPaths(mount.options)
        let dispatch = RequestDispatch(fileSystem) { agreed in
            negotiated.set(agreed)
            whenServing(true)
        }
        let session: Session
        do {
            var configuration = SessionConfiguration(
                transport: mount.options.sessionTransport, readdirplus: mount.options.cache != .strict,
                passthroughDepth: Self.passthroughDepth(mount.options, tree), debug: mount.showsRequests)
            for name in mount.options.maskedKernelFeatures {
                if let feature = KernelFeatures(name: name) { configuration.masked.insert(feature) }
            }
            session = try Session(handler: dispatch, deviceDescriptor: mount.descriptor, configuration: configuration)
        } catch {
            // The log of decisions has a thread.
            fileSystem.disconnect()
            throw Self.failure("cannot serve", Errno(rawValue: error.errno))
        }
        let watch: MountWatch
        let server: ControlServer?
        do throws(Errno) {
            watch = try MountWatch(device: mount.device, mountpoint: mount.mountpoint)
            try fileSystem.connect(session.notifier, device: mount.deviceNumber)
            // Whoever is confined asks nothing; everybody else asks the mount itself.
            try watch.start(fileSystem)
            server = mount.view == nil ? startControl(fileSystem, tree, mount, negotiated, watch) : nil
        } catch {
            fileSystem.disconnect()
            // What another mount's kernel keeps must be taken back first, and somebody does not let it go.
            let reason = error == .timedout ? "a listing on another mount of this directory is not read to its end" : nil
            throw MountFailure(status: MountExit.systemError, message: "cannot serve: \(reason ?? Self.text(error))")
        }
        let isAdmitted = withGrantsHeld {
            if let profile, profile.bundle != nil {
                // No kernel holds anything yet that could not be taken back.
                try? fileSystem.changeGrants(GrantScope.grants(for: profile, on: tree, in: store.files { Journal.note(.warning, $0) }))
            }
            return state.withLock { state in
                if state.isEnding { return false }
                state.served.append(Served(mount: mount, tree: tree, session: session, fileSystem: fileSystem))
                return true
            }
        }
        // Nobody will serve it: the others must not go on telling it what they change.
        func abandon() {
            watch.stop()
            server?.stop()
            fileSystem.disconnect()
        }
        guard isAdmitted else {
            abandon()
            throw MountFailure(status: MountExit.systemError, message: "cannot serve: the daemon is ending")
        }
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs-session") { [self] in
                var failure: MountFailure?
                do throws(SessionError) { try session.run(workers: Self.workerCount()) } catch {
                    failure = Self.failure(ending: error)
                    // One that was served stays, dead: it may cover its own source. Of this one nobody has seen anything.
                    if !negotiated.areKnown { mount.detach() }
                }
                whenServing(false)
                watch.stop()
                server?.stop()
                forget(session, failure)
            }
        } catch {
            abandon()
            forget(session, nil)
            throw Self.failure("cannot start a thread", error)
        }
    }

    /// What confines a mount, with the grants themselves out of its reach.
    private func confining(_ mount: AttachedMount, _ tree: BackingTree) throws(MountFailure) -> SandboxProfile? {
        guard var profile = mount.profile else { return nil }
        do throws(Errno) {
            profile.closed = try store.closedPlace?.places(inside: tree) ?? []
        } catch { throw Self.failure("cannot tell whether the grants are seen below the source", error) }
        // Which may be some places too many.
        do { _ = try profile.table() } catch {
            throw MountFailure(status: MountExit.failed, message: "profile \(profile.name): \(error.description)")
        }
        return profile
    }

    /// With the last one the daemon ends, whatever ended it.
    private func forget(_ session: Session, _ failure: MountFailure?) {
        state.withLock { state in
            state.served.removeAll { $0.session === session }
            state.failure = state.failure ?? failure
            if state.served.isEmpty { state.isEnding = true }
        }
        ended.add(())
    }

    var isEnding: Bool { state.withLock { $0.isEnding } }

    /// The daemon ends when the last mount does.
    func waitUntilAllEnded() throws(MountFailure) -> Int32 {
        while !state.withLock({ $0.isEnding }) { _ = ended.next() }
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return 0
    }

    private static func failure(ending error: SessionError) -> MountFailure {
        guard error.step == .transport else { return failure("serving ended", Errno(rawValue: error.errno)) }
        return TransportChoice.refusal(RingObstacle.present()?.description ?? "the kernel does not offer it to this mount")
    }

    private static func failure(_ what: String, _ error: Errno) -> MountFailure {
        MountFailure(status: MountExit.systemError, message: "\(what): \(text(error))")
    }

    private static func text(_ error: Errno) -> String {
        error == .again ? "\(error); how many threads may this user have (ulimit -u)?" : "\(error)"
    }

    /// As many threads as processors serve best; two at least, so that one slow request never stands alone.
    private static func workerCount() -> Int { max(2, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 16)) }

    /// What the kernel is asked for: nothing if it would be refused. A backing file system that is itself stacked takes one
    /// level more, and then no overlay can stand on this mount.
    private static func passthroughDepth(_ options: MountOptions, _ tree: BackingTree) -> UInt32 {
        guard options.passthrough == .auto, geteuid() == 0 else { return 0 }
        guard let root = try? tree.descriptor(of: tree.root), let type = try? Syscall.fileSystemType(root.rawValue) else {
            return 1
        }
        return type == FileSystemType.overlay ? 2 : 1
    }

    private func startControl(
        _ fileSystem: FileSystem, _ tree: BackingTree, _ mount: AttachedMount, _ negotiated: NegotiatedPaths,
        _ watch: MountWatch
    ) -> ControlServer? {
        guard let control else { return nil }
        return controlStart(fileSystem, tree, mount, negotiated, watch, control, self)
    }

    func withGrantsHeld<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        try granting.withLock { _ throws(Failure) in try body() }
    }

    /// The mounts that a profile confines.
    var confined: [(mountpoint: String, profile: SandboxProfile, tree: BackingTree, fileSystem: FileSystem)] {
        state.withLock { state in
            state.served.compactMap { served in
                served.mount.profile.map { (served.mount.mountpoint, $0, served.tree, served.fileSystem) }
            }
        }
    }

    /// What is served now, for those who ask whether a directory belongs here.
    var trees: [(tree: BackingTree, followsMounts: Bool)] {
        state.withLock { $0.served.map { ($0.tree, $0.mount.options.crossMounts) } }
    }
}

// MARK: Views

extension MountHost {
    /// The mounts that anybody can see, views left out.
    var mounts: [(mount: AttachedMount, tree: BackingTree)] {
        state.withLock { $0.served.filter { $0.mount.view == nil }.map { ($0.mount, $0.tree) } }
    }

    /// How many views of this mount there are for `aclfs sandbox run`.
    func views(of fileSystem: FileSystem) -> Int {
        state.withLock { $0.served.filter { $0.mount.view?.base === fileSystem }.count }
    }

    /// One of the views that a user may have at a time; given back when it is gone.
    final class ViewRoom: Sendable {
        private let host: MountHost
        private let uid: UInt32

        /// - Throws: if the user has as many as he may.
        init(_ host: MountHost, of uid: UInt32) throws(MountFailure) {
            let isAdmitted = host.views.withLock { views in
                let held = views[uid, default: 0]
                guard uid == 0 || held < MountHost.viewsOfOneUser else { return false }
                views[uid] = held + 1
                return true
            }
            guard isAdmitted else {
                throw MountFailure(
                    status: MountExit.systemError,
                    message: "this user has \(MountHost.viewsOfOneUser) sandboxes on shares of this daemon already, the most "
                        + "there may be")
            }
            (self.host, self.uid) = (host, uid)
        }

        deinit {
            host.views.withLock { views in
                let held = views[uid, default: 1]
                views[uid] = held > 1 ? held - 1 : nil
            }
        }
    }
}

// MARK: What a crash leaves

extension MountHost {
    /// After what an earlier daemon left half made in the tree was removed. A view has its mount's.
    private func creationNotes(_ mount: AttachedMount, _ tree: BackingTree) -> CreationNotes? {
        guard let control, mount.view == nil else { return nil }
        return CreationNotes.open(
            in: control + "/creations", for: tree, isReadOnly: mount.options.volume.isReadOnly, report: { Journal.note(.warning, $0) })
    }
}

// MARK: The log of decisions

extension MountHost {
    /// Of a view it is the mount's.
    private func audit(_ mount: AttachedMount) throws(MountFailure) -> AuditLog? {
        guard mount.options.audit.mode != .off, mount.view == nil else { return nil }
        do throws(Errno) {
            return try AuditLog(mount.options.audit, mountpoint: mount.mountpoint, report: { Journal.note(.warning, $0) })
        } catch {
            throw MountFailure(
                status: MountExit.failed, message: "audit_log=\(mount.options.audit.log ?? ""): \(AuditLog.reason(error))")
        }
    }

    /// On SIGHUP, as of all programs whose logs are moved away.
    private func reopenLogs() {
        for served in state.withLock({ $0.served }) { served.fileSystem.reopenAudit() }
    }
}

// MARK: Signals

extension MountHost {
    /// Before any thread starts, so that only the waiting one sees them; SIGHUP, SIGPIPE and SIGXFSZ end nothing.
    static func holdSignals() throws(MountFailure) {
        signal(SIGHUP, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        // `ulimit -f` of the shell that mounted is not its users'; the kernel has asked about theirs.
        signal(SIGXFSZ, SIG_IGN)
        try? Syscall.liftFileSizeLimit()
        var set = awaitedSignals()
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private static func awaitedSignals() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        sigaddset(&set, SIGHUP)
        return set
    }

    /// A signal that asks the daemon to end takes its mounts away first, but none that another one covers now.
    func awaitSignals() throws(MountFailure) {
        try Self.onEndSignals(hangUp: { [self] in reopenLogs() }) { [self] in
            let all = state.withLock { state in
                // Before the first is served, none is any more.
                if state.served.isEmpty { state.isEnding = true }
                return state.served
            }
            if all.isEmpty { ended.add(()) }
            // A sandbox holds the mounts that it covers; taking them away here does not end them.
            let areHeld = all.contains { $0.mount.view != nil }
            for served in all {
                let isOnTop = MountTable.entry(at: served.mount.mountpoint)?.device == served.mount.device
                if isOnTop { served.mount.detach() }
                if !isOnTop || areHeld { served.session.stop() }
            }
        }
    }

    /// Has `body` called, on a thread of its own, for each signal that asks this process to end, and `hangUp` for each SIGHUP.
    static func onEndSignals(
        hangUp: @escaping @Sendable () -> Void = {}, _ body: @escaping @Sendable () -> Void
    ) throws(MountFailure) {
        try holdSignals()
        let waiting = awaitedSignals()
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs-signals") {
                var waiting = waiting
                var number: Int32 = 0
                while sigwait(&waiting, &number) == 0 {
                    if number == SIGHUP { hangUp() } else { body() }
                }
            }
        } catch { throw failure("cannot start a thread", error) }
    }
}
