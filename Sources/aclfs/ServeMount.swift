import ACLFileSystem
import Authorization
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import Synchronization

extension PreparedMount {
    /// Mounts, reports readiness when the kernel has been answered, and serves until the mount is gone.
    func serve(_ request: MountRequest, readiness: ReadinessLine?) throws(MountFailure) -> Int32 {
        // Root's mount is for all users; an ordinary user's is his alone unless he asks otherwise.
        let isRoot = geteuid() == 0
        var options = request.options
        options.allowOther = options.allowOther || isRoot
        if isRoot { try spendAsNobody() }
        warnOfShortLists()
        try awaitSignals()
        Syscall.umask(0)
        let device = try attach(options, fsname: options.fsname ?? request.source)
        let fileSystem = FileSystem(tree: tree, options: options)
        let negotiated = NegotiatedPaths()
        let dispatch = RequestDispatch(fileSystem) { agreed in
            negotiated.set(agreed)
            readiness?.ready()
        }
        let session: Session
        do {
            var configuration = SessionConfiguration(readdirplus: options.cache != .strict)
            for name in options.maskedKernelFeatures {
                if let feature = KernelFeatures(name: name) { configuration.masked.insert(feature) }
            }
            session = try Session(handler: dispatch, deviceDescriptor: device, configuration: configuration)
        } catch {
            try? Mounting.unmount(mountpoint, lazily: true)
            throw MountFailure(status: MountExit.systemError, message: "cannot serve: \(Errno(rawValue: error.errno))")
        }
        do throws(Errno) {
            try fileSystem.connect(session.notifier, device: MountTable.deviceNumber(at: mountpoint))
        } catch {
            try? Mounting.unmount(mountpoint, lazily: true)
            throw MountFailure(status: MountExit.systemError, message: "cannot serve: \(error)")
        }
        let control = startControl(fileSystem, request.source, negotiated)
        defer { control?.stop() }
        do { try session.run(workers: workerCount()) } catch {
            throw MountFailure(status: MountExit.systemError, message: "serving ended: \(Errno(rawValue: error.errno))")
        }
        return 0
    }

    private func attach(_ options: MountOptions, fsname: String) throws(MountFailure) -> Int32 {
        var flags: Mounting.Flags = []
        if options.volume.isReadOnly { flags.insert(.readOnly) }
        if options.noSuid { flags.insert(.noSetID) }
        if options.noDev { flags.insert(.noDevices) }
        if options.noExec { flags.insert(.noExecution) }
        if options.noAtime { flags.insert(.noAccessTime) }
        if options.synchronous { flags.insert(.synchronous) }
        if options.dirSync { flags.insert(.synchronousDirectories) }
        if options.noDirAtime { flags.insert(.noDirectoryAccessTime) }
        if options.noSymFollow { flags.insert(.noSymlinkFollow) }
        if options.allowOther { flags.insert(.allowOther) }
        let extra = options.contexts.isEmpty ? nil : options.contexts.joined(separator: ",")
        do {
            if geteuid() == 0 {
                return try Mounting.mountAsRoot(source: fsname, at: mountpoint, flags: flags, extra: extra)
            }
            return try Mounting.mountThroughFusermount(source: fsname, at: mountpoint, flags: flags, extra: extra)
        } catch {
            throw MountFailure(
                status: MountExit.failed, message: "cannot mount on \(mountpoint): \(Errno(rawValue: error.errno))")
        }
    }

    /// As many threads as processors serve best; two at least, so that one slow request never stands alone.
    private func workerCount() -> Int { max(2, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 16)) }

    /// A signal that asks the daemon to end takes the mount away first; SIGHUP and SIGPIPE end nothing.
    private func awaitSignals() throws(MountFailure) {
        signal(SIGHUP, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        // Blocked before any thread starts, so that only the waiting thread sees them.
        pthread_sigmask(SIG_BLOCK, &set, nil)
        let waiting = set
        let mountpoint = mountpoint
        do {
            _ = try Thread.start(name: "aclfs-signals") {
                var waiting = waiting
                var number: Int32 = 0
                while true {
                    guard sigwait(&waiting, &number) == 0 else { return }
                    try? Mounting.unmount(mountpoint, lazily: true)
                }
            }
        } catch { throw MountFailure(status: MountExit.systemError, message: "cannot start a thread: \(error)") }
    }
}
