import LinuxSystem

/// Why a message of a client is not answered as it asks.
public struct ControlFailure: Error, Sendable {
    public var errno: Errno
    /// nil where the error's own text says it all.
    public var message: String?
    init(_ errno: Errno, _ message: String? = nil) { (self.errno, self.message) = (errno, message) }
}
