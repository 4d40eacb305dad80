import Foundation
import Glibc

/// What a test could not do for a reason that is not what it tests.
public struct FixtureError: Error, CustomStringConvertible {
    public var description: String
    public init(_ description: String) { self.description = description }
}

/// A command that ended.
public struct CommandResult: CustomStringConvertible {
    /// As a shell has it: 128 and the number of a signal that ended the command.
    public var status: Int32
    /// What it said to standard output and standard error.
    public var output: String

    public init(status: Int32, output: String) {
        self.status = status
        self.output = output
    }

    public var description: String { "exit \(status): \(output)" }
}

/// Child processes through posix_spawn, with the descriptors given and no others.
public enum Spawn {
    /// - Parameter descriptors: what becomes 0, 1 and 2; -1 = /dev/null.
    public static func start(_ arguments: [String], descriptors: [Int32]) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            if descriptor < 0 {
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
            } else {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            }
        }
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        // Threads of a test hold most signals back, and a child would do so, too.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var pid: pid_t = 0
        let failure = posix_spawnp(&pid, arguments[0], &actions, &attributes, words, environment)
        guard failure == 0 else { throw FixtureError("cannot start \(arguments[0]): errno \(failure)") }
        return pid
    }

    /// What a user's shell has: not the variable by which `swift test` tells Swift's programs how to crash.
    private static var environment: [UnsafeMutablePointer<CChar>?] {
        var variables: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let variable = next.pointee {
            if strncmp(variable, "SWIFT_BACKTRACE=", 16) != 0 { variables.append(variable) }
            next += 1
        }
        return variables + [nil]
    }

    /// Both ends close on exec, so that no other child keeps them open.
    public static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw FixtureError("pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    public static func wait(_ pid: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 { if errno != EINTR { return -1 } }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }

    /// Runs to the end; output and errors come together. The output is a file, not a pipe: a daemon that
    /// the command leaves behind must not hold the test up.
    /// - Parameter isTrimmed: whether blanks and line ends around the output are left out.
    public static func run(_ arguments: [String], isTrimmed: Bool = true) throws -> CommandResult {
        var template = Array("/tmp/aclfs-output.XXXXXX".utf8CString)
        let output = mkstemp(&template)
        guard output >= 0 else { throw FixtureError("no file for output: errno \(errno)") }
        unlink(template)
        _ = fcntl(output, F_SETFD, FD_CLOEXEC)
        defer { close(output) }
        let status = wait(try start(arguments, descriptors: [-1, output, output]))
        var bytes = [UInt8](repeating: 0, count: Int(max(0, lseek(output, 0, SEEK_END))))
        let count = pread(output, &bytes, bytes.count, 0)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        return CommandResult(status: status, output: isTrimmed ? text.trimmingCharacters(in: .whitespacesAndNewlines) : text)
    }
}
