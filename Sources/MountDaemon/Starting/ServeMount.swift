import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import ToolSupport

extension PreparedMount {
    /// Becomes the daemon of this mount, reports readiness when the kernel has been answered, and serves until it and
    /// all mounts that are handed over later are gone.
    /// - Parameter turn: held by this process until the mount answers.
    func serve(
        _ request: MountRequest, readiness: ReadinessLine?, turn: MountTurn?
    ) throws(MountFailure) -> Int32 {
        if readiness != nil { Journal.useSyslog() }
        for remark in request.remarks { Journal.note(remark) }
        for remark in remarks { Journal.record(remark) }
        let isRoot = geteuid() == 0
        try MountHost.holdSignals()
        warnOfShortLists()
        warnOfPosixACLs()
        noteSharedSource(request.options)
        Syscall.umask(0)
        let control = try ControlDirectory.prepare(mountpoint: mountpoint)
        let grants = GrantStore()
        // What is prepared above is root's; every thread below spends nobody's space.
        if isRoot { try spendAsNobody() }
        // Whoever started us may stand where the mount is going to be.
        do { try Syscall.chdir("/") } catch {
            throw MountFailure(status: MountExit.systemError, message: "cannot change to /: \(error)")
        }
        let attached = try attachAsRoot(request)
        let host = MountHost(control: control, grants: grants, startControl: ControlDirectory.start)
        do throws(MountFailure) {
            // All that may fail for want of threads comes before the mount answers.
            try host.awaitSignals()
            try host.serve(attached, tree: tree) { isServing in
                turn?.end()
                if isServing {
                    attached.uncover()
                    readiness?.ready()
                }
            }
        } catch {
            attached.detach()
            throw error
        }
        return try host.waitUntilAllEnded()
    }

    /// This thread has no account's id by now, and a directory on the way to the mount point may be closed to all but root: on another
    /// mount of ours no capability opens it.
    private func attachAsRoot(_ request: MountRequest) throws(MountFailure) -> AttachedMount {
        var made: Result<AttachedMount, MountFailure>?
        try? FileSystemUser.asRoot { () throws(Errno) in
            made = Result { () throws(MountFailure) in try attach(request) }
        }
        guard let made else { throw MountFailure(status: MountExit.systemError, message: "cannot act as root") }
        return try made.get()
    }

    /// Mounts. Nobody answers there yet.
    func attach(_ request: MountRequest) throws(MountFailure) -> AttachedMount {
        var options = request.options
        // Root's mount is for all users; an ordinary user's is his alone unless he asks otherwise.
        options.allowOther = options.allowOther || geteuid() == 0
        let fsname = options.fsname ?? request.source
        if let dead, let attached = try mount(options, fsname, beneath: dead, request) { return attached }
        let descriptor = try mount(options, fsname: fsname)
        // From the mount table: to stat the mount would be to wait for ourselves.
        guard let entry = MountTable.entry(at: mountpoint), entry.type == "fuse.aclfs" else {
            try? Unmounting.perform(mountpoint, lazily: true)
            close(descriptor)
            throw MountFailure(
                status: MountExit.systemError,
                message: "\(mountpoint): the new mount is not found in /proc/self/mountinfo; is /proc mounted?")
        }
        return AttachedMount(
            source: source, name: request.source, mountpoint: mountpoint, device: entry.device, options: options,
            profile: profile, showsRequests: request.debug, descriptor: descriptor)
    }

    /// - Returns: nil if the kernel cannot; then the dead mount has been taken away.
    private func mount(
        _ options: MountOptions, _ fsname: String, beneath dead: DeadMount, _ request: MountRequest
    ) throws(MountFailure) -> AttachedMount? {
        let made: (descriptor: Int32, device: String, healing: DeadMount.Healing)?
        do {
            made = try dead.mountBeneath(
                source: fsname, FuseMount.Flags(options), extra: options.contexts.isEmpty ? nil : options.contexts.joined(separator: "\n")
            ) { remark in
                printError("aclfs: \(remark)")
                Journal.record(remark)
            }
        } catch { throw failure(error) }
        guard let made else {
            try Unmounting.healDead(mountpoint)
            return nil
        }
        return AttachedMount(
            source: source, name: request.source, mountpoint: mountpoint, device: made.device, options: options,
            profile: profile, showsRequests: request.debug, descriptor: made.descriptor, healing: made.healing)
    }

    private func mount(_ options: MountOptions, fsname: String) throws(MountFailure) -> Int32 {
        let flags = FuseMount.Flags(options)
        // The kernel splits at commas outside quotes, too.
        let contexts = options.contexts.map { $0.contains(",") ? $0.replacingFirst("=", with: "=\"") + "\"" : $0 }
        let extra = contexts.isEmpty ? nil : contexts.joined(separator: ",")
        do {
            if geteuid() == 0 {
                return try FuseMount.mountAsRoot(source: fsname, at: mountpoint, flags: flags, extra: extra)
            }
            return try FuseMount.mountThroughFusermount(
                source: fsname, at: mountpoint, flags: flags, extra: extra, report: { printError($0) })
        } catch { throw failure(error) }
    }

    private func failure(_ error: SessionError) -> MountFailure {
        MountFailure(
            status: MountExit.failed,
            message: "cannot mount on \(mountpoint): \(Errno(rawValue: error.errno))\(hint(error))")
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
}

extension String {
    /// Without Foundation.
    fileprivate func replacingFirst(_ character: Character, with text: String) -> String {
        guard let index = firstIndex(of: character) else { return self }
        return self[..<index] + text + self[self.index(after: index)...]
    }
}
