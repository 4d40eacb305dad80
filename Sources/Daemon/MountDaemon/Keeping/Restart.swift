import ACLFileSystem
import BackingStore
import ControlProtocol
import FuseMounts
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import ToolSupport

/// What the program does that the keeper runs after a death: it closes the dead daemon's mounts to everybody, makes them anew as
/// `aclfs mount` heals a dead mount, and serves them.
package enum Restart {
    /// The word of the command line with which the keeper runs the program.
    package static let word = "keep"

    /// - Parameter words: the number of the state's descriptor. What follows is for people who look at the list of processes.
    /// - Returns: the exit status of the daemon.
    /// - Throws: the state cannot be used, or there were too many deaths. Then the mounts are dead, and closed to everybody.
    package static func perform(_ words: [String]) throws(MountFailure) -> Int32 {
        guard let number = words.first.flatMap({ Int32($0) }), number > 2 else {
            throw MountFailure(
                status: MountExit.wrongUse, message: "\(word) is how the keeper of a daemon runs this program; use aclfs mount")
        }
        let state: KeptState
        let mounts: [KeptMount]
        var left: Left?
        do throws(KeptProblem) {
            state = try KeptState(of: number)
            if !state.isForeground { Journal.useSyslog() }
            mounts = attached(try state.read())
            left = what(state, left: mounts)
        } catch {
            // Also what would keep the connections open.
            KeptState.closeAll(but: [number])
            Journal.useSyslog()
            Journal.note(.warning, "\(error); its mounts are dead, and closed to everybody, until they are mounted again")
            throw MountFailure(status: MountExit.systemError, message: "\(error)")
        }
        try? Syscall.chdir("/")
        if mounts.isEmpty {
            Journal.note(.info, "\(state.death); none of its mounts is left")
            return 0
        }
        if left == nil { abort(mounts) }
        removeSockets(mounts)
        if left?.isAfterDeath ?? true {
            do throws(MountFailure) { try noteDeath(of: mounts, state) } catch {
                // Nobody waits for an answer that never comes.
                if left != nil { abort(mounts) }
                throw error
            }
        }
        do throws(Errno) { try state.split(for: mounts.map { ($0.message.source, $0.message.mountpoint) }) } catch {
            Journal.note(.warning, "there is no keeper for the new daemon: \(error)")
        }
        // Of a large mount they are large, and nobody needs them when it is served.
        let inherited = Lock(left)
        left = nil
        Daemon.runInFreshThread {
            do throws(MountFailure) { return try serve(mounts, inherited.withLock { $0.take() }, state) } catch {
                Journal.note(.warning, "\(error.message); the mounts of the dead daemon stay dead, and closed to everybody")
                return error.status
            }
        }
    }

    /// What a daemon has left with which its connection is served on.
    private struct Left: Sendable {
        var device: Int32
        var tables: SavedTables
        /// Since when nobody is answered, in monotonic nanoseconds.
        var since: UInt64
        /// Set if it died.
        var death: LeftByDeath?
        /// Its live tables, until there are new ones.
        var live: Int32?

        var isAfterDeath: Bool { death != nil }
    }

    /// - Returns: nil: the mounts are made anew.
    private static func what(_ state: KeptState, left mounts: [KeptMount]) -> Left? {
        let asked = state.takeLeft()
        let live = state.live.flatMap { (number) -> Int32? in
            let link = try? Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(number)")
            guard link?.starts(with: "/memfd:\(LeftByDeath.name)".utf8) == true, (try? Syscall.setClosedByExec(number, true)) != nil else {
                return nil
            }
            return number
        }
        var found: Left?
        var problem: (any Error)?
        if let asked, mounts.count == 1 {
            do throws(KeptProblem) {
                let left = try LeftTables(from: asked.tables)
                found = Left(device: left.device, tables: left.tables, since: asked.since, live: live)
            } catch { problem = error }
        } else if let live, mounts.count == 1 {
            do throws(SavedProblem) {
                let left = try LeftByDeath(from: live)
                found = Left(device: left.device, tables: left.tables, since: state.death.time, death: left, live: live)
            } catch { problem = error }
        }
        // What was open in the dead process is here, too.
        state.closeOthers(but: found.map { [$0.device] + $0.tables.descriptors + [$0.live ?? -1] } ?? [])
        if found == nil { state.note(live: nil) }
        if let problem { Journal.note(.warning, "\(problem); the mount is made anew") }
        return found
    }

    /// - Throws: there were too many.
    private static func noteDeath(of mounts: [KeptMount], _ state: KeptState) throws(MountFailure) {
        Journal.note(.warning, "\(state.death); mounts: \(mounts.map(\.message.mountpoint).joined(separator: ", "))")
        let most = mounts.first.map { mostDeaths(of: $0) } ?? 0
        guard state.deaths(within: 60_000_000_000) <= most else {
            let text =
                "the daemon died more than \(most) times in a minute (restarts=\(most)); "
                + "its mounts are dead, and closed to everybody, until they are mounted again"
            Journal.note(.warning, text)
            throw MountFailure(status: MountExit.systemError, message: text)
        }
    }

    /// - Returns: those that are still in the mount table of this process.
    private static func attached(_ mounts: [KeptMount]) -> [KeptMount] {
        let devices = Set(MountTable.entries().filter { $0.type == "fuse.aclfs" }.map(\.device))
        return mounts.filter { devices.contains($0.message.device) }
    }

    /// Ends the connections of the dead daemon, so that callers get errors. A thread that sleeps in the kernel keeps the device open: without
    /// this they would wait for it.
    private static func abort(_ mounts: [KeptMount]) {
        guard let connections = try? FuseConnections() else { return }
        // Only of what is in the table: another mount may have the number of one that has ended.
        for device in mounts.map(\.message.device) {
            if let number = DeviceNumber.parse(device) { try? connections.abort(number) }
        }
    }

    /// Nobody answers there any more, and a thread that sleeps in the kernel keeps them open: whoever asks would wait.
    private static func removeSockets(_ mounts: [KeptMount]) {
        for mount in mounts {
            guard let directory = try? ControlPlace.prepareDirectory(outside: mount.message.mountpoint) else { continue }
            unlink("\(directory)/\(ControlPlace.name(device: mount.message.device))")
        }
    }

    private static func mostDeaths(of mount: KeptMount) -> Int { (try? options(of: mount))?.restarts ?? 0 }

    /// - Returns: the options in force, with what remounts have changed.
    private static func options(of mount: KeptMount) throws(MountFailure) -> MountOptions {
        var options = MountOptions()
        for text in mount.message.options {
            do { try options.apply(text) } catch { throw failure(mount, "\(error)") }
        }
        options.allowOther = options.allowOther || geteuid() == 0
        return options
    }

    private static func failure(_ mount: KeptMount, _ what: String) -> MountFailure {
        MountFailure(status: MountExit.systemError, message: "\(mount.message.mountpoint): \(what)")
    }

    // MARK: In the new daemon

    /// Serves what can be mounted anew. The rest stays dead.
    private static func serve(
        _ mounts: [KeptMount], _ left: Left?, _ state: KeptState
    ) throws(MountFailure) -> Int32 {
        let host = try heal(mounts, left, state)
        // A signal that came meanwhile is pending, and finds the mounts.
        try host.awaitSignals()
        return try host.waitUntilAllEnded()
    }

    private static func heal(
        _ mounts: [KeptMount], _ left: Left?, _ state: KeptState
    ) throws(MountFailure) -> MountHost {
        guard let first = mounts.first else { throw MountFailure(status: MountExit.systemError, message: "there is no mount") }
        let trees = try mounts.map { (mount) throws(MountFailure) in try directory(of: mount) }
        let host = try MountHost.prepared(
            mountpoint: first.message.mountpoint, source: first.message.source, directory: trees[0].rawValue, state)
        if let left, let mount = mounts.first {
            // By then there are new live tables, or none.
            defer { if let number = left.live { close(number) } }
            do throws(MountFailure) {
                try resume(mount, trees[0], left, on: host)
                let wait = SystemTime.monotonic() &- left.since
                state.note(wait: wait)
                Journal.note(
                    .info,
                    "\(mount.message.mountpoint): served by process \(getpid()) (aclfs \(ProgramVersion.text)) after \(wait / 1_000_000) ms"
                )
                return host
            } catch {
                Journal.note(.warning, "\(error.message); the mount is made anew")
                state.note(live: nil)
                abort(mounts)
                removeSockets(mounts)
            }
        }
        let lock = MountLock.acquire()
        // Before one of this daemon answers.
        let areServed = trees.map { HandOver.daemon(serving: $0.rawValue) != nil }
        var reasons: [MountFailure] = []
        for (index, mount) in mounts.enumerated() {
            do throws(MountFailure) {
                if areServed[index] { throw failure(mount, "another daemon serves the directory by now") }
                try heal(mount, trees[index], on: host)
            } catch {
                reasons.append(error)
                Journal.note(.warning, "\(error.message); the mount stays dead, and closed to everybody, until it is mounted again")
            }
            state.remove(device: mount.message.device)
        }
        lock?.release()
        state.noteAnswers()
        if reasons.count == mounts.count, let reason = reasons.first { throw reason }
        return host
    }

    private static func directory(of mount: KeptMount) throws(MountFailure) -> SharedDescriptor {
        do throws(Errno) { return SharedDescriptor(try Syscall.dup(mount.directory)) } catch { throw failure(mount, "\(error)") }
    }

    /// Serves the connection of a mount that another process has served.
    private static func resume(
        _ mount: KeptMount, _ directory: SharedDescriptor, _ left: Left, on host: MountHost
    ) throws(MountFailure) {
        let device: SharedDescriptor
        do throws(Errno) {
            try Syscall.setClosedByExec(left.device, true)
            device = SharedDescriptor(rawValue: left.device)
        } catch { throw failure(mount, "the daemon left no device: \(error)") }
        let table = MountTable.entries()
        let own = table.filter { $0.device == mount.message.device }
        guard let entry = own.first(where: { $0.path == mount.message.mountpoint }) ?? own.first else {
            throw failure(mount, "it is not in the mount table")
        }
        // The first thing that a new daemon does would detach it.
        if left.isAfterDeath, let on = table.first(where: { $0.parent == entry.id }) {
            throw failure(mount, "something is mounted on it (\(on.path))")
        }
        try host.takeOver(
            message(of: mount, entry, isSameMount: true), [device, directory] + (try identities(of: mount).map { [$0] } ?? []),
            resuming: left.tables,
            after: left.death)
    }

    private static func identities(of mount: KeptMount) throws(MountFailure) -> SharedDescriptor? {
        do throws(Errno) {
            return try mount.identities.map { (number) throws(Errno) in SharedDescriptor(try Syscall.dup(number)) }
        } catch { throw failure(mount, "\(error)") }
    }

    /// With the options as remounts have left them. A word stands once, however often daemons die.
    /// - Parameter isSameMount: what the kernel keeps of this one mount goes on, and is not the volume's.
    private static func message(of mount: KeptMount, _ entry: MountEntry, isSameMount: Bool = false) -> ServeMessage {
        var message = mount.message
        let ofOneMount = isSameMount ? ["ro", "rw", "exec", "noexec"] : []
        let words =
            KernelMountFlags(entry).words.filter { !ofOneMount.contains($0) }
            + (mount.isReadOnly ? ["ro"] : isSameMount ? ["rw"] : []) + (mount.forbidsExecution ? ["noexec"] : isSameMount ? ["exec"] : [])
            + ["securelevel=\(mount.securelevel)"]
        message.options = message.options.filter { !words.contains($0) } + words
        return message
    }

    private static func heal(_ mount: KeptMount, _ directory: SharedDescriptor, on host: MountHost) throws(MountFailure) {
        guard geteuid() == 0 else { throw failure(mount, "only root can attach a mount beneath a dead one") }
        guard let entry = oneDead(mount) else { throw failure(mount, "the dead mount is not on top there") }
        // To detach it would take them along, and nobody would be asked any more for what they hide.
        if let on = MountTable.entries().first(where: { $0.parent == entry.id }) {
            throw failure(mount, "something is mounted on it (\(on.path))")
        }
        var message = message(of: mount, entry)
        var changed = mount
        changed.message.options = message.options
        let options = try options(of: changed)
        let dead = DeadMount(mountpoint: message.mountpoint, isMasked: options.maskedKernelFeatures.contains("beneath"))
        if dead.isMasked { throw failure(mount, "no mount can be attached beneath the dead one: hidden by kernel_features") }
        let made = try beneath(dead, options, message)
        message.device = made.device
        let device = SharedDescriptor(rawValue: made.descriptor)
        try host.takeOver(message, [device, directory] + (try identities(of: mount).map { [$0] } ?? []), made.healing)
    }

    /// A death in the middle of a healing leaves two dead mounts, one on the other. Detaches the upper one: the lower one is as closed.
    /// - Returns: the dead mount on top; nil if another mount is there.
    private static func oneDead(_ mount: KeptMount) -> MountEntry? {
        let stack = MountTable.stack(at: mount.message.mountpoint)
        // Those of this tree that nobody serves.
        let dead = stack.prefix { entry in
            entry.type == "fuse.aclfs" && entry.source == stack.first?.source && entry.userID == 0
                && (try? ControlClient(device: entry.device, owner: 0, timeout: 1000)) == nil
        }
        guard let lowest = dead.last, dead.contains(where: { $0.device == mount.message.device }) else { return nil }
        let connections = try? FuseConnections()
        for entry in dead.dropLast() {
            // Its thread that sleeps in the kernel might keep the lower one from being closed.
            if let number = DeviceNumber.parse(lowest.device) { try? connections?.abort(number) }
            guard MountTable.entry(at: mount.message.mountpoint)?.id == entry.id,
                (try? Unmounting.perform(mount.message.mountpoint, lazily: true)) != nil
            else { return nil }
        }
        return lowest
    }

    private static func beneath(
        _ dead: DeadMount, _ options: MountOptions, _ message: ServeMessage
    ) throws(MountFailure) -> (descriptor: Int32, device: String, healing: DeadMount.Healing) {
        let extra = options.contexts.isEmpty ? nil : options.contexts.joined(separator: "\n")
        var reason = "the dead mount is gone"
        var made: (descriptor: Int32, device: String, healing: DeadMount.Healing)?
        do throws(Errno) {
            try FileSystemUser.asRoot { () throws(Errno) in
                do throws(SessionError) {
                    made = try dead.mountBeneath(source: options.fsname ?? message.name, FuseMount.Flags(options), extra: extra) {
                        reason = $0
                    }
                } catch { throw Errno(rawValue: error.errno) }
            }
        } catch { reason = "\(error)" }
        guard let made else {
            throw MountFailure(status: MountExit.failed, message: "\(message.mountpoint): it cannot be mounted anew: \(reason)")
        }
        return made
    }
}
