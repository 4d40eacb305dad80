import ACLFormats
import Glibc
import LinuxSystem
import Mounting
import ProfileFiles
import SandboxPolicy
import SandboxProfiles
import ToolSupport

/// `aclfs sandbox run PROFILE … -- COMMAND …` (docs/guide/sandbox-run.md), step by step.
package enum SandboxRunSequence {
    /// - Returns: the exit status of the command; 2 if nothing was started.
    package static func run(_ request: SandboxRunRequest) -> Int32 {
        do throws(SandboxRunFailure) {
            guard !request.command.isEmpty else { throw SandboxRunFailure("no command is given: write it after --") }
            return try perform(request)
        } catch {
            printError("aclfs: sandbox run: \(error.message)")
            return 2
        }
    }

    private static func perform(_ request: SandboxRunRequest) throws(SandboxRunFailure) -> Int32 {
        try beginClean()
        try NamespaceSettings.check()
        let share = try SandboxRunShare(request.mount)
        let profile = try profile(request, share.mountpoint)
        for warning in MountProfile.warnings(of: profile) { printError("aclfs: warning: \(warning)") }
        let places = try share.places()
        try SandboxRunDescriptors.check(places.all)
        let container = SandboxRunContainer(profile, mountpoint: Array(share.mountpoint.utf8))
        container?.make()
        let start = workingDirectory()
        let devices = SandboxRunDevices()
        let closedDirectories = try places.closedDirectories()
        let view = try share.view(profile)

        let signals = SandboxRunSignals.block()
        try SandboxRunNamespaces.enterFirst()
        let shown = try view.take()
        var isolation = SandboxMountIsolation(
            places: try share.places(with: view, places), sockets: places.sockets, closedDirectories: closedDirectories,
            view: shown.rawValue)
        try isolation.hideAll()
        try checkShare(share, shown)
        container?.setEnvironment()

        let inside = SandboxRunInside(
            command: request.command, workingDirectories: [start, container?.path].compactMap { $0 } + [[0x2F]],
            signals: signals, devices: devices, channel: -1)
        return try startInside(inside)
    }

    // MARK: Preparation

    /// Refuses set-id programs and closes all descriptors but the standard ones.
    private static func beginClean() throws(SandboxRunFailure) {
        guard geteuid() == getuid(), getegid() == getgid() else {
            throw SandboxRunFailure("aclfs must not run set-uid or set-gid")
        }
        // A closed standard descriptor would be reused, and the command would inherit a file of this process.
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            guard descriptor >= 0 else { throw SandboxRunFailure("cannot open /dev/null", Errno(rawValue: errno)) }
            if descriptor > 2 {
                close(descriptor)
                break
            }
        }
        do throws(Errno) { try Syscall.closeAll(from: 3) } catch {
            throw SandboxRunFailure("cannot close inherited descriptors (close_range, Linux 5.9)", error)
        }
    }

    private static func profile(
        _ request: SandboxRunRequest, _ mountpoint: String
    ) throws(SandboxRunFailure) -> SandboxProfile {
        func text(_ word: [UInt8]?) throws(SandboxRunFailure) -> String? {
            guard let word else { return nil }
            guard let text = String(validating: word, as: UTF8.self) else {
                throw SandboxRunFailure("\(escapedName(word)): not UTF-8 text")
            }
            return text
        }
        let layoutWord = try text(request.layout)
        var layout = ContainerLayout.macos
        if let layoutWord {
            guard let known = ContainerLayout(rawValue: layoutWord) else {
                throw SandboxRunFailure("--layout \(escapedName(layoutWord.utf8)): expected macos or ios")
            }
            layout = known
        }
        let bundle = try text(request.bundle)
        if let bundle, !ContainerLayout.isIdentifier(bundle) {
            throw SandboxRunFailure("--bundle \(escapedName(bundle.utf8)): expected an identifier such as org.example.App")
        }
        guard bundle != nil || layoutWord == nil else {
            throw SandboxRunFailure("--layout is the layout of an application's container: add --bundle ID")
        }
        let said = try text(request.home) ?? "/"
        let home = MountProfile.home(said, [mountpoint])
        guard !home.contains([0x2E]), !home.contains([0x2E, 0x2E]) else {
            throw SandboxRunFailure("--home must be a path without . and ..")
        }
        if let problem = ProfileHome.problem("--home \(said)", home, through: mountpoint) { throw SandboxRunFailure(problem) }
        let name = try text(request.profile) ?? ""
        do throws(ProfileProblem) {
            return try SandboxProfile.read(name, bundle: bundle, home: home, layout: layout)
        } catch { throw SandboxRunFailure(error.description) }
    }

    private static func workingDirectory() -> [UInt8]? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return UnsafeBufferPointer(start: path, count: strlen(path)).map { UInt8(bitPattern: $0) }
    }

    // MARK: Inside the first namespaces

    /// - Throws: the share's path does not lead to the view.
    private static func checkShare(_ share: SandboxRunShare, _ view: SharedDescriptor) throws(SandboxRunFailure) {
        do throws(Errno) {
            let there = try Syscall.statxAt(Syscall.workingDirectory, share.mountpoint, flags: AtFlag.dontSync)
            if try Syscall.statx(view.rawValue, flags: AtFlag.dontSync).device == there.device { return }
        } catch { throw SandboxRunFailure(share.mountpoint, error) }
        throw SandboxRunFailure("\(share.mountpoint) does not lead to the view of the share: another mount hides it")
    }

    // MARK: The process namespace

    private static func startInside(_ inside: SandboxRunInside) throws(SandboxRunFailure) -> Int32 {
        var inside = inside
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0 else {
            throw SandboxRunFailure("cannot make a socket pair", Errno(rawValue: errno))
        }
        let process: Int32
        do throws(Errno) {
            try Syscall.unshare(NamespaceKind.process)
            process = try Syscall.fork()
        } catch { throw NamespaceSettings.failure("cannot make a process namespace", error) }
        if process == 0 {
            close(ends[0])
            inside.channel = ends[1]
            _exit(inside.run())
        }
        // No descriptor of this process may keep the view alive after the sandbox.
        dup2(ends[0], 3)
        try? Syscall.closeAll(from: 4)
        var supervisor = SandboxRunSupervisor(process: process, channel: 3)
        return supervisor.wait()
    }
}

/// The user and mount namespace in which the paths are hidden.
enum SandboxRunNamespaces {
    /// - Throws: the kernel refuses the namespaces.
    static func enterFirst() throws(SandboxRunFailure) {
        let (uid, gid) = (geteuid(), getegid())
        do throws(Errno) {
            try Syscall.chdir("/")
            // The kernel refuses it under a changed root (chroot), whose mount table may be incomplete.
            try Syscall.unshare(NamespaceKind.user | NamespaceKind.mount)
            try Syscall.mapOnly(uid: uid, gid: gid)
            // No later mount of outside propagates into it.
            try Syscall.mount(
                source: nil, target: "/", type: nil, flags: MountFlag.recursive | MountFlag.makePrivate)
        } catch { throw NamespaceSettings.failure("cannot make a user and a mount namespace", error) }
    }
}

/// The command line of `aclfs sandbox run`, as bytes.
package struct SandboxRunRequest {
    package var profile: [UInt8]
    package var bundle: [UInt8]?
    package var home: [UInt8]?
    package var layout: [UInt8]?
    package var mount: [UInt8]?
    /// The program and its arguments.
    package var command: [[UInt8]]

    package init(
        profile: [UInt8], bundle: [UInt8]?, home: [UInt8]?, layout: [UInt8]?, mount: [UInt8]?, command: [[UInt8]]
    ) {
        (self.profile, self.bundle, self.home) = (profile, bundle, home)
        (self.layout, self.mount, self.command) = (layout, mount, command)
    }
}
