import ACLFormats
import Glibc
import LinuxSystem

/// Why a daemon gave no answer, or a refusal.
package struct ControlError: Error, Sendable {
    /// The errno's name that the daemon answered, or that the path was refused with; `nil` if neither was.
    package var code: String?
    /// Whether somebody listens who may be the daemon: one that stands still, or is of another version.
    package var isHeard = false
    /// Whether the daemon's socket is there and nobody listens on it: it has ended, or begins just now.
    package var isDeserted = false
    /// Whether he took longer than the caller's patience.
    package var isLate = false
    package var message: String
    package init(_ message: String, code: String? = nil) { (self.message, self.code) = (message, code) }
}

/// A conversation with the daemon of one mount.
package struct ControlClient: Sendable {
    private let socket: ControlSocket
    /// Whether the daemon takes descriptors of this process: it is the user's own, or the user is root.
    private let mayHand: Bool
    /// Whether it is the user's own, or root's.
    private let isTrusted: Bool
    /// When patience is at its end, on the monotonic clock; nil where it is for each step.
    private let end: UInt64?

    /// - Parameters:
    ///   - owner: who mounted; an answer of anybody else but root is not believed, nor one from another user namespace, where
    ///     a confined command has its user's id.
    ///   - patience: milliseconds. By default long, for the daemon may ask account databases on the network.
    ///   - isInAll: whether that is for all that is asked of it, and not for each step.
    package init(
        device: String, owner: UInt32, patience: UInt32 = 30_000, isInAll: Bool = false
    ) throws(ControlError) {
        (mayHand, isTrusted) = (owner == geteuid() || geteuid() == 0, owner == geteuid() || owner == 0)
        end = isInAll ? SystemTime.monotonic() + UInt64(patience) * 1_000_000 : nil
        var last = Errno.noent
        var isElsewhere = false
        for directory in ControlPlace.found(of: owner) {
            do throws(Errno) {
                let socket = try ControlPlace.connect(
                    in: directory, device: device, milliseconds: try end.map(Self.left) ?? patience)
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
        var failure = ControlError("the mount's daemon cannot be asked: \(last.text)\(inside)")
        failure.isDeserted = last.rawValue == ECONNREFUSED
        throw failure
    }

    /// Whether who listens may be taken for the daemon.
    private static func isAtHome(_ socket: ControlSocket, _ owner: UInt32) -> Bool {
        switch socket.seenUserNamespace {
        case .same, .alike: true
        case .another: false
        // With root's id nobody but root listens in root's directory; to root himself everything is shown.
        case nil: owner == 0 && geteuid() != 0
        }
    }

    /// Who answers. Errors: srch if it has ended.
    package func process() throws(Errno) -> RunningProcess { try RunningProcess(peerOf: socket) }

    /// Milliseconds. Errors: again if there are none.
    private static func left(until end: UInt64) throws(Errno) -> UInt32 {
        let now = SystemTime.monotonic()
        guard end > now else { throw .again }
        return UInt32(clamping: (end - now) / 1_000_000 + 1)
    }

    /// One message and its answer's result.
    /// - Parameter descriptors: go along, two at most. A daemon that takes none of ours is told the number of the first and
    ///   looks at it here.
    package func ask(
        _ command: String, _ members: [JSON.Member] = [], with descriptors: [Int32] = []
    ) throws(ControlError) -> JSON {
        try askForDescriptors(command, members, with: descriptors, mayTake: false).result
    }

    /// As `ask`, with the descriptors that come along.
    /// - Parameter mayTake: whether any are due. They are taken only from the user's own daemon or root's: to close anybody
    ///   else's may wait for ever for whoever serves it, and nothing ends a process that does.
    package func askForDescriptors(
        _ command: String, _ members: [JSON.Member] = [], with descriptors: [Int32] = [], mayTake: Bool
    ) throws(ControlError) -> (result: JSON, descriptors: [SharedDescriptor]) {
        var members = members
        let answer: JSON
        let handed: [SharedDescriptor]
        do throws(Errno) {
            if !descriptors.isEmpty, !mayHand { members.append(.init("top", .integer(Int64(descriptors[0])))) }
            // Which it takes once it has seen who we are; when it answers it has.
            if !descriptors.isEmpty, mayHand { _ = try told(Self.message("version", []), [], mayTake: false) }
            (answer, handed) = try told(
                Self.message(command, members), mayHand ? descriptors : [], mayTake: mayTake && isTrusted)
        } catch {
            var failure = ControlError("the mount's daemon does not answer: \(error.text)")
            (failure.isHeard, failure.isLate) = (true, error == .again)
            throw failure
        }
        if answer["ok"]?.bool == true, let result = answer["result"] { return (result, handed) }
        var failure = ControlError(
            answer["message"]?.string.map { escapedText($0) } ?? "the mount's daemon refused",
            code: answer["error"]?.string)
        failure.isHeard = true
        throw failure
    }

    private static func message(_ command: String, _ members: [JSON.Member]) -> [UInt8] {
        JSONText.write(.object([.init("v", .integer(1)), .init("command", .string(command))] + members))
    }

    private func told(
        _ message: [UInt8], _ descriptors: [Int32], mayTake: Bool
    ) throws(Errno) -> (answer: JSON, descriptors: [SharedDescriptor]) {
        func hurry() throws(Errno) {
            if let end { try socket.setTimeout(milliseconds: try Self.left(until: end)) }
        }
        if mayTake { socket.takeDescriptors() }
        try hurry()
        if descriptors.isEmpty { try socket.send(message) } else { try socket.send(message, with: descriptors) }
        try hurry()
        let received: (message: [UInt8], descriptors: [SharedDescriptor])?
        if mayTake {
            received = try socket.receiveWithDescriptors(limit: JSONText.maximumSize)
        } else {
            received = try socket.receive(limit: JSONText.maximumSize).map { ($0, []) }
        }
        guard let received else { throw .pipe }
        do { return (try JSONText.parse(received.message), received.descriptors) } catch { throw .io }
    }
}
