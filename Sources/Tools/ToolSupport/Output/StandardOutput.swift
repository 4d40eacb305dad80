import Glibc
import LinuxSystem

/// Standard output of the process. A failed write is reported once and makes the exit status 1: a truncated list looks like a shorter
/// one.
package enum StandardOutput {
    private struct State {
        var failure: Errno?
        var isUsed = false
    }
    private static let state = Lock(State())

    /// Whether it takes more.
    package static var isOpen: Bool { state.withLock { $0.failure == nil } }

    /// Writes bytes. The first failure ends the output, not the command: its changes are still made.
    package static func write(_ bytes: [UInt8]) {
        guard isOpen else { return }
        do {
            try Syscall.writeAll(STDOUT_FILENO, bytes)
            state.withLock { $0.isUsed = true }
        } catch { fail(error) }
    }

    /// Closes standard output.
    /// - Parameter status: of the command.
    /// - Returns: the exit status of the process: 1 instead of 0 if output was lost.
    package static func close(after status: Int32) -> Int32 {
        // A network file system may report a full disk only here.
        if isOpen, state.withLock({ $0.isUsed }), Glibc.close(STDOUT_FILENO) != 0, errno != EINTR { fail(Errno(rawValue: errno)) }
        return status == 0 && !isOpen ? 1 : status
    }

    private static func fail(_ error: Errno) {
        state.withLock { $0.failure = error }
        // With SIGPIPE ignored a reader that has closed the pipe needs no message.
        if error != .pipe { OutputSink.standard.complain("standard output: \(error.text)") }
    }
}
