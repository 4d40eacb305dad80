import Glibc
import LinuxSystem

/// Whether a command that changes a tree was asked to end. It does so between two objects, and says how to go on (docs/guide/administration.md
/// "Undo files").
package final class Ending: Sendable {
    /// Asked by a signal to the process.
    package static let bySignal = Ending()
    private let signal = Lock<EndingSignal?>(nil)

    private init() {}

    /// Call before the first change. Until then a signal ends the process at once.
    func begin() {
        // Without a thread that waits for them signals end the process at any point, which an undo file allows for.
        signal.withLock { if $0 == nil { $0 = try? EndingSignal() } }
    }

    var isAsked: Bool { number != nil }

    /// nil: it was not asked.
    var signalName: String? {
        number.map { [SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGTERM: "SIGTERM"][$0] ?? "signal \($0)" }
    }

    /// Ends the process by the signal that asked, if one did. Call after all output.
    package func endProcess() {
        if let number { EndingSignal.endProcess(by: number) }
    }

    private var number: Int32? { signal.withLock { $0?.number } }
}
