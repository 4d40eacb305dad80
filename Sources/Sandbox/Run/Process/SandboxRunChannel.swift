import Glibc

/// The socket between the supervisor and the init of the sandbox. A message is two words. Signals would not do: every process inside
/// can send them, and a pending one absorbs the next.
enum SandboxRunChannel {
    /// - Returns: nil if the other end is closed, or the message is malformed.
    static func receive(_ channel: Int32) -> (Int32, Int32)? {
        var words: [Int32] = [0, 0]
        while true {
            let count = read(channel, &words, 8)
            // ECONNRESET: the other end closed with unread messages. Its own messages can still be read afterwards.
            if count < 0, errno == EINTR || errno == ECONNRESET { continue }
            return count == 8 ? (words[0], words[1]) : nil
        }
    }

    static func send(_ first: Int32, _ second: Int32, _ channel: Int32) {
        let words = [first, second]
        while write(channel, words, 8) < 0, errno == EINTR {}
    }
}

/// A message to init.
enum SandboxRunOrder {
    /// Send a signal to the command, or to its whole process group.
    case signal(Int32, toGroup: Bool)
    /// Stop all processes until `resume`. The answer is `SandboxRunReport.stopped`.
    case stop
    case resume

    func send(_ channel: Int32) {
        switch self {
        case .signal(let number, let toGroup): SandboxRunChannel.send(toGroup ? 1 : 0, number, channel)
        case .stop: SandboxRunChannel.send(2, 0, channel)
        case .resume: SandboxRunChannel.send(3, 0, channel)
        }
    }

    static func receive(_ channel: Int32) -> SandboxRunOrder? {
        switch SandboxRunChannel.receive(channel) {
        case (0, let number)?: .signal(number, toGroup: false)
        case (1, let number)?: .signal(number, toGroup: true)
        case (2, _)?: .stop
        case (3, _)?: .resume
        default: nil
        }
    }
}

/// A message of init.
enum SandboxRunReport {
    /// All processes are stopped.
    case stopped
    /// The command has ended, with a status as of wait(2). `isLast`: init ends too, and no process is left in the sandbox.
    case ended(status: Int32, isLast: Bool)

    func send(_ channel: Int32) {
        switch self {
        case .stopped: SandboxRunChannel.send(2, 0, channel)
        case .ended(let status, let isLast): SandboxRunChannel.send(isLast ? 1 : 0, status, channel)
        }
    }

    static func receive(_ channel: Int32) -> SandboxRunReport? {
        switch SandboxRunChannel.receive(channel) {
        case (0, let status)?: .ended(status: status, isLast: false)
        case (1, let status)?: .ended(status: status, isLast: true)
        case (2, _)?: .stopped
        default: nil
        }
    }
}
