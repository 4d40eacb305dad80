import CLinux
import Glibc

/// One end of a connection that carries whole messages (SOCK_SEQPACKET) under a name in the file system.
public final class ControlSocket: Sendable {
    /// Who is at the other end, as the kernel vouches for it: at the time of connect(2) or listen(2).
    public struct Peer: Hashable, Sendable {
        public var pid: Int32
        public var uid: UInt32
        public var gid: UInt32
        /// As `peerUserNamespace` has it; `another` until somebody looks.
        public var userNamespace = PeerUserNamespace.another

        public init(pid: Int32, uid: UInt32, gid: UInt32) { (self.pid, self.uid, self.gid) = (pid, uid, gid) }
    }

    private let descriptor: SharedDescriptor

    private init(_ rawValue: Int32) { descriptor = SharedDescriptor(rawValue: rawValue) }

    var rawValue: Int32 { descriptor.rawValue }

    /// Binds the name, which must be free, for everybody to connect to. Errors: nametoolong above 107 bytes.
    public static func listen(at path: String) throws(Errno) -> ControlSocket {
        ControlSocket(try value(aclfs_control_listen(path, 16)))
    }

    /// - Parameter milliseconds: to wait for a place in the queue, and then for each message. Errors: again.
    public static func connect(to path: String, milliseconds: UInt32) throws(Errno) -> ControlSocket {
        ControlSocket(try repeating { aclfs_control_connect(path, milliseconds) })
    }

    /// Waits for the next client. Errors: inval after `shutdown`.
    public func accept() throws(Errno) -> ControlSocket {
        ControlSocket(try repeating { aclfs_control_accept(descriptor.rawValue) })
    }

    public func peer() throws(Errno) -> Peer {
        var peer = Peer(pid: 0, uid: .max, gid: .max)
        try value(aclfs_control_peer(descriptor.rawValue, &peer.pid, &peer.uid, &peer.gid))
        return peer
    }

    /// For each message sent or awaited; then again is thrown.
    public func setTimeout(milliseconds: UInt32) throws(Errno) {
        try value(aclfs_control_timeout(descriptor.rawValue, milliseconds))
    }

    /// Lets the other end send descriptors, which from the beginning it must not: to close one may wait for ever for whoever
    /// serves it. Before Linux 6.16 anybody may send them; `receive` does not take them, `receiveWithDescriptors` does.
    public func takeDescriptors() { aclfs_control_take_descriptors(descriptor.rawValue, 1) }

    /// One message, `nil` at the end. Descriptors that came along are dropped by the kernel. A longer one than `limit` is lost and throws msgsize.
    public func receive(limit: Int) throws(Errno) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = Int(try repeating { aclfs_control_receive(descriptor.rawValue, &buffer, UInt64(limit)) })
        if count == 0 { return nil }
        buffer.removeLast(limit - count)
        return buffer
    }

    public func send(_ message: [UInt8]) throws(Errno) {
        try repeating { aclfs_control_send(descriptor.rawValue, message, UInt64(message.count)) }
    }

    /// As `send`, with up to two descriptors, which the other end gets copies of.
    public func send(_ message: [UInt8], with descriptors: [Int32]) throws(Errno) {
        try repeating {
            aclfs_control_send_with(
                descriptor.rawValue, message, UInt64(message.count), descriptors, UInt32(descriptors.count))
        }
    }

    /// As `receive`, with the descriptors that came along.
    public func receiveWithDescriptors(limit: Int) throws(Errno) -> (message: [UInt8], descriptors: [SharedDescriptor])? {
        var buffer = [UInt8](repeating: 0, count: limit)
        var numbers = [Int32](repeating: -1, count: Int(ACLFS_CONTROL_DESCRIPTORS))
        var count: UInt32 = 0
        let result = aclfs_control_receive_with(descriptor.rawValue, &buffer, UInt64(limit), &numbers, &count)
        // Owned first, so that an error closes them.
        let descriptors = numbers.prefix(Int(count)).map { SharedDescriptor(rawValue: $0) }
        let length = Int(try value(result))
        if length == 0, descriptors.isEmpty { return nil }
        buffer.removeLast(limit - length)
        return (buffer, descriptors)
    }

    /// Wakes whoever waits on it; nothing more comes or goes.
    public func shutdown() { _ = aclfs_control_shutdown(descriptor.rawValue) }

    /// EMSGSIZE, which nothing but messages knows.
    public static let tooLong = Errno(rawValue: EMSGSIZE)
}
