import Glibc
import LinuxSystem

/// A subject that runs: its process lives as long as the object.
final class SubjectProcess {
    /// The longest that one call may take, in milliseconds.
    private static let longestCall: Int32 = 30_000
    private let process: Int32
    private let input: SharedDescriptor
    private let output: SharedDescriptor
    private var pending: [UInt8] = []
    private let interruption: Interruption

    /// - Parameter directory: its working directory.
    init(_ subject: Subject, in directory: Int32, _ interruption: Interruption) throws(RunFailure) {
        self.interruption = interruption
        do throws(Errno) {
            let calls = try Pipe()
            let answers = try Pipe()
            process = try Self.start(
                SubjectProgram.arguments(subject), input: calls.reading.rawValue, output: answers.writing.rawValue, in: directory)
            (input, output) = (calls.writing, answers.reading)
        } catch { throw RunFailure("a process for uid \(subject.uid) cannot be started: \(error)") }
        let answer = try receive("start")
        guard answer.word == "ready" else {
            throw RunFailure("cannot act as uid \(subject.uid): \(answer.word)")
        }
    }

    deinit {
        kill(process, SIGKILL)
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
    }

    /// Makes one call.
    /// - Throws: the process has gone, the call takes too long, or a signal came.
    func call(_ words: [[UInt8]]) throws(RunFailure) -> CallAnswer {
        let shown = words.prefix(2).map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
        do throws(Errno) { try LineReader.send(CallLine.write(words), to: input.rawValue) } catch {
            throw RunFailure("the process that makes the calls has ended: \(shown)")
        }
        return try receive(shown)
    }

    private func receive(_ call: String) throws(RunFailure) -> CallAnswer {
        var waited: Int32 = 0
        while !pending.contains(0x0A) {
            try interruption.check()
            var question = pollfd(fd: output.rawValue, events: Int16(POLLIN), revents: 0)
            let count = poll(&question, 1, 100)
            if count == 0 {
                waited += 100
                if waited >= Self.longestCall { throw RunFailure("\(call): no answer within \(Self.longestCall / 1000) seconds") }
            }
            if count <= 0 { continue }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let size = chunk.count
            let received = read(output.rawValue, &chunk, size)
            if received < 0, errno == EINTR { continue }
            if received <= 0 { throw RunFailure("the process that makes the calls has ended: \(call)") }
            pending += chunk.prefix(received)
        }
        let line = try? LineReader.next(from: output.rawValue, &pending)
        return CallLine.answer((line ?? nil) ?? [])
    }

    /// Both ends, closed on exec.
    private struct Pipe {
        let reading: SharedDescriptor
        let writing: SharedDescriptor

        init() throws(Errno) {
            var ends: [Int32] = [-1, -1]
            guard Glibc.pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            (reading, writing) = (SharedDescriptor(rawValue: ends[0]), SharedDescriptor(rawValue: ends[1]))
        }
    }

    private static func start(_ arguments: [String], input: Int32, output: Int32, in directory: Int32) throws(Errno) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, directory, SubjectProgram.directory)
        var words: [UnsafeMutablePointer<CChar>?] = (["aclfs", SubjectProgram.word] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        var nothing: [UnsafeMutablePointer<CChar>?] = [nil]
        let failure = posix_spawn(&process, "/proc/self/exe", &actions, nil, &words, &nothing)
        if failure != 0 { throw Errno(rawValue: failure) }
        return process
    }
}
