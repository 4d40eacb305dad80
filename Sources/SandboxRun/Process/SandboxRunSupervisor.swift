import Glibc
import LinuxSystem

/// The process that was called: passes signals on, stops with all that is inside, and ends as the command does.
struct SandboxRunSupervisor {
    /// The init of the sandbox.
    var process: Int32
    /// To it (`SandboxRunLine`).
    var line: Int32

    /// Between the order to stop and the going on.
    private var isStopping = false
    /// By Ctrl-C.
    private var isInterrupted = false

    init(process: Int32, line: Int32) { (self.process, self.line) = (process, line) }

    mutating func wait() -> Int32 {
        // Without them it is waited for all the same.
        let signals = try? SignalDescriptor(
            SandboxRunSignals.numbers + (SandboxRunSignals.isIgnored(SIGTSTP) ? [] : [SIGTSTP]))
        while true {
            var waited = [
                pollfd(fd: line, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals?.rawValue ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waited, 2, -1) < 0 { continue }
            if waited[1].revents != 0, let signal = try? signals?.next() { pass(signal.number, signal.isFromProcess) }
            if waited[0].revents == 0 { continue }
            switch SandboxRunNews.receive(line) {
            case .stopped: suspend()
            case .ended(let status, let isLast):
                if isLast { _ = ofInit() }
                return end(status)
            case nil:
                // It never came to the command, or was killed itself.
                return ofInit().map(Self.exitCode) ?? SandboxRunInside.refused
            }
        }
    }

    private mutating func pass(_ number: Int32, _ isFromProcess: Bool) {
        if number == SIGTSTP {
            if !isStopping { SandboxRunOrder.stop.send(line) }
            isStopping = true
            return
        }
        // `kill PID` means one process.
        let isTerminals = !isFromProcess && SandboxRunSignals.isTerminals(number)
        if isTerminals, number == SIGINT { isInterrupted = true }
        SandboxRunOrder.signal(number, toGroup: isTerminals).send(line)
    }

    /// Only now that nobody inside reads the terminal any more the caller's shell may hear of it. Where nobody could bring this
    /// process back, the kernel does not stop it either.
    private mutating func suspend() {
        SandboxRunSignals.take(SIGTSTP)
        SandboxRunOrder.go.send(line)
        isStopping = false
    }

    private func ofInit() -> Int32? {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            if errno != EINTR { return nil }
        }
        return status
    }

    private func end(_ status: Int32) -> Int32 {
        // A shell ends its loop only if what it waited for died of Ctrl-C itself.
        if isInterrupted, status & 0x7F == SIGINT { SandboxRunSignals.take(SIGINT) }
        return Self.exitCode(status)
    }

    /// As shells have it: a signal is 128 and its number.
    static func exitCode(_ status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}
