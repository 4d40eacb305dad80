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

    /// The process that keeps a daemon: its parent, if that runs the same program.
    /// - Returns: nil if there is none, or if /proc shows nothing of it.
    public init?(keeping daemon: RunningProcess) {
        guard let text = try? Syscall.readAll(path: "/proc/\(daemon.pid)/stat"), let parent = ProcessState.parent(stat: text), parent > 1,
            let handle = try? value(aclfs_open_process(parent))
        else { return nil }
        (pid, descriptor) = (parent, SharedDescriptor(rawValue: handle))
        func program(_ process: Int32) -> [UInt8]? { try? Syscall.readlinkat(Syscall.workingDirectory, "/proc/\(process)/exe") }
        guard let own = program(parent), own == program(daemon.pid) else { return nil }
    }

    /// Waits for the end of the process with all its threads.
    /// - Returns: whether it ended within the time; then all its descriptors are closed.
    public func ends(milliseconds: UInt32) -> Bool {
        var polled = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, Int32(clamping: milliseconds)) > 0
    }
}
