import CLinux
import Glibc

/// A process, even if its number is reused.
public struct RunningProcess: Sendable {
    public let pid: Int32
    private let descriptor: SharedDescriptor

    /// The process at the other end of a socket. Before Linux 6.5 the number may be another process's, if this one has ended.
    /// - Throws: srch if it has ended, or is outside this process namespace.
    public init(peerOf socket: ControlSocket) throws(Errno) {
        pid = try socket.peer().pid
        guard pid > 0 else { throw .srch }
        if let handle = try socket.handle() {
            descriptor = handle
        } else {
            descriptor = SharedDescriptor(rawValue: try value(aclfs_open_process(pid)))
        }
    }

    /// Waits for the end of the process with all its threads.
    /// - Returns: whether it ended within the time; then all its descriptors are closed.
    public func ends(milliseconds: UInt32) -> Bool {
        var polled = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, Int32(clamping: milliseconds)) > 0
    }
}
