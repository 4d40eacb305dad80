import Glibc

extension Errno {
    private static let ofDeadServers: Set<Int32> = [
        ENOTCONN, ESTALE, EIO, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ECONNABORTED, ECONNREFUSED, ECONNRESET,
        ENOLINK, ESHUTDOWN,
    ]

    /// What the kernel says of a mount whose server died, is gone or does not answer. Servers may say it, too, and go on.
    public var isOfDeadServer: Bool { Self.ofDeadServers.contains(rawValue) }
}
