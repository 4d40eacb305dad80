import Glibc
import LinuxSystem

/// A process that takes on an identity for good, then makes one call for each line of standard input and writes the answer.
public enum SubjectProgram {
    /// The word by which the program starts as a subject.
    public static let word = "conformance-subject"

    /// The descriptor of its working directory: the path to it may be closed to the subject.
    static let directory: Int32 = 3

    /// The words behind it: uid, gid, real uid, real gid, groups with commas or `-`.
    static func arguments(_ subject: Subject) -> [String] {
        let groups = subject.groups.isEmpty ? "-" : subject.groups.map(String.init).joined(separator: ",")
        return ["\(subject.uid)", "\(subject.gid)", "\(subject.realUID ?? subject.uid)", "\(subject.realGID ?? subject.gid)", groups]
    }

    /// Runs until standard input ends.
    /// - Returns: the exit status: 0; 2 if the identity cannot be taken on.
    public static func run(_ words: [String]) -> Int32 {
        guard let subject = parse(words) else { return 2 }
        do throws(Errno) {
            guard fchdir(directory) == 0 else { throw Errno(rawValue: errno) }
            close(directory)
            try Syscall.become(
                uid: subject.uid, gid: subject.gid, realUID: subject.realUID ?? subject.uid, realGID: subject.realGID ?? subject.gid,
                groups: subject.groups)
            // After the change of identity, which resets it.
            try Syscall.endWithParent(SIGKILL)
            let calls = try SubjectCalls()
            try send(CallAnswer("ready"))
            var pending: [UInt8] = []
            while let line = try LineReader.next(from: STDIN_FILENO, &pending) { try send(calls.answer(CallLine.words(line))) }
            return 0
        } catch {
            try? send(CallAnswer(error.name))
            return 2
        }
    }

    private static func parse(_ words: [String]) -> Subject? {
        let numbers = words.prefix(4).compactMap { UInt32($0) }
        guard words.count == 5, numbers.count == 4 else { return nil }
        let groups = words[4] == "-" ? [] : words[4].split(separator: ",").compactMap { UInt32($0) }
        return Subject(uid: numbers[0], gid: numbers[1], groups: groups, realUID: numbers[2], realGID: numbers[3])
    }

    private static func send(_ answer: CallAnswer) throws(Errno) { try LineReader.send(CallLine.write(answer), to: STDOUT_FILENO) }
}

/// Lines through a pipe.
enum LineReader {
    /// - Parameter pending: what was read beyond the last line.
    /// - Returns: the next line without its end; nil at the end of the input.
    static func next(from descriptor: Int32, _ pending: inout [UInt8]) throws(Errno) -> [UInt8]? {
        while true {
            if let end = pending.firstIndex(of: 0x0A) {
                let line = Array(pending[..<end])
                pending.removeSubrange(...end)
                return line
            }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let size = chunk.count
            let count = Glibc.read(descriptor, &chunk, size)
            if count < 0 {
                if errno == EINTR { continue }
                throw Errno(rawValue: errno)
            }
            if count == 0 { return nil }
            pending += chunk.prefix(count)
        }
    }

    static func send(_ bytes: [UInt8], to descriptor: Int32) throws(Errno) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw Errno(rawValue: errno)
            }
            rest = rest.dropFirst(count)
        }
    }
}
