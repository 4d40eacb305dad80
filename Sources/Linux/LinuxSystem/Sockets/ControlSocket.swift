import CLinux
import Glibc

/// One end of a connection for whole messages (SOCK_SEQPACKET), with a name in the file system.
public final class ControlSocket: Sendable {
    /// The process at the other end according to the kernel, at the time of connect(2) or listen(2).
    public struct Peer: Hashable, Sendable {
        public var pid: Int32
        public var uid: UInt32
        public var gid: UInt32
        /// As `peerUserNamespace`; `another` until it is looked up.
        public var userNamespace = PeerUserNamespace.another

        public init(pid: Int32, uid: UInt32, gid: UInt32) { (self.pid, self.uid, self.gid) = (pid, uid, gid) }
    }

    private let descriptor: SharedDescriptor

    private init(_ rawValue: Int32) { descriptor = SharedDescriptor(rawValue: rawValue) }

    var rawValue: Int32 { descriptor.rawValue }

    /// Binds the name, which must not exist, and lets every user connect.
    /// - Throws: nametoolong above 107 bytes.
    public static func listen(at path: String) throws(Errno) -> ControlSocket {
        ControlSocket(try value(aclfs_control_listen(path, 16)))
    }

    /// - Parameters:
    ///   - path: the name of the socket.
    ///   - milliseconds: the timeout of the connection and of each message.
    /// - Throws: again after the timeout.
    public static func connect(to path: String, milliseconds: UInt32) throws(Errno) -> ControlSocket {
        ControlSocket(try repeating { aclfs_control_connect(path, milliseconds) })
    }

    /// Waits for the next client.
    /// - Throws: inval after `shutdown`.
    public func accept() throws(Errno) -> ControlSocket {
        ControlSocket(try repeating { aclfs_control_accept(descriptor.rawValue) })
    }

    /// The process at the other end.
    public func peer() throws(Errno) -> Peer {
        var peer = Peer(pid: 0, uid: .max, gid: .max)
        try value(aclfs_control_peer(descriptor.rawValue, &peer.pid, &peer.uid, &peer.gid))
        return peer
    }

    /// Sets the timeout of each message; a call that exceeds it throws `again`.
    public func setTimeout(milliseconds: UInt32) throws(Errno) {
        try value(aclfs_control_timeout(descriptor.rawValue, milliseconds))
    }

    /// Lets the other end send descriptors. By default it must not, because closing one may wait for its server forever. Before
    /// Linux 6.16 it always may; `receive` discards them, `receiveWithDescriptors` returns them.
    public func takeDescriptors() { aclfs_control_take_descriptors(descriptor.rawValue, 1) }

    /// The next message; nil at the end. The kernel discards its descriptors. A message longer than `limit` is lost.
    /// - Throws: msgsize for a longer message.
    public func receive(limit: Int) throws(Errno) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = Int(try repeating { aclfs_control_receive(descriptor.rawValue, &buffer, UInt64(limit)) })
        if count == 0 { return nil }
        buffer.removeLast(limit - count)
        return buffer
    }

    /// Sends one message.
    /// - Throws: again after the timeout, pipe if the other end is closed.
    public func send(_ message: [UInt8]) throws(Errno) {
        try repeating { aclfs_control_send(descriptor.rawValue, message, UInt64(message.count)) }
    }

    /// As `send`, with copies of up to three descriptors.
    public func send(_ message: [UInt8], with descriptors: [Int32]) throws(Errno) {
        try repeating {
            aclfs_control_send_with(
                descriptor.rawValue, message, UInt64(message.count), descriptors, UInt32(descriptors.count))
        }
    }

    /// As `receive`, with the descriptors of the message.
    public func receiveWithDescriptors(limit: Int) throws(Errno) -> (message: [UInt8], descriptors: [SharedDescriptor])? {
        var buffer = [UInt8](repeating: 0, count: limit)
        var numbers = [Int32](repeating: -1, count: Int(ACLFS_CONTROL_DESCRIPTORS))
        var count: UInt32 = 0
        let result = aclfs_control_receive_with(descriptor.rawValue, &buffer, UInt64(limit), &numbers, &count)
        // First the ownership, so that an error closes them.
        let descriptors = numbers.prefix(Int(count)).map { SharedDescriptor(rawValue: $0) }
        let length = Int(try value(result))
        if length == 0, descriptors.isEmpty { return nil }
        buffer.removeLast(limit - length)
        return (buffer, descriptors)
    }

    /// Ends the connection and wakes all threads that wait for it.
    public func shutdown() { _ = aclfs_control_shutdown(descriptor.rawValue) }

    /// EMSGSIZE, which only messages use.
    public static let tooLong = Errno(rawValue: EMSGSIZE)
}
