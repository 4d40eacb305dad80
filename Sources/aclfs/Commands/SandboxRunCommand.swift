import ACLFormats
import Glibc
import LinuxSystem
import Mounting
import SandboxPolicy
import SandboxProfiles
import ToolSupport

/// `aclfs sandbox run PROFILE … -- COMMAND …` (docs/sandbox-run.md).
enum SandboxRunCommand {
    /// - Parameter words: after `run`.
    static func run(_ words: [[UInt8]]) -> Int32 {
        let end = words.firstIndex(of: Array("--".utf8))
        let command = end.map { Array(words[($0 + 1)...]) } ?? []
        return SandboxRunArguments.run(Array(words[..<(end ?? words.count)]), wrongUse: 2) { arguments in
            do throws(SandboxRunFailure) {
                guard !command.isEmpty else { throw SandboxRunFailure("no command: it stands after --") }
                return try perform(arguments, command)
            } catch {
                printError("aclfs: sandbox run: \(error.message)")
                return 2
            }
        }
    }

    private static func perform(
        _ arguments: SandboxRunArguments, _ command: [[UInt8]]
    ) throws(SandboxRunFailure) -> Int32 {
        try beginClean()
        try NamespaceSettings.check()
        let share = try SandboxRunShare(arguments.mount?.bytes)
        let profile = try profile(arguments, share.mountpoint)
        for warning in MountProfile.warnings(of: profile) { printError("aclfs: warning: \(warning)") }
        let places = try share.places()
        try SandboxRunDescriptors.check(places.all)
        let container = SandboxRunContainer(profile, mountpoint: Array(share.mountpoint.utf8))
        container?.make()
        let start = workingDirectory()
        let devices = SandboxRunDevices()
        let doors = try places.doors()
        let view = try share.view(profile)

        let signals = SandboxRunSignals.hold()
        try enterFirstNamespaces(share)
        let shown = try view.descriptor()
        var walls = SandboxWalls(
            places: try share.places(with: view, places), sockets: places.sockets, doors: doors, view: shown.rawValue)
        try walls.raise()
        try checkShare(share, shown)
        container?.setEnvironment()

        let inside = SandboxRunInside(
            command: command, workingDirectories: [start, container?.path].compactMap { $0 } + [[0x2F]],
            signals: signals, devices: devices, line: -1)
        return try startInside(inside)
    }

    // MARK: Before

    private static func beginClean() throws(SandboxRunFailure) {
        guard geteuid() == getuid(), getegid() == getgid() else {
            throw SandboxRunFailure("it must not be started set-uid or set-gid")
        }
        // So that nothing of ours ever becomes a standard descriptor of the command's.
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            guard descriptor >= 0 else { throw SandboxRunFailure("/dev/null", Errno(rawValue: errno)) }
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
        _ arguments: SandboxRunArguments, _ mountpoint: String
    ) throws(SandboxRunFailure) -> SandboxProfile {
        func text(_ word: ByteWord?) throws(SandboxRunFailure) -> String? {
            guard let word else { return nil }
            guard let text = String(validating: word.bytes, as: UTF8.self) else {
                throw SandboxRunFailure("\(escapedName(word.bytes)): not UTF-8 text")
            }
            return text
        }
        let layoutWord = try text(arguments.layout)
        var layout = ContainerLayout.macos
        if let layoutWord {
            guard let known = ContainerLayout(rawValue: layoutWord) else {
                throw SandboxRunFailure("--layout \(escapedName(layoutWord.utf8)): expected macos or ios")
            }
            layout = known
        }
        let bundle = try text(arguments.bundle)
        if let bundle, !ContainerLayout.isIdentifier(bundle) {
            throw SandboxRunFailure("--bundle \(escapedName(bundle.utf8)): expected an identifier such as org.example.App")
        }
        guard bundle != nil || layoutWord == nil else { throw SandboxRunFailure("--layout says how a container is divided: add --bundle ID") }
        let said = try text(arguments.home) ?? "/"
        let home = MountProfile.home(said, [mountpoint])
        guard !home.contains([0x2E]), !home.contains([0x2E, 0x2E]) else {
            throw SandboxRunFailure("--home must be a path without . and ..")
        }
        if let problem = ProfileHome.problem("--home \(said)", home, through: mountpoint) { throw SandboxRunFailure(problem) }
        let name = try text(arguments.profile) ?? ""
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

    private static func enterFirstNamespaces(_ share: SandboxRunShare) throws(SandboxRunFailure) {
        let (uid, gid) = (geteuid(), getegid())
        do throws(Errno) {
            try Syscall.chdir("/")
            // The kernel refuses it under a changed root, around which there may be mounts that stand in no table here.
            try Syscall.unshare(NamespaceKind.user | NamespaceKind.mount)
            try Syscall.mapOnly(uid: uid, gid: gid)
            // What is mounted outside from now on stays outside.
            try Syscall.mount(
                source: nil, target: "/", type: nil, flags: MountFlag.recursive | MountFlag.makePrivate)
        } catch { throw NamespaceSettings.failure("cannot make namespaces", error) }
    }

    /// What stands at the share's path now is the view.
    private static func checkShare(_ share: SandboxRunShare, _ view: SharedDescriptor) throws(SandboxRunFailure) {
        do throws(Errno) {
            let there = try Syscall.statxAt(Syscall.workingDirectory, share.mountpoint, flags: AtFlag.dontSync)
            if try Syscall.statx(view.rawValue, flags: AtFlag.dontSync).device == there.device { return }
        } catch { throw SandboxRunFailure(share.mountpoint, error) }
        throw SandboxRunFailure("\(share.mountpoint): the view does not stand there")
    }

    // MARK: The process namespace

    private static func startInside(_ inside: SandboxRunInside) throws(SandboxRunFailure) -> Int32 {
        var inside = inside
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0 else {
            throw SandboxRunFailure("cannot make a line to the sandbox", Errno(rawValue: errno))
        }
        let process: Int32
        do throws(Errno) {
            try Syscall.unshare(NamespaceKind.process)
            process = try Syscall.fork()
        } catch { throw NamespaceSettings.failure("cannot make a process namespace", error) }
        if process == 0 {
            close(ends[0])
            inside.line = ends[1]
            _exit(inside.run())
        }
        // Nothing here may keep the view alive once the sandbox has ended.
        dup2(ends[0], 3)
        try? Syscall.closeAll(from: 4)
        var supervisor = SandboxRunSupervisor(process: process, line: 3)
        return supervisor.wait()
    }
}
