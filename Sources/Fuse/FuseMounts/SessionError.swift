/// Why a mount or a session failed.
public struct SessionError: Error, Equatable, Sendable {
    /// The step that failed.
    public enum Step: Sendable {
        case mount, mountThroughFusermount, unmount, prepare, serve
        /// io_uring was required and is not available.
        case transport
    }

    public var step: Step
    public var errno: Int32

    public init(_ step: Step, errno: Int32) {
        self.step = step
        self.errno = errno
    }
}
