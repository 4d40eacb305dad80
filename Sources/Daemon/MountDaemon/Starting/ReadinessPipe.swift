import LinuxSystem
import ToolSupport

/// The pipe from the daemon to the waiting command. It carries one message, from any thread.
final class ReadinessPipe: Sendable {
    private let pipe: Lock<Daemon.Readiness?>

    init(_ readiness: consuming Daemon.Readiness) { pipe = Lock(readiness) }

    func ready() {
        guard let readiness = pipe.withLock({ $0.take() }) else { return }
        do { try readiness.ready() } catch { printError("aclfs: cannot report readiness: \(error)") }
    }

    func fail(_ failure: MountFailure) {
        guard let readiness = pipe.withLock({ $0.take() }) else { return }
        // If this fails, the command notices that the daemon died.
        try? readiness.fail(status: UInt8(clamping: failure.status), message: failure.message)
    }
}
