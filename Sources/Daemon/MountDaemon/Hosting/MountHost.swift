import ACLFileSystem
import Authorization
import BackingStore
import ControlProtocol
import FuseMounts
import FuseSession
import Glibc
import Identity
import LinuxSystem
import MountOptions
import Mounting
import SandboxPolicy
import Synchronization
import ToolSupport

/// The mounts that this process serves: of one backing directory, or of directories inside each other. The first is its own. Later
/// commands hand theirs over (docs/internals/architecture.md "One daemon").
///
/// It has extensions by subject: hand-overs, views, places, grants, changes of mounts. All share the list of mounts.
final class MountHost: Sendable {
    private struct Served {
        var mount: AttachedMount
        var tree: BackingTree
        var session: Session
        var fileSystem: FileSystem
        var identities: IdentityWatch?
    }

    private struct State {
        var served: [Served] = []
        var failure: MountFailure?
        /// Whether new mounts are refused.
        var isEnding = false
    }

    /// The views that a user other than root may have at a time.
    static let maximumViewsOfUser = 8

    /// The number of views by user. It has a lock of its own: a view may end while `state` is locked.
    private let views = Lock<[UInt32: Int]>([:])
    private let treeMounts = TreeMounts(report: { Journal.note(.warning, $0) })
    private let state = Lock(State())
    /// Gets an item when a mount ends.
    private let ended = WorkQueue<Void>(capacity: .max)
    private let control: String?
    private let controlStart: ControlStart
    /// What outlives this process; nil without a keeper.
    let kept: KeptState?
    let store: GrantStore
    /// Of the one mount that is served.
    private let liveTables = Lock<LiveTablesFile?>(nil)
    /// Whether this process is about to leave its mount to another one.
    let upgrading = Atomic<Bool>(false)
    /// The objects that grants follow.
    var followed: FollowedObjects { treeMounts.followed }
    /// Gets an item when one of them has moved. One that waits stands for all moves before it.
    let updates = WorkQueue<Void>(capacity: 1)
    let isUpdating = Lock(false)
    /// Held while grants change, and while a new mount reads them.
    private let granting = Lock(())

    /// Starts the control server of a mount in a directory.
    typealias ControlStart =
        @Sendable (
            FileSystem, BackingTree, AttachedMount, NegotiatedFeatures, MountWatch, String, MountHost
        ) -> ControlServer?

    /// - Parameters:
    ///   - control: the directory of the control sockets; nil: no mount has one.
    ///   - grants: the files of grants.
    ///   - startControl: called for each mount but views.
    ///   - kept: what outlives this process; nil without a keeper.
    init(control: String?, grants: GrantStore, startControl: @escaping ControlStart, kept: KeptState?) {
        (self.control, store, controlStart, self.kept) = (control, grants, startControl, kept)
    }

    /// Makes this process one that serves mounts. Call before any other thread starts.
    /// - Parameters:
    ///   - mountpoint: of the first mount.
    ///   - source: its backing directory, for messages.
    ///   - directory: a descriptor of that.
    ///   - kept: as of `init`.
    static func prepared(
        mountpoint: String, source: String, directory: Int32, _ kept: KeptState?
    ) throws(MountFailure) -> MountHost {
        try blockSignals()
        Syscall.umask(0)
        let control = try ControlDirectory.prepare(mountpoint: mountpoint)
        let grants = GrantStore()
        // All later threads have the restricted fsuid, so that root's reserve is not spent.
        if geteuid() == 0 { try RootReserve.drop(in: directory, source) }
        // The working directory may lie where the mount is going to be.
        do { try Syscall.chdir("/") } catch {
            throw MountFailure(status: MountExit.systemError, message: "cannot change to /: \(error)")
        }
        return MountHost(control: control, grants: grants, startControl: ControlDirectory.start, kept: kept)
    }

    /// Serves a mount on threads of its own.
    /// - Parameters:
    ///   - tables: set if another process has served its connection.
    ///   - death: set if that process died.
    ///   - whenServing: called with true when FUSE_INIT is answered, and with false when serving ends.
    /// - Throws: the mount cannot be served.
    func serve(
        _ mount: AttachedMount, tree: BackingTree, resuming tables: SavedTables? = nil, after death: LeftByDeath? = nil,
        _ whenServing: @escaping @Sendable (Bool) -> Void
    ) throws(MountFailure) {
        let isResumed = tables != nil
        // The command prints the warnings of a view. Any user may make views, so the log has no lines about them.
        let warnings = mount.view == nil ? mount.profile.map { MountProfile.warnings(of: $0) } ?? [] : []
        for warning in warnings { Journal.record(.warning, "warning: \(warning)") }
        let profile = try confiningProfile(mount, tree)
        let fileSystem = FileSystem(
            tree: tree, options: mount.options, mounts: treeMounts, profile: profile, base: mount.view?.base,
            lent: mount.view?.lent ?? [],
            identities: try identities(mount), audit: try audit(mount), creationNotes: creationNotes(mount, tree),
            resuming: tables,
            report: { Journal.note(.warning, $0) })
        if let healing = mount.healing { fileSystem.follow(predecessor: healing.isDeadInUse ?? { true }) }
        let negotiated = NegotiatedFeatures(mount.options, server: tree.sharedFileSystem(of: tree.root))
        let dispatch = RequestDispatch(fileSystem) { [self] agreed in
            negotiated.set(agreed, watchObstacle: fileSystem.obstacleToWatching)
            keep(mount, tree, fileSystem)
            keepLive(mount, fileSystem, agreed)
            whenServing(true)
        }
        Transport.setPersons { PersonBehind.system.payer(of: $0, tid: 0) }
        let session: Session
        do {
            var configuration = SessionConfiguration(
                transport: tables == nil ? mount.options.sessionTransport : .device, readdirplus: mount.options.cache != .strict,
                passthroughDepth: Self.passthroughDepth(mount.options, tree), debug: mount.showsRequests)
            for name in mount.options.maskedKernelFeatures {
                if let feature = KernelFeatures(name: name) { configuration.masked.insert(feature) }
            }
            session = try Session(
                handler: dispatch, deviceDescriptor: mount.descriptor, configuration: configuration, resuming: tables?.session,
                resends: death != nil)
        } catch {
            // The log of decisions has a thread that must end.
            fileSystem.disconnect()
            throw Self.failure("cannot serve", Errno(rawValue: error.errno))
        }
        let watch: MountWatch
        let server: ControlServer?
        let identities: IdentityWatch?
        do throws(Errno) { identities = try mount.identities.map { (file) throws(Errno) in try IdentityWatch(file) } } catch {
            fileSystem.disconnect()
            throw Self.failure("cannot watch the file of identities", error)
        }
        do throws(Errno) {
            watch = try MountWatch(device: mount.device, mountpoint: mount.mountpoint)
            try fileSystem.connect(session.notifier, device: mount.deviceNumber)
            // A view has no control socket: a confined command may ask nothing.
            try watch.start(fileSystem)
            try identities?.start(fileSystem)
            server = mount.view == nil ? startControl(fileSystem, tree, mount, negotiated, watch) : nil
        } catch {
            identities?.stop()
            fileSystem.disconnect()
            // Entries exposed on another mount must be invalidated first, and a listing in progress prevents that.
            let reason =
                error == .timedout ? "a program on another mount of this directory has not read a directory listing to its end" : nil
            throw MountFailure(status: MountExit.systemError, message: "cannot serve: \(reason ?? Self.text(error))")
        }
        // The mount is not served: other mounts must send it no invalidations.
        func abandon() {
            watch.stop()
            identities?.stop()
            server?.stop()
            fileSystem.disconnect()
        }
        if let tables {
            do throws(SavedProblem) {
                if let death { try fileSystem.restore(death) } else { try fileSystem.restore(tables) }
            } catch {
                abandon()
                throw MountFailure(status: MountExit.systemError, message: "\(error)")
            }
        }
        let isAdmitted = withGrantsLocked {
            let isAdmitted = state.withLock { state in
                // What is about to leave takes no other mount along.
                if state.isEnding || upgrading.load(ordering: .sequentiallyConsistent) { return false }
                state.served.append(
                    Served(mount: mount, tree: tree, session: session, fileSystem: fileSystem, identities: identities))
                return true
            }
            guard isAdmitted else { return false }
            updateFollowedGrants()
            if let profile, profile.bundle != nil {
                let files = store.files { Journal.note(.warning, $0) }
                // The kernel has cached nothing yet, so this cannot fail.
                try? fileSystem.changeGrants(GrantScope.grants(for: profile, on: tree, followed, in: files))
            }
            return true
        }
        guard isAdmitted else {
            abandon()
            throw MountFailure(status: MountExit.systemError, message: "cannot serve: the daemon is ending, or being upgraded")
        }
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs-session") { [self] in
                var failure: MountFailure?
                do throws(SessionError) { try session.run(workers: Self.workerCount()) } catch {
                    failure = Self.failure(ending: error)
                    // A mount that was served stays as a dead one, since it may hide its own source. One that never was is detached.
                    if !negotiated.areKnown, !isResumed { mount.detach() }
                }
                whenServing(false)
                watch.stop()
                identities?.stop()
                server?.stop()
                if mount.view == nil { kept?.remove(device: mount.device) }
                remove(session, failure)
            }
        } catch {
            abandon()
            remove(session, nil)
            throw Self.failure("cannot start a thread", error)
        }
    }

    /// - Returns: the profile of a mount, which closes the files of grants; nil without one.
    private func confiningProfile(_ mount: AttachedMount, _ tree: BackingTree) throws(MountFailure) -> SandboxProfile? {
        guard var profile = mount.profile else { return nil }
        do throws(Errno) {
            profile.closed = try store.closedPlace?.places(inside: tree) ?? []
        } catch { throw Self.failure("cannot find out whether the directory of the grants lies below the source", error) }
        // The closed paths may exceed the limits of a profile.
        do { _ = try profile.table() } catch {
            throw MountFailure(status: MountExit.failed, message: "profile \(profile.name): \(error.description)")
        }
        return profile
    }

    /// Removes a mount. With the last one the daemon ends.
    private func remove(_ session: Session, _ failure: MountFailure?) {
        state.withLock { state in
            state.served.removeAll { $0.session === session }
            state.failure = state.failure ?? failure
            if state.served.isEmpty { state.isEnding = true }
        }
        ended.add(())
    }

    var isEnding: Bool { state.withLock { $0.isEnding } }

    /// Waits for the last mount to end.
    /// - Returns: the exit status of the daemon.
    /// - Throws: the first failure of a mount.
    func waitUntilAllEnded() throws(MountFailure) -> Int32 {
        // This thread sleeps only here.
        kept?.watchThisThread()
        while !state.withLock({ $0.isEnding }) { _ = ended.next() }
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return 0
    }

    private static func failure(ending error: SessionError) -> MountFailure {
        guard error.step == .transport else { return failure("serving ended", Errno(rawValue: error.errno)) }
        return TransportChoice.refusal(RingObstacle.present()?.description ?? "the kernel does not offer io_uring to this mount")
    }

    private static func failure(_ what: String, _ error: Errno) -> MountFailure {
        MountFailure(status: MountExit.systemError, message: "\(what): \(text(error))")
    }

    private static func text(_ error: Errno) -> String {
        error == .again ? "\(error); this user may have no more threads (ulimit -u)" : "\(error)"
    }

    /// One thread for each processor, from 2 to 16. With two a slow request does not block all others.
    private static func workerCount() -> Int { max(2, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 16)) }

    /// The stacking depth to request; 0 if the kernel would refuse passthrough. A stacked backing file system needs 2, and then no overlay
    /// can use this mount.
    private static func passthroughDepth(_ options: MountOptions, _ tree: BackingTree) -> UInt32 {
        guard options.passthrough == .auto, geteuid() == 0, !tree.opensAsCaller(device: tree.root.key.device) else { return 0 }
        guard let root = try? tree.descriptor(of: tree.root), let type = try? Syscall.fileSystemType(root.rawValue) else {
            return 1
        }
        return type == FileSystemType.overlay ? 2 : 1
    }

    private func startControl(
        _ fileSystem: FileSystem, _ tree: BackingTree, _ mount: AttachedMount, _ negotiated: NegotiatedFeatures,
        _ watch: MountWatch
    ) -> ControlServer? {
        guard let control else { return nil }
        return controlStart(fileSystem, tree, mount, negotiated, watch, control, self)
    }

    func withGrantsLocked<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        try granting.withLock { _ throws(Failure) in try body() }
    }

    /// The mounts with a profile, views included.
    var confined: [(mountpoint: String, profile: SandboxProfile, tree: BackingTree, fileSystem: FileSystem)] {
        state.withLock { state in
            state.served.compactMap { served in
                served.mount.profile.map { (served.mount.mountpoint, $0, served.tree, served.fileSystem) }
            }
        }
    }

    /// All mounts, views included.
    var served: [(mount: AttachedMount, session: Session, fileSystem: FileSystem)] {
        state.withLock { $0.served.map { ($0.mount, $0.session, $0.fileSystem) } }
    }

    /// The trees of all mounts.
    var trees: [(tree: BackingTree, followsMounts: Bool)] {
        state.withLock { $0.served.map { ($0.tree, $0.mount.options.crossMounts) } }
    }
}

// MARK: Views

extension MountHost {
    /// All mounts but views.
    var mounts: [(mount: AttachedMount, tree: BackingTree)] {
        state.withLock { $0.served.filter { $0.mount.view == nil }.map { ($0.mount, $0.tree) } }
    }

    /// - Returns: the number of views of a mount.
    func views(of fileSystem: FileSystem) -> Int {
        state.withLock { $0.served.filter { $0.mount.view?.base === fileSystem }.count }
    }

    /// - Returns: the containers of the views of a mount, as names from its top.
    func containers(ofViewsOf fileSystem: FileSystem) -> [[[UInt8]]] {
        state.withLock { state in
            state.served.filter { $0.mount.view?.base === fileSystem }.compactMap { served in
                guard let profile = served.mount.profile, let bundle = profile.bundle else { return nil }
                return profile.layout.container(bundle: bundle, home: profile.home)
            }
        }
    }

    /// One of the views that a user may have at a time. Its end frees the slot.
    final class ViewSlot: Sendable {
        private let host: MountHost
        private let payer: UInt32

        /// - Throws: the user has reached the limit.
        init(_ host: MountHost, of peer: ControlSocket.Peer) throws(MountFailure) {
            let payer = PersonBehind.system.payer(of: peer.uid, tid: peer.pid)
            let isAdmitted = host.views.withLock { views in
                let held = views[payer, default: 0]
                guard payer == 0 || held < MountHost.maximumViewsOfUser else { return false }
                views[payer] = held + 1
                return true
            }
            guard isAdmitted else {
                throw MountFailure(
                    status: MountExit.systemError,
                    message: "user \(payer) already runs \(MountHost.maximumViewsOfUser) sandboxes on mounts of this daemon, the most that "
                        + "one user may run")
            }
            (self.host, self.payer) = (host, payer)
        }

        deinit {
            host.views.withLock { views in
                let held = views[payer, default: 1]
                views[payer] = held > 1 ? held - 1 : nil
            }
        }
    }
}

// MARK: What outlives the daemon

extension MountHost {
    /// Notes a mount that answers, so that a new daemon can serve it after a death. A view ends with its daemon.
    private func keep(_ mount: AttachedMount, _ tree: BackingTree, _ fileSystem: FileSystem) {
        guard let kept, mount.view == nil else { return }
        do throws(Errno) {
            let directory = try kept.hold(try tree.descriptor(of: tree.root).rawValue)
            let identities = try mount.identities.map { (file) throws(Errno) in try kept.hold(file.directory.rawValue) }
            let volume = fileSystem.volume
            try kept.add(
                KeptMount(
                    message: ServeMessage(
                        source: mount.source, name: mount.name, mountpoint: mount.mountpoint, device: mount.device,
                        metadata: tree.metadataName, options: mount.optionTexts, profile: mount.profile.map { ProfileForm($0) }),
                    directory: directory, identities: identities, isReadOnly: volume.isReadOnly,
                    forbidsExecution: volume.forbidsExecution, securelevel: volume.securelevel))
            let follow: @Sendable (VolumeState) -> Void = { volume in
                do throws(Errno) {
                    try kept.update(device: mount.device) { mount in
                        (mount.isReadOnly, mount.forbidsExecution) = (volume.isReadOnly, volume.forbidsExecution)
                        mount.securelevel = volume.securelevel
                    }
                } catch { Journal.note(.warning, "\(mount.mountpoint): a daemon after this one would not know of the remount: \(error)") }
            }
            fileSystem.followVolume(follow)
            // A remount may have come in between.
            follow(fileSystem.volume)
        } catch { Journal.note(.warning, "\(mount.mountpoint): it will be dead if the daemon dies: \(error)") }
    }
}

extension MountHost {
    /// Keeps tables with which another process can serve the connection after a death. They are of one mount.
    private func keepLive(_ mount: AttachedMount, _ fileSystem: FileSystem, _ agreed: Negotiated) {
        guard let kept, geteuid() == 0, mount.view == nil else { return }
        let own = served
        guard own.filter({ $0.mount.view == nil }).count == 1, let session = own.first(where: { $0.fileSystem === fileSystem })?.session,
            let saved = session.saved(agreed), !Upgrade.isRead(through: mount.mountpoint)
        else {
            liveTables.withLock { $0.take() }?.giveUp()
            return kept.note(live: nil)
        }
        let live = fileSystem.startLiveTables(device: mount.descriptor, saved)
        liveTables.withLock { $0 = live }
        kept.note(live: live?.descriptor)
    }
}

// MARK: Notes of creations

extension MountHost {
    /// Removes the leftovers of a crash, and opens the notes. A view uses those of its mount.
    private func creationNotes(_ mount: AttachedMount, _ tree: BackingTree) -> CreationNotes? {
        guard let control, mount.view == nil else { return nil }
        return CreationNotes.open(
            in: control + "/creations", for: tree, isReadOnly: mount.options.volume.isReadOnly, report: { Journal.note(.warning, $0) })
    }
}

// MARK: The log of decisions

extension MountHost {
    /// nil for a view, which uses the log of its mount.
    private func audit(_ mount: AttachedMount) throws(MountFailure) -> AuditLog? {
        guard mount.options.audit.mode != .off, mount.view == nil else { return nil }
        do throws(Errno) {
            return try AuditLog(mount.options.audit, mountpoint: mount.mountpoint, report: { Journal.note(.warning, $0) })
        } catch { throw Self.failure(ofAudit: mount, error) }
    }

    private static func failure(ofAudit mount: AttachedMount, _ error: Errno) -> MountFailure {
        MountFailure(status: MountExit.failed, message: "audit_log=\(mount.options.audit.log ?? ""): \(AuditLog.reason(error))")
    }

    /// - Throws: the log could not be opened now.
    func checkAudit(_ mount: AttachedMount) throws(MountFailure) {
        guard mount.options.audit.mode != .off, mount.view == nil, let path = mount.options.audit.log else { return }
        do throws(Errno) { try AuditLog.check(path) } catch { throw Self.failure(ofAudit: mount, error) }
    }

    /// Called on SIGHUP: for log rotation, and for a file that changed where the kernel does not tell of it.
    private func reopenFiles() {
        for served in state.withLock({ $0.served }) {
            served.fileSystem.reopenAudit()
            served.identities?.reread()
        }
    }
}

// MARK: Identities from elsewhere

extension MountHost {
    /// - Returns: what the file says; nil without one, and for a view.
    func identities(_ mount: AttachedMount) throws(MountFailure) -> IdentityMap? {
        guard let file = mount.identities else { return nil }
        do throws(IdentityFile.Problem) { return IdentityMap(try file.read()) } catch { throw IdentityFile.failure(error, of: file.path) }
    }
}

// MARK: Signals

extension MountHost {
    /// `ulimit -f` of the shell that mounted must not limit the users, for whom the kernel checks their own limits, nor end this process.
    static func liftFileSizeLimit() {
        signal(SIGXFSZ, SIG_IGN)
        try? Syscall.liftFileSizeLimit()
    }

    /// Blocks the signals of the waiting thread, and ignores SIGPIPE and SIGXFSZ. Call before any thread starts.
    static func blockSignals() throws(MountFailure) {
        signal(SIGHUP, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        liftFileSizeLimit()
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

    /// Starts the thread that waits for signals. SIGTERM and SIGINT detach all mounts that no other mount hides, and end the daemon.
    /// - Throws: there is no thread.
    func awaitSignals() throws(MountFailure) {
        try Self.onEndSignals(hangUp: { [self] in reopenFiles() }) { [self] in
            let all = state.withLock { state in
                // Without a mount the daemon ends at once.
                if state.served.isEmpty { state.isEnding = true }
                return state.served
            }
            if all.isEmpty { ended.add(()) }
            // A sandbox holds the mounts that it hides. Detaching them does not end them.
            let areHeld = all.contains { $0.mount.view != nil }
            for served in all {
                let isOnTop = MountTable.entry(at: served.mount.mountpoint)?.device == served.mount.device
                if isOnTop { served.mount.detach() }
                if !isOnTop || areHeld { served.session.stop() }
            }
        }
    }

    /// Starts a thread that waits for signals.
    /// - Parameters:
    ///   - hangUp: called for each SIGHUP.
    ///   - body: called for each SIGTERM and SIGINT.
    /// - Throws: there is no thread.
    static func onEndSignals(
        hangUp: @escaping @Sendable () -> Void = {}, _ body: @escaping @Sendable () -> Void
    ) throws(MountFailure) {
        try blockSignals()
        let waiting = awaitedSignals()
        do throws(Errno) {
            _ = try Thread.start(name: "aclfs-signals") {
                var waiting = waiting
                var number: Int32 = 0
                var last: UInt64?
                while sigwait(&waiting, &number) == 0 {
                    if number == SIGHUP {
                        hangUp()
                        continue
                    }
                    // What is sent to the whole control group comes from the keeper, too.
                    let now = SystemTime.monotonic()
                    if last.map({ now - $0 > 100_000_000 }) ?? true { body() }
                    last = now
                }
            }
        } catch { throw failure("cannot start a thread", error) }
    }
}
