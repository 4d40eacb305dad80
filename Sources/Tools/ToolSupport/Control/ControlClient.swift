import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem

/// Why a daemon gave no answer, or refused.
package struct ControlError: Error, Sendable {
    /// The name of the errno that the daemon answered, or that the path was refused with. `nil`: neither.
    package var code: String?
    /// Whether a process listens that may be the daemon. It may hang, or be of another version.
    package var isReached = false
    /// Whether the socket exists and no process listens: the daemon has ended, or is starting.
    package var isStaleSocket = false
    /// Whether the timeout expired.
    package var isTimeout = false
    package var message: String
    package init(_ message: String, code: String? = nil) { (self.message, self.code) = (message, code) }

    /// For a message: an answer lacks what this version needs.
    package static let notUnderstood =
        "cannot understand the daemon's answer; the daemon may be of another version of aclfs: unmount and mount again"
}

/// A connection to the daemon of one mount.
package struct ControlClient: Sendable {
    private let socket: ControlSocket
    /// Whether the daemon takes descriptors of this process: it is the caller's own, or the caller is root.
    private let maySendDescriptors: Bool
    /// Whether the daemon is the caller's own or root's.
    private let isTrusted: Bool
    /// The deadline of all questions, on the monotonic clock; nil if each step has a timeout of its own.
    private let end: UInt64?

    /// Connects to the daemon.
    /// - Parameters:
    ///   - device: of the mount, `MAJOR:MINOR`.
    ///   - owner: the user who mounted. Only this user and root are believed, and only in this user namespace: a confined command has
    ///     its user's id.
    ///   - timeout: milliseconds. The default is long, because the daemon may query account databases on the network.
    ///   - isTotal: whether the timeout is for all questions together, not for each step.
    /// - Throws: no such daemon listens.
    package init(
        device: String, owner: UInt32, timeout: UInt32 = 30_000, isTotal: Bool = false
    ) throws(ControlError) {
        (maySendDescriptors, isTrusted) = (owner == geteuid() || geteuid() == 0, owner == geteuid() || owner == 0)
        end = isTotal ? SystemTime.monotonic() + UInt64(timeout) * 1_000_000 : nil
        var last = Errno.noent
        var isElsewhere = false
        for directory in ControlPlace.found(of: owner) {
            do throws(Errno) {
                let socket = try ControlPlace.connect(
                    in: directory, device: device, milliseconds: try end.map(Self.remaining) ?? timeout)
                let peer = try socket.peer()
                guard peer.uid == owner || peer.uid == 0 else {
                    last = .perm
                    continue
                }
                guard Self.isAcceptable(socket, owner) else {
                    isElsewhere = true
                    continue
                }
                self.socket = socket
                return
            } catch { last = error == .noent ? last : error }
        }
        guard !isElsewhere else {
            throw ControlError(
                "the mount's daemon cannot be asked: the process that answers is in another user namespace, such as that of "
                    + "aclfs sandbox run, or its namespace cannot be determined, so its answers are not trusted")
        }
        // Its queue of connections is full: it hangs.
        if last == .again { throw Self.noAnswer(last) }
        let reason: String
        if last != .noent {
            reason = last.text
        } else if ControlPlace.isHidden(of: owner) {
            reason = "inside aclfs sandbox run no daemon can be asked"
        } else {
            let places = ControlPlace.directories(of: owner).map { escapedName($0.utf8) }.joined(separator: " or ")
            reason = "it has no socket in \(places): it has ended, could make none, or was started in another mount namespace or container"
        }
        var failure = ControlError("the mount's daemon cannot be asked: \(reason)")
        failure.isStaleSocket = last.rawValue == ECONNREFUSED
        throw failure
    }

    /// Whether the listening process may be the daemon.
    private static func isAcceptable(_ socket: ControlSocket, _ owner: UInt32) -> Bool {
        switch socket.seenUserNamespace {
        case .same, .alike: true
        case .another: false
        // Only root can listen in root's directory. A caller that is root can see every namespace.
        case nil: owner == 0 && geteuid() != 0
        }
    }

    /// - Returns: the process that answers.
    /// - Throws: `srch` if it has ended.
    package func process() throws(Errno) -> RunningProcess { try RunningProcess(peerOf: socket) }

    /// - Returns: milliseconds, at least 1.
    /// - Throws: `again` at the deadline.
    private static func remaining(until end: UInt64) throws(Errno) -> UInt32 {
        let now = SystemTime.monotonic()
        guard end > now else { throw .again }
        return UInt32(clamping: (end - now) / 1_000_000 + 1)
    }

    /// Sends one request.
    /// - Parameters:
    ///   - request: of the protocol (docs/reference/control.md).
    ///   - descriptors: sent along, two at most. A daemon that takes none gets the number of the first, and looks it up in /proc.
    /// - Returns: the answer.
    /// - Throws: there is no answer, or the daemon refused.
    package func ask<Request: ControlRequest>(
        _ request: Request, with descriptors: [Int32] = []
    ) throws(ControlError) -> Request.Answer {
        try askForDescriptors(request, with: descriptors, mayTake: false).answer
    }

    /// As `ask`, and receives descriptors.
    /// - Parameter mayTake: whether the answer may carry descriptors. Those of another user's daemon are refused: close(2) of one could
    ///   wait for its server for ever.
    package func askForDescriptors<Request: ControlRequest>(
        _ request: Request, with descriptors: [Int32] = [], mayTake: Bool
    ) throws(ControlError) -> (answer: Request.Answer, descriptors: [SharedDescriptor]) {
        // The daemon takes descriptors only of a client that it has identified: after its first answer.
        if !descriptors.isEmpty, maySendDescriptors { _ = try exchange(VersionMessage().message(), [], mayTake: false) }
        let top = maySendDescriptors ? nil : descriptors.first
        let (reply, received) = try exchange(
            request.message(top: top), maySendDescriptors ? descriptors : [], mayTake: mayTake && isTrusted)
        switch reply {
        case .result(let result): return (Request.Answer(reading: result), received)
        case .refusal(let error, let message):
            var failure = ControlError(message.map { escapedText($0) } ?? "the mount's daemon refused", code: error)
            failure.isReached = true
            throw failure
        }
    }

    private func exchange(
        _ message: [UInt8], _ descriptors: [Int32], mayTake: Bool
    ) throws(ControlError) -> (reply: ReceivedReply, descriptors: [SharedDescriptor]) {
        let received: (message: [UInt8], descriptors: [SharedDescriptor])
        do throws(Errno) { received = try answer(to: message, descriptors, mayTake: mayTake) } catch { throw Self.noAnswer(error) }
        do throws(ReceivedReply.Problem) { return (try ReceivedReply(received.message), received.descriptors) } catch {
            switch error {
            case .unreadable: throw Self.noAnswer(.io)
            case .otherVersion(let mismatch):
                // With an errno, as of a daemon that refuses: the same question fails again.
                var failure = ControlError(mismatch.description, code: Errno.inval.name)
                failure.isReached = true
                throw failure
            }
        }
    }

    private static func noAnswer(_ error: Errno) -> ControlError {
        var failure = ControlError("the mount's daemon does not answer: \(error.text)")
        (failure.isReached, failure.isTimeout) = (true, error == .again)
        return failure
    }

    private func answer(
        to message: [UInt8], _ descriptors: [Int32], mayTake: Bool
    ) throws(Errno) -> (message: [UInt8], descriptors: [SharedDescriptor]) {
        func setTimeout() throws(Errno) {
            if let end { try socket.setTimeout(milliseconds: try Self.remaining(until: end)) }
        }
        if mayTake { socket.takeDescriptors() }
        try setTimeout()
        if descriptors.isEmpty { try socket.send(message) } else { try socket.send(message, with: descriptors) }
        try setTimeout()
        let received: (message: [UInt8], descriptors: [SharedDescriptor])?
        if mayTake {
            received = try socket.receiveWithDescriptors(limit: JSONText.maximumSize)
        } else {
            received = try socket.receive(limit: JSONText.maximumSize).map { ($0, []) }
        }
        guard let received else { throw .pipe }
        return received
    }
}
