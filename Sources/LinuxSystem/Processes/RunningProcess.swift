import CLinux
import Glibc

/// A process, whatever becomes of its number.
public struct RunningProcess: Sendable {
    public let pid: Int32
    private let descriptor: SharedDescriptor

    /// Who listens at the other end. Before Linux 6.5 the number could be another's by now, if the process has ended since.
    /// - Throws: srch if it has ended, or lives outside of what this process sees.
    public init(peerOf socket: ControlSocket) throws(Errno) {
        pid = try socket.peer().pid
        guard pid > 0 else { throw .srch }
        if let handle = try socket.handle() {
            descriptor = handle
        } else {
            descriptor = SharedDescriptor(rawValue: try value(aclfs_open_process(pid)))
        }
    }

    /// Whether it has ended, with all its threads, within the time; then all that it held is let go.
    public func ends(milliseconds: UInt32) -> Bool {
        var polled = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, Int32(clamping: milliseconds)) > 0
    }
}
