import BackingStore
import FuseMounts
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import ToolSupport

extension PreparedMount {
    /// Becomes the daemon of this mount. Serves until it and all mounts that are handed over later have ended.
    /// - Parameters:
    ///   - request: the request.
    ///   - readiness: told when FUSE_INIT is answered.
    ///   - lock: held until the mount answers.
    ///   - kept: what the keeper has; nil without one.
    /// - Returns: the exit status.
    /// - Throws: the mount failed.
    func serve(
        _ request: MountRequest, readiness: ReadinessPipe?, lock: MountLock?, kept: KeptState?
    ) throws(MountFailure) -> Int32 {
        if readiness != nil { Journal.useSyslog() }
        for remark in request.remarks { Journal.note(.info, remark) }
        for remark in remarks { Journal.record(.warning, remark) }
        warnOfShortLists()
        warnOfPosixACLs(request.options)
        warnOfIgnoredRules(request.options)
        noteSharedSource(request.options)
        let directory = try rootDescriptor()
        let host = try MountHost.prepared(mountpoint: mountpoint, source: source, directory: directory.rawValue, kept)
        let attached = try attachAsRoot(request)
        do throws(MountFailure) {
            // Threads start before the mount answers, since their start may fail.
            try host.awaitSignals()
            try host.serve(attached, tree: tree) { isServing in
                lock?.release()
                if isServing {
                    attached.finishHealing()
                    readiness?.ready()
                }
            }
        } catch {
            attached.detach()
            throw error
        }
        return try host.waitUntilAllEnded()
    }

    private func rootDescriptor() throws(MountFailure) -> SharedDescriptor {
        do { return try tree.descriptor(of: tree.root) } catch {
            throw MountFailure(status: MountExit.systemError, message: "\(source): \(error)")
        }
    }

    /// Mounts as root. This thread has the restricted fsuid, and a directory above the mount point may be closed to all but root: on
    /// another aclfs mount no capability opens it.
    private func attachAsRoot(_ request: MountRequest) throws(MountFailure) -> AttachedMount {
        var made: Result<AttachedMount, MountFailure>?
        try? FileSystemUser.asRoot { () throws(Errno) in
            made = Result { () throws(MountFailure) in try attach(request) }
        }
        guard let made else { throw MountFailure(status: MountExit.systemError, message: "cannot act as root") }
        return try made.get()
    }

    /// Mounts. No daemon serves the mount yet.
    func attach(_ request: MountRequest) throws(MountFailure) -> AttachedMount {
        var options = request.options
        // A mount of root is for all users, one of an ordinary user for its user unless the options say otherwise.
        options.allowOther = options.allowOther || geteuid() == 0
        let fsname = options.fsname ?? request.source
        if let dead, let attached = try mount(options, fsname, beneath: dead, request) { return attached }
        let descriptor = try mount(options, fsname: fsname)
        // From the mount table: stat(2) of the mount would wait for this process itself.
        guard let entry = MountTable.entry(at: mountpoint), entry.type == "fuse.aclfs" else {
            try? Unmounting.perform(mountpoint, lazily: true)
            close(descriptor)
            throw MountFailure(
                status: MountExit.systemError,
                message: "\(mountpoint): the new mount is not found in /proc/self/mountinfo; is /proc mounted?")
        }
        return AttachedMount(
            source: source, name: request.source, mountpoint: mountpoint, device: entry.device, options: options,
            profile: profile, identities: identities, optionTexts: request.optionTexts, showsRequests: request.debug,
            descriptor: descriptor)
    }

    /// - Returns: nil if the kernel cannot mount beneath. Then the dead mount has been unmounted.
    private func mount(
        _ options: MountOptions, _ fsname: String, beneath dead: DeadMount, _ request: MountRequest
    ) throws(MountFailure) -> AttachedMount? {
        let made: (descriptor: Int32, device: String, healing: DeadMount.Healing)?
        do {
            made = try dead.mountBeneath(
                source: fsname, FuseMount.Flags(options), extra: options.contexts.isEmpty ? nil : options.contexts.joined(separator: "\n")
            ) { reason in
                let remark = dead.notice(reason)
                printError("aclfs: \(remark)")
                Journal.record(.warning, remark)
            }
        } catch { throw failure(error) }
        guard let made else {
            try Unmounting.healDead(mountpoint)
            return nil
        }
        return AttachedMount(
            source: source, name: request.source, mountpoint: mountpoint, device: made.device, options: options,
            profile: profile, identities: identities, optionTexts: request.optionTexts, showsRequests: request.debug,
            descriptor: made.descriptor, healing: made.healing)
    }

    private func mount(_ options: MountOptions, fsname: String) throws(MountFailure) -> Int32 {
        let flags = FuseMount.Flags(options)
        // The kernel splits at commas outside quotes.
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
        case (.mountThroughFusermount, .perm): "; the message of fusermount3 above has the reason"
        case (_, .perm): "; mount(2) needs the capability CAP_SYS_ADMIN, which this process does not have"
        case (_, .nodev): "; this kernel has no FUSE: load the module (modprobe fuse)"
        default: ""
        }
    }
}

extension String {
    /// The standard library has no such function.
    fileprivate func replacingFirst(_ character: Character, with text: String) -> String {
        guard let index = firstIndex(of: character) else { return self }
        return self[..<index] + text + self[self.index(after: index)...]
    }
}
