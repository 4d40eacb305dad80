import Glibc
import LinuxSystem

/// The process that the caller started: forwards signals, stops when the sandbox stops, and ends as the command does.
struct SandboxRunSupervisor {
    /// The init of the sandbox.
    var process: Int32
    /// To init (`SandboxRunChannel`).
    var channel: Int32

    /// Whether `stop` was sent and `resume` was not.
    private var isStopping = false
    /// Whether Ctrl-C was forwarded.
    private var isInterrupted = false

    init(process: Int32, channel: Int32) { (self.process, self.channel) = (process, channel) }

    /// Waits for the command.
    /// - Returns: the exit status.
    mutating func wait() -> Int32 {
        // Without a signal descriptor no signal is forwarded.
        let signals = try? SignalDescriptor(
            SandboxRunSignals.numbers + (Signals.isIgnored(SIGTSTP) ? [] : [SIGTSTP]))
        while true {
            var waited = [
                pollfd(fd: channel, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals?.rawValue ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waited, 2, -1) < 0 { continue }
            if waited[1].revents != 0, let signal = try? signals?.next() { pass(signal.number, signal.isFromProcess) }
            if waited[0].revents == 0 { continue }
            switch SandboxRunReport.receive(channel) {
            case .stopped: suspend()
            case .ended(let status, let isLast):
                if isLast { _ = waitForInit() }
                return end(status)
            case nil:
                // Init started no command, or was killed.
                return waitForInit().map(Self.exitCode) ?? SandboxRunInside.refused
            }
        }
    }

    private mutating func pass(_ number: Int32, _ isFromProcess: Bool) {
        if number == SIGTSTP {
            if !isStopping { SandboxRunOrder.stop.send(channel) }
            isStopping = true
            return
        }
        // `kill PID` means one process.
        let isFromTerminal = !isFromProcess && SandboxRunSignals.isSentByTerminal(number)
        if isFromTerminal, number == SIGINT { isInterrupted = true }
        SandboxRunOrder.signal(number, toGroup: isFromTerminal).send(channel)
    }

    /// Stops this process. The caller's shell learns of it only now, when no process inside reads the terminal. In an orphaned
    /// process group the kernel ignores the signal.
    private mutating func suspend() {
        SandboxRunSignals.deliverDefault(SIGTSTP)
        SandboxRunOrder.resume.send(channel)
        isStopping = false
    }

    /// - Returns: the status of init; nil if it cannot be waited for.
    private func waitForInit() -> Int32? {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            if errno != EINTR { return nil }
        }
        return status
    }

    private func end(_ status: Int32) -> Int32 {
        // A shell ends its loop only if its child died of SIGINT.
        if isInterrupted, status & 0x7F == SIGINT { SandboxRunSignals.deliverDefault(SIGINT) }
        return Self.exitCode(status)
    }

    /// - Returns: the exit code that shells use: for a signal, 128 and its number.
    static func exitCode(_ status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}
