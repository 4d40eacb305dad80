import ACLFormats
import LinuxSystem

/// Why no command was started. The exit status is 2.
struct SandboxRunFailure: Error {
    var message: String
    /// - Parameter message: with unescaped names. The initializer escapes what could act on a terminal.
    init(_ message: String) { self.message = escapedText(message) }

    /// - Parameters:
    ///   - doing: the step that failed.
    ///   - error: its errno.
    init(_ doing: String, _ error: Errno) { message = escapedText("\(doing): \(error)") }
}
