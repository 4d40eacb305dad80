import ACLFormats
import LinuxSystem

/// Why a command is not run: exit 2, and nothing was started.
struct SandboxRunFailure: Error {
    var message: String
    /// - Parameter message: with names as they are; what could act on a terminal is escaped here.
    init(_ message: String) { self.message = escapedText(message) }

    /// - Parameter doing: what was tried.
    init(_ doing: String, _ error: Errno) { message = escapedText("\(doing): \(error)") }
}
