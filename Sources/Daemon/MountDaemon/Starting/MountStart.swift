import Glibc
import LinuxSystem
import MountOptions
import Mounting
import ToolSupport

/// Mounts: by a new daemon, or by the one that serves the tree already.
package enum MountStart {
    /// Returns when the mount answers; with `-f`, when it has ended.
    /// - Returns: the exit status.
    /// - Throws: the mount failed.
    package static func perform(_ request: MountRequest) throws(MountFailure) -> Int32 {
        // Before inherited descriptors are closed: mount(8) may name the namespace by its descriptor.
        let namespace = try request.namespace.map { (path) throws(MountFailure) in try open(namespace: path) }
        Daemon.closeInherited(besides: namespace?.rawValue)
        let readsProfile = request.options.sandbox.profile != nil && !request.options.isRemount
        let reader = readsProfile ? try ProfileReader() : nil
        if let namespace {
            try system("namespace \(request.namespace ?? "")") { () throws(Errno) in
                try Syscall.enterMountNamespace(namespace.rawValue)
            }
        }
        if request.options.isRemount { return try Remount.perform(request) }
        if request.isHelper, request.options.toleratesMissingSource, access(request.source, F_OK) != 0, errno == ENOENT {
            // mount(8) leaves nofail to its helpers.
            printError("aclfs: source \(request.source) does not exist; nothing is mounted (nofail)")
            return 0
        }
        // A dead mount may be about to be replaced already, by its keeper or another command.
        let isDead = (try? MountPath.resolved(request.mountpoint, role: "mount point")).map { MountServer.isDead($0) } ?? false
        let early = isDead && !request.fake ? MountLock.acquire() : nil
        let mount = try PreparedMount(request, reader)
        let request = try VolumeWords.added(to: request, of: mount.tree, mount.source)
        if request.fake { return 0 }
        if request.isVerbose { printError("aclfs: mounting \(mount.source) on \(mount.mountpoint)") }
        let lock = early ?? MountLock.acquire()
        while let daemon = HandOver.daemon(for: mount) {
            guard try HandOver.perform(mount, request, to: daemon) else {
                SystemTime.sleep(milliseconds: 20)
                continue
            }
            lock?.release()
            if request.foreground { try HandOver.waitWhileMounted(mount.mountpoint) }
            return 0
        }
        if request.options.sandboxing == .caps { try Containment.enter() }
        if request.foreground {
            guard let kept = keeper(of: mount, request) else { return try mount.serve(request, readiness: nil, lock: lock, kept: nil) }
            Daemon.runInFreshThread {
                do throws(MountFailure) { return try mount.serve(request, readiness: nil, lock: lock, kept: kept) } catch {
                    return error.report()
                }
            }
        }
        switch try system("cannot start in the background", { () throws(Errno) in try Daemon.detach() }) {
        case .command(.ready):
            lock?.release()
            return 0
        case .command(.failed(let status, let message)):
            if mount.dead == nil { Unmounting.clearAfterFailure(mount.mountpoint) }
            throw MountFailure(status: Int32(status), message: message)
        case .command(.died):
            if mount.dead == nil { Unmounting.clearAfterFailure(mount.mountpoint) }
            throw MountFailure(
                status: MountExit.systemError, message: "the daemon died before the mount answered; the system's log may say why")
        case .daemon(let readiness):
            // The waiting command prints the failure.
            let pipe = ReadinessPipe(readiness)
            lock?.leaveToCommand()
            let kept = keeper(of: mount, request)
            Daemon.runInFreshThread {
                do throws(MountFailure) { return try mount.serve(request, readiness: pipe, lock: nil, kept: kept) } catch {
                    pipe.fail(error)
                    return error.status
                }
            }
        }
    }

    /// Splits this process in a daemon, in which it returns, and its keeper.
    /// - Returns: what both share; nil if there is no keeper: in another mount namespace, whose program it would run, too.
    private static func keeper(of mount: PreparedMount, _ request: MountRequest) -> KeptState? {
        guard request.options.restarts > 0, request.namespace == nil else { return nil }
        MountHost.liftFileSizeLimit()
        do throws(Errno) {
            let state = try KeptState.new(isForeground: request.foreground)
            try state.split(for: [(mount.source, mount.mountpoint)])
            return state
        } catch {
            printError("aclfs: warning: \(mount.mountpoint): nothing restarts the daemon if it dies: \(error)")
            return nil
        }
    }

    /// Of `mount -N`, in which the source and the mount point are resolved.
    private static func open(namespace path: String) throws(MountFailure) -> SharedDescriptor {
        try system("namespace \(path)") { () throws(Errno) in SharedDescriptor(try Syscall.open(path, OpenFlag.readOnly)) }
    }

    /// Runs a system call whose failure ends the mount.
    private static func system<Value: ~Copyable>(
        _ what: String, _ body: () throws(Errno) -> Value
    ) throws(MountFailure) -> Value {
        do { return try body() } catch {
            throw MountFailure(status: MountExit.systemError, message: "\(what): \(error)")
        }
    }
}

/// The pipe from the daemon to the waiting command. It carries one message, from any thread.
final class ReadinessPipe: Sendable {
    private let pipe: Lock<Daemon.Readiness?>

    init(_ readiness: consuming Daemon.Readiness) { pipe = Lock(readiness) }

    func ready() {
        guard let readiness = pipe.withLock({ $0.take() }) else { return }
        do { try readiness.ready() } catch { printError("aclfs: cannot report readiness: \(error)") }
    }

    func fail(_ failure: MountFailure) {
        guard let readiness = pipe.withLock({ $0.take() }) else { return }
        // If this fails, the command notices that the daemon died.
        try? readiness.fail(status: UInt8(clamping: failure.status), message: failure.message)
    }
}
