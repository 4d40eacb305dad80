import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import ProfileFiles
import SandboxPolicy
import ToolSupport

/// The process that reads the property list of a profile: `aclfs`, which has a reader (docs/decisions/0039-two-programs.md). It gets the
/// bytes of the file, and opens nothing itself.
final class ProfileReader {
    private let channel: SharedDescriptor
    private let process: pid_t

    /// Starts the process. Call it before this one enters another mount namespace, where the program may not be.
    /// - Throws: the program is not there, or the system has no room for a process.
    init() throws(MountFailure) {
        let path = try OtherProgram.path(of: OtherProgram.command)
        do throws(Errno) { (channel, process) = try Self.start(path) } catch {
            throw MountFailure(status: MountExit.systemError, message: "cannot start \(path), which reads profiles: \(error)")
        }
    }

    private static func start(_ path: String) throws(Errno) -> (SharedDescriptor, pid_t) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Errno(rawValue: errno)
        }
        let (own, other) = (SharedDescriptor(rawValue: ends[0]), SharedDescriptor(rawValue: ends[1]))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for standard in [STDIN_FILENO, STDOUT_FILENO] { posix_spawn_file_actions_adddup2(&actions, other.rawValue, standard) }
        let line = [path, EntitlementsAnswer.word]
        var words: [UnsafeMutablePointer<CChar>?] = line.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        // Nothing of the caller's environment.
        var nothing: [UnsafeMutablePointer<CChar>?] = [nil]
        var process: pid_t = 0
        let failure = withExtendedLifetime(other) { posix_spawn(&process, path, &actions, nil, &words, &nothing) }
        if failure != 0 { throw Errno(rawValue: failure) }
        return (own, process)
    }

    /// Reads one list. Later calls fail.
    /// - Parameter list: the bytes of the file.
    /// - Throws: `malformed`.
    func entitlements(_ list: [UInt8]) throws(ProfileProblem) -> Entitlements {
        let said = answer(to: list)
        // One that goes on writing ends.
        shutdown(channel.rawValue, Int32(SHUT_RDWR))
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard said.count <= EntitlementsAnswer.longest else {
            throw ProfileProblem(.malformed, "its keys and values are longer than \(SandboxProfile.longestMessage / 1024) KiB")
        }
        guard status == 0 else {
            throw ProfileProblem(.malformed, "the process that reads it has ended without an answer (status \(status) of wait(2))")
        }
        let answer: EntitlementsAnswer
        do { answer = try EntitlementsAnswer(reading: said) } catch {
            throw ProfileProblem(.malformed, "the process that reads it gave a wrong answer: \(error.message)")
        }
        guard answer.program == ProgramVersion.text else {
            throw ProfileProblem(
                .malformed,
                "it is read by aclfs, which is version \(escapedName(answer.program.utf8)), while aclfsd is version "
                    + "\(ProgramVersion.text); install both from one package")
        }
        do { return try answer.entitlements.get() } catch { throw ProfileProblem(.malformed, error.message) }
    }

    /// Writes the list, then reads until the process has ended: it says nothing before it has read everything.
    private func answer(to list: [UInt8]) -> [UInt8] {
        let noSignal = Int32(MSG_NOSIGNAL)
        var rest = list[...]
        while !rest.isEmpty {
            // A process that has ended shows in its status.
            let count = rest.withUnsafeBytes { send(channel.rawValue, $0.baseAddress, $0.count, noSignal) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            rest = rest.dropFirst(count)
        }
        shutdown(channel.rawValue, Int32(SHUT_WR))
        return (try? Syscall.readAll(channel.rawValue, limit: EntitlementsAnswer.longest + 1)) ?? []
    }
}

extension MountProfile {
    /// - Parameters:
    ///   - request: what is asked for.
    ///   - mountpoint: the real path.
    ///   - reader: of property lists.
    /// - Returns: nil without `sandbox=`.
    /// - Throws: the profile is unknown or broken.
    static func read(
        _ request: MountRequest, mountpoint: String, by reader: ProfileReader?
    ) throws(MountFailure) -> SandboxProfile? {
        let words = request.options.sandbox
        guard let name = words.profile else { return nil }
        // Never without the profile.
        guard let reader else {
            throw MountFailure(status: MountExit.systemError, message: "nothing reads the profile \(name)")
        }
        do {
            return try SandboxProfile.read(
                name, bundle: words.bundle, home: home(words.home ?? "/", [request.mountpoint, mountpoint]),
                layout: words.layout ?? .macos, by: reader.entitlements)
        } catch {
            throw MountFailure(
                status: error.kind == .unknownName ? MountExit.wrongUse : MountExit.failed, message: error.description)
        }
    }
}
