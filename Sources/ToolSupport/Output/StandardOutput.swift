import Glibc
import LinuxSystem

/// Standard output of the process, for all commands: what it does not take is said once, and makes the exit status 1, because a list
/// that was cut off looks like a shorter list.
package enum StandardOutput {
    private struct State {
        var failure: Errno?
        var isUsed = false
    }
    private static let state = Lock(State())

    /// Whether it takes more.
    package static var isOpen: Bool { state.withLock { $0.failure == nil } }

    /// The first failure ends the output, not the work: what a command was asked to change gets changed.
    package static func write(_ bytes: [UInt8]) {
        guard isOpen else { return }
        do {
            try writeAll(bytes, to: STDOUT_FILENO)
            state.withLock { $0.isUsed = true }
        } catch { fail(error) }
    }

    /// What the process ends with, after a command that would have ended with `status`. Nothing is written afterwards.
    package static func exitStatus(after status: Int32) -> Int32 {
        // Some file systems learn only here that there is no room: those over a network.
        if isOpen, state.withLock({ $0.isUsed }), close(STDOUT_FILENO) != 0, errno != EINTR { fail(Errno(rawValue: errno)) }
        return status == 0 && !isOpen ? 1 : status
    }

    private static func fail(_ error: Errno) {
        state.withLock { $0.failure = error }
        // Where SIGPIPE is ignored: a reader that has gone has seen enough, and needs no word about it.
        if error != .pipe { OutputSink.standard.complain("standard output: \(error.text)") }
    }
}

func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(Errno) {
    var written = 0
    while written < bytes.count {
        let result = bytes.withUnsafeBytes { buffer -> Result<Int, Errno> in
            do throws(Errno) {
                return .success(try Syscall.write(descriptor, UnsafeRawBufferPointer(rebasing: buffer[written...])))
            } catch { return .failure(error) }
        }
        let count = try result.get()
        // No file answers so; a loop without end would be worse.
        if count == 0 { throw .io }
        written += count
    }
}
