import Glibc

/// The line between the process that was called and the init of the sandbox: whole messages of two words. Not signals: everybody
/// inside can send init those, and one that waits already swallows the next.
enum SandboxRunLine {
    /// Nobody is left at the other end, or what came is no message.
    static func receive(_ line: Int32) -> (Int32, Int32)? {
        var words: [Int32] = [0, 0]
        while true {
            let count = read(line, &words, 8)
            // Reset: the other end is closed and had not read all that was sent. It is said once, before what it sent itself.
            if count < 0, errno == EINTR || errno == ECONNRESET { continue }
            return count == 8 ? (words[0], words[1]) : nil
        }
    }

    static func send(_ first: Int32, _ second: Int32, _ line: Int32) {
        let words = [first, second]
        while write(line, words, 8) < 0, errno == EINTR {}
    }
}

/// What init is told.
enum SandboxRunOrder {
    /// To the command, or to its whole process group.
    case signal(Int32, toGroup: Bool)
    /// Everybody inside is to stand still, until `go`. It is answered by `SandboxRunNews.stopped`.
    case stop
    case go

    func send(_ line: Int32) {
        switch self {
        case .signal(let number, let toGroup): SandboxRunLine.send(toGroup ? 1 : 0, number, line)
        case .stop: SandboxRunLine.send(2, 0, line)
        case .go: SandboxRunLine.send(3, 0, line)
        }
    }

    static func receive(_ line: Int32) -> SandboxRunOrder? {
        switch SandboxRunLine.receive(line) {
        case (0, let number)?: .signal(number, toGroup: false)
        case (1, let number)?: .signal(number, toGroup: true)
        case (2, _)?: .stop
        case (3, _)?: .go
        default: nil
        }
    }
}

/// What init tells.
enum SandboxRunNews {
    case stopped
    /// The command has; its status is as wait(2) has it. `isLast`: init ends now, and nobody is left in the sandbox then.
    case ended(status: Int32, isLast: Bool)

    func send(_ line: Int32) {
        switch self {
        case .stopped: SandboxRunLine.send(2, 0, line)
        case .ended(let status, let isLast): SandboxRunLine.send(isLast ? 1 : 0, status, line)
        }
    }

    static func receive(_ line: Int32) -> SandboxRunNews? {
        switch SandboxRunLine.receive(line) {
        case (0, let status)?: .ended(status: status, isLast: false)
        case (1, let status)?: .ended(status: status, isLast: true)
        case (2, _)?: .stopped
        default: nil
        }
    }
}
