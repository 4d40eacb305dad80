import ACLFormats
import Glibc
import LinuxSystem

/// Why a daemon gave no answer, or a refusal.
public struct ControlError: Error, Sendable {
    /// The errno's name that the daemon answered; `nil` if it did not.
    public var code: String?
    /// Whether somebody listens who may be the daemon: one that stands still, or is of another version.
    public var isHeard = false
    /// Whether he took longer than the caller's patience.
    public var isLate = false
    public var message: String
    public init(_ message: String, code: String? = nil) { (self.message, self.code) = (message, code) }
}

/// A conversation with the daemon of one mount.
public struct ControlClient: Sendable {
    private let socket: ControlSocket

    /// - Parameters:
    ///   - owner: who mounted; an answer of anybody else but root is not believed, nor one from another user namespace, where
    ///     a confined command has its user's id.
    ///   - patience: milliseconds. By default long, for the daemon may ask account databases on the network.
    public init(device: String, owner: UInt32, patience: UInt32 = 30_000) throws(ControlError) {
        var last = Errno.noent
        var isElsewhere = false
        for directory in ControlPlace.found(of: owner) {
            do throws(Errno) {
                let socket = try ControlPlace.connect(in: directory, device: device, milliseconds: patience)
                let peer = try socket.peer()
                guard peer.uid == owner || peer.uid == 0 else {
                    last = .perm
                    continue
                }
                guard Self.isAtHome(socket, owner) else {
                    isElsewhere = true
                    continue
                }
                self.socket = socket
                return
            } catch { last = error == .noent ? last : error }
        }
        guard !isElsewhere else {
            throw ControlError(
                "the mount's daemon cannot be asked: who answers is in another user namespace, such as that of aclfs sandbox run, "
                    + "or cannot be looked at, and is not believed")
        }
        // Such a command finds the directory of the sockets covered.
        let inside = last == .noent ? " (inside aclfs sandbox run there is nobody to ask)" : ""
        throw ControlError("the mount's daemon cannot be asked: \(last.text)\(inside)")
    }

    /// Whether who listens may be taken for the daemon.
    private static func isAtHome(_ socket: ControlSocket, _ owner: UInt32) -> Bool {
        switch socket.seenUserNamespace {
        case .ours, .alike: true
        case .another: false
        // With root's id nobody but root listens in root's directory; to root himself everything is shown.
        case nil: owner == 0 && geteuid() != 0
        }
    }

    /// One message and its answer's result.
    /// - Parameter descriptors: go along, two at most.
    public func ask(
        _ command: String, _ members: [JSON.Member] = [], with descriptors: [Int32] = []
    ) throws(ControlError) -> JSON {
        try askForDescriptors(command, members, with: descriptors).result
    }

    /// As `ask`, with the descriptors that come along.
    public func askForDescriptors(
        _ command: String, _ members: [JSON.Member] = [], with descriptors: [Int32] = []
    ) throws(ControlError) -> (result: JSON, descriptors: [SharedDescriptor]) {
        let message = JSON.object([.init("v", .integer(1)), .init("command", .string(command))] + members)
        let answer: JSON
        let handed: [SharedDescriptor]
        do throws(Errno) {
            if descriptors.isEmpty {
                try socket.send(JSONText.write(message))
            } else {
                try socket.send(JSONText.write(message), with: descriptors)
            }
            guard let (bytes, received) = try socket.receiveWithDescriptors(limit: JSONText.maximumSize) else {
                throw Errno.pipe
            }
            handed = received
            do { answer = try JSONText.parse(bytes) } catch { throw Errno.io }
        } catch {
            var failure = ControlError("the mount's daemon does not answer: \(error.text)")
            (failure.isHeard, failure.isLate) = (true, error == .again)
            throw failure
        }
        if answer["ok"]?.bool == true, let result = answer["result"] { return (result, handed) }
        var failure = ControlError(
            answer["message"]?.string ?? "the mount's daemon refused", code: answer["error"]?.string)
        failure.isHeard = true
        throw failure
    }
}
