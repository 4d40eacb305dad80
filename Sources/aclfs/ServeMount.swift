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
        if readiness != nil { Journal.useSyslog() }
        for remark in request.remarks { Journal.note(remark) }
        // Root's mount is for all users; an ordinary user's is his alone unless he asks otherwise.
        let isRoot = geteuid() == 0
        var options = request.options
        options.allowOther = options.allowOther || isRoot
        try holdSignals()
        warnOfShortLists()
        Syscall.umask(0)
        let control = ControlDirectory.prepare(mountpoint: mountpoint)
        // What is prepared above is root's; every thread below spends nobody's space.
        if isRoot { try spendAsNobody() }
        // Whoever started us may stand where the mount is going to be.
        do { try Syscall.chdir("/") } catch {
            throw MountFailure(status: MountExit.systemError, message: "cannot change to /: \(error)")
        }
        let device = try attach(options, fsname: options.fsname ?? request.source)
        // From the mount table: to stat the mount would be to wait for ourselves.
        guard let entry = MountTable.entry(at: mountpoint), entry.type == "fuse.aclfs" else {
            try? Unmounting.perform(mountpoint, lazily: true)
            throw MountFailure(
                status: MountExit.systemError,
                message: "\(mountpoint): the new mount is not found in /proc/self/mountinfo; is /proc mounted?")
        }
        let watch = MountWatch(device: entry.device, mountpoint: mountpoint)
        let fileSystem = FileSystem(tree: tree, options: options)
        let negotiated = NegotiatedPaths(options)
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
            try? Unmounting.perform(mountpoint, lazily: true)
            throw MountFailure(status: MountExit.systemError, message: "cannot serve: \(Errno(rawValue: error.errno))")
        }
        do throws(Errno) {
            try fileSystem.connect(session.notifier, device: MountTable.deviceNumber(at: mountpoint))
        } catch {
            try? Unmounting.perform(mountpoint, lazily: true)
            throw MountFailure(status: MountExit.systemError, message: "cannot serve: \(error)")
        }
        let server = control.flatMap { startControl(fileSystem, request.source, negotiated, watch, in: $0) }
        defer { server?.stop() }
        do throws(Errno) {
            try watch.start(fileSystem)
            try awaitSignals(session, entry.device)
        } catch {
            try? Unmounting.perform(mountpoint, lazily: true)
            throw MountFailure(status: MountExit.systemError, message: "cannot start a thread: \(error)")
        }
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
        // The kernel splits at commas outside quotes, too.
        let contexts = options.contexts.map { $0.contains(",") ? $0.replacingFirst("=", with: "=\"") + "\"" : $0 }
        let extra = contexts.isEmpty ? nil : contexts.joined(separator: ",")
        do {
            if geteuid() == 0 {
                return try Mounting.mountAsRoot(source: fsname, at: mountpoint, flags: flags, extra: extra)
            }
            return try Mounting.mountThroughFusermount(source: fsname, at: mountpoint, flags: flags, extra: extra)
        } catch {
            throw MountFailure(
                status: MountExit.failed,
                message: "cannot mount on \(mountpoint): \(Errno(rawValue: error.errno))\(hint(error))")
        }
    }

    private func hint(_ error: SessionError) -> String {
        switch (error.step, Errno(rawValue: error.errno)) {
        case (.mountThroughFusermount, .noent): "; fusermount3 cannot be started: install the package fuse3"
        case (.mountThroughFusermount, .perm): "; fusermount3 says why"
        case (_, .perm): "; mount(2) needs the capability CAP_SYS_ADMIN, which this root has not"
        case (_, .nodev): "; this kernel knows no FUSE (modprobe fuse)"
        default: ""
        }
    }

    /// As many threads as processors serve best; two at least, so that one slow request never stands alone.
    private func workerCount() -> Int { max(2, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 16)) }

    /// Before any thread starts, so that only the waiting one sees them; SIGHUP and SIGPIPE end nothing.
    private func holdSignals() throws(MountFailure) {
        signal(SIGHUP, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        var set = endSignals()
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private func endSignals() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        return set
    }

    /// A signal that asks the daemon to end takes the mount away first, unless another one covers it now.
    private func awaitSignals(_ session: Session, _ device: String) throws(Errno) {
        let (waiting, mountpoint) = (endSignals(), mountpoint)
        _ = try Thread.start(name: "aclfs-signals") {
            var waiting = waiting
            var number: Int32 = 0
            while sigwait(&waiting, &number) == 0 {
                if MountTable.entry(at: mountpoint)?.device == device {
                    try? Unmounting.perform(mountpoint, lazily: true)
                } else {
                    session.stop()
                }
            }
        }
    }
}

extension String {
    /// Without Foundation.
    fileprivate func replacingFirst(_ character: Character, with text: String) -> String {
        guard let index = firstIndex(of: character) else { return self }
        return self[..<index] + text + self[self.index(after: index)...]
    }
}
