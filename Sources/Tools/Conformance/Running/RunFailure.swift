/// Why a run ends before its last case, or does not begin.
public struct RunFailure: Error, Sendable {
    /// For people; it begins with what failed.
    public var message: String
    /// The signal that ended the run, if it was one.
    public var signal: Int32?

    public init(_ message: String, signal: Int32? = nil) { (self.message, self.signal) = (message, signal) }
}
