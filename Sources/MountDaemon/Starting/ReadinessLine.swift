import LinuxSystem
import ToolSupport

/// The daemon's line to the waiting command, used once, from whichever thread knows first.
final class ReadinessLine: Sendable {
    private let line: Lock<Daemon.Readiness?>

    init(_ readiness: consuming Daemon.Readiness) { line = Lock(readiness) }

    func ready() {
        guard let readiness = line.withLock({ $0.take() }) else { return }
        do { try readiness.ready() } catch { printError("aclfs: cannot report readiness: \(error)") }
    }

    func fail(_ failure: MountFailure) {
        guard let readiness = line.withLock({ $0.take() }) else { return }
        // If even this cannot be said, the command sees that the daemon died.
        try? readiness.fail(status: UInt8(clamping: failure.status), message: failure.message)
    }
}
