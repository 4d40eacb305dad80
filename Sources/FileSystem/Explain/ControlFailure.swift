import ControlProtocol
import LinuxSystem

/// Why the daemon refuses a message of a client.
public struct ControlFailure: Error, Sendable {
    public var errno: Errno
    /// For the user; nil if the text of the errno is enough.
    public var message: String?
    var text: String { message ?? errno.text }
    init(_ errno: Errno, _ message: String? = nil) { (self.errno, self.message) = (errno, message) }

    init(_ problem: RequestProblem) {
        switch problem {
        case .malformed(let message): self.init(.inval, message)
        case .pathTooLong: self.init(.nametoolong)
        }
    }
}
