import Glibc

extension Errno {
    private static let ofDeadServers: Set<Int32> = [
        ENOTCONN, ESTALE, EIO, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ECONNABORTED, ECONNREFUSED, ECONNRESET,
        ENOLINK, ESHUTDOWN,
    ]

    /// Whether the kernel reports this error for a mount with a dead or unreachable server. A live server may report it too.
    public var isOfDeadServer: Bool { Self.ofDeadServers.contains(rawValue) }
}
