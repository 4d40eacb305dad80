import ControlProtocol
import FuseMounts
import Glibc
import LinuxSystem
import Mounting
import SandboxPolicy
import ToolSupport

/// A view of the share: a mount confined by the profile, to be attached in the sandbox.
///
/// Root's daemon makes a detached mount in the initial user namespace: no id is translated, and outside nothing shows it. An ordinary
/// user's daemon can make no mount: this process makes it through fusermount3 in a private directory and hands it over. A helper
/// process unmounts it there when this process has its copy.
struct SandboxRunView {
    let places: PlacesAnswer
    private let mount: SharedDescriptor?
    private let temporary: Temporary?

    /// The mount in the initial mount namespace.
    private struct Temporary {
        var path: String
        /// A socket to the helper. The helper unmounts when it is closed.
        var socket: SharedDescriptor
        var helper: Int32
    }

    private static let temporaryName = "view-"

    /// Whether a mount is the temporary view of some `aclfs sandbox run` of the caller.
    static func isTemporary(_ entry: MountEntry) -> Bool {
        guard entry.path.split(separator: "/").last?.hasPrefix(temporaryName) == true else { return false }
        return ControlPlace.directories(of: geteuid()).contains { directory in
            entry.path.hasPrefix(((try? MountPath.real(directory)) ?? directory) + "/" + temporaryName)
        }
    }

    /// Takes the view over. Call once, in the sandbox's mount namespace.
    /// - Throws: the temporary mount cannot be copied.
    func take() throws(SandboxRunFailure) -> SharedDescriptor {
        if let mount { return mount }
        guard let temporary else { throw SandboxRunFailure("the daemon returned no view") }
        do throws(Errno) {
            let top = try Syscall.open(temporary.path, OpenFlag.path | OpenFlag.directory)
            let copy = SharedDescriptor(try Syscall.cloneMount(top.rawValue))
            shutdown(temporary.socket.rawValue, Int32(SHUT_RDWR))
            while waitpid(temporary.helper, nil, 0) < 0, errno == EINTR {}
            return copy
        } catch { throw NamespaceSettings.failure("cannot copy the view into the sandbox", error) }
    }

    /// A view that root's daemon makes.
    static func made(
        by entry: MountEntry, _ profile: SandboxProfile, _ top: SharedDescriptor
    ) throws(SandboxRunFailure) -> SandboxRunView {
        let (answer, descriptors) = try ask(entry, ViewMessage(ProfileForm(profile)), [top.rawValue], mayTake: true)
        guard let mount = descriptors.first else { throw SandboxRunFailure("\(entry.path): the daemon returned no view") }
        return SandboxRunView(places: answer, mount: mount, temporary: nil)
    }

    /// A view that this process mounts and the caller's own daemon serves.
    static func own(
        _ entry: MountEntry, _ profile: SandboxProfile, _ top: SharedDescriptor
    ) throws(SandboxRunFailure) -> SandboxRunView {
        let path: String
        let directory: String
        do throws(ControlPlace.Obstacle) { directory = try ControlPlace.prepareDirectory() } catch {
            throw SandboxRunFailure("cannot make a directory to mount the view on: \(error)")
        }
        do throws(Errno) {
            path = try MountPath.real(directory) + "/\(temporaryName)\(getpid())"
            _ = rmdir(path)
            try Syscall.mkdirat(Syscall.workingDirectory, path, mode: 0o700)
        } catch { throw SandboxRunFailure("cannot make a directory to mount the view on", error) }
        // Before the mount is made: the helper unmounts it however this process ends.
        let (socket, helper) = try startHelper(path)
        var flags = FuseMount.Flags(entry)
        flags.remove(.allowOther)
        let device: SharedDescriptor
        do throws(SessionError) {
            device = SharedDescriptor(
                rawValue: try FuseMount.mountThroughFusermount(
                    source: entry.source, at: path, flags: flags, report: { printError($0) }))
        } catch {
            throw SandboxRunFailure("cannot mount the view on \(path)", Errno(rawValue: error.errno))
        }
        guard let mounted = MountTable.entry(at: path), mounted.type == "fuse.aclfs" else {
            throw SandboxRunFailure("\(path): the new mount is not found in /proc/self/mountinfo")
        }
        let (answer, _) = try ask(
            entry, ViewMessage(ProfileForm(profile), device: mounted.device), [top.rawValue, device.rawValue])
        return SandboxRunView(
            places: answer, mount: nil, temporary: Temporary(path: path, socket: socket, helper: helper))
    }

    private static func ask(
        _ entry: MountEntry, _ request: ViewMessage, _ descriptors: [Int32], mayTake: Bool = false
    ) throws(SandboxRunFailure) -> (PlacesAnswer, [SharedDescriptor]) {
        let told = try SandboxRunShare.ask(entry, request, with: descriptors, mayTake: mayTake)
        guard let places = told.answer.places else {
            throw SandboxRunFailure("\(entry.path): \(ControlError.notUnderstood)")
        }
        return (places, told.descriptors)
    }

    private static func startHelper(_ path: String) throws(SandboxRunFailure) -> (SharedDescriptor, Int32) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SandboxRunFailure("cannot make a socket pair", Errno(rawValue: errno))
        }
        let helper: Int32
        do throws(Errno) { helper = try Syscall.fork() } catch {
            throw SandboxRunFailure("cannot start a process", error)
        }
        if helper == 0 {
            close(ends[1])
            for signal in [SIGINT, SIGHUP, SIGTERM, SIGQUIT] { Glibc.signal(signal, SIG_IGN) }
            var byte: UInt8 = 0
            while read(ends[0], &byte, 1) < 0, errno == EINTR {}
            if MountTable.entry(at: path)?.type == "fuse.aclfs" { try? Unmounting.perform(path, lazily: true) }
            rmdir(path)
            _exit(0)
        }
        close(ends[0])
        return (SharedDescriptor(rawValue: ends[1]), helper)
    }
}
