import Glibc
import LinuxSystem

/// The process that was called: passes signals on, and ends as the command does.
struct SandboxRunSupervisor {
    /// The init of the sandbox.
    var process: Int32
    /// Where the command's wait status comes from.
    var line: Int32

    func wait() -> Int32 {
        // Without them it is waited for all the same.
        let signals = try? SignalDescriptor(SandboxRunSignals.numbers)
        while true {
            var waited = [
                pollfd(fd: line, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals?.rawValue ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waited, 2, -1) < 0 { continue }
            if waited[1].revents != 0, let signal = try? signals?.next() {
                kill(process, signal.number)
            }
            if waited[0].revents != 0 { return status() }
        }
    }

    private func status() -> Int32 {
        var status: Int32 = 0
        if let report = SandboxRunReport.receive(line) {
            if report.isLast { waitpid(process, &status, 0) }
            return Self.exitCode(report.status)
        }
        // It never came to the command, or was killed itself.
        while waitpid(process, &status, 0) < 0 {
            if errno != EINTR { return SandboxRunInside.refused }
        }
        return Self.exitCode(status)
    }

    /// As shells have it: a signal is 128 and its number.
    static func exitCode(_ status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}
