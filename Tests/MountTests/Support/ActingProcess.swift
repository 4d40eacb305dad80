import Foundation
import Glibc
import TestSupport

/// Who makes the calls.
struct TestUser: Hashable {
    var uid: UInt32
    var gid: UInt32
    var groups: [UInt32]
    var ruid: UInt32?
    var rgid: UInt32?

    static let root = TestUser(uid: 0, gid: 0, groups: [0])
    static let alice = TestUser(uid: 501, gid: 20, groups: [12, 20, 600])
    static let bob = TestUser(uid: 502, gid: 20, groups: [12, 20, 601])
    static let carol = TestUser(uid: 503, gid: 20, groups: [12, 20])

    var arguments: [String] {
        let list = groups.isEmpty ? "-" : groups.map(String.init).joined(separator: ",")
        let real = ruid == nil && rgid == nil ? [] : [String(ruid ?? uid), String(rgid ?? gid)]
        return [MountTesting.program("aclfs-act"), String(uid), String(gid), list] + real
    }

    /// Runs a command as this user to its end.
    func run(_ command: String...) throws -> CommandResult { try run(command) }
    func run(_ command: [String]) throws -> CommandResult { try Spawn.run(arguments + ["--"] + command) }
    func shell(_ script: String) throws -> CommandResult { try run("sh", "-c", script) }
}

/// What one call gave: `ok` or the name of the errno, and a value if the call has one.
struct CallResult: Equatable, CustomStringConvertible {
    var word: String
    var value: String
    var isOK: Bool { word == "ok" }
    var description: String { value.isEmpty ? word : "\(word) \(value)" }
}

/// A process with a user's identity that makes system calls when told.
final class ActingProcess {
    private let pid: pid_t
    private let input: Int32
    private let output: Int32
    private var pending: [UInt8] = []

    init(_ user: TestUser, within: [String] = []) throws {
        let toProcess = try Spawn.pipe()
        let fromProcess = try Spawn.pipe()
        defer {
            close(toProcess.reading)
            close(fromProcess.writing)
        }
        input = toProcess.writing
        output = fromProcess.reading
        pid = try Spawn.start(within + user.arguments, descriptors: [toProcess.reading, fromProcess.writing, 2])
    }

    deinit {
        close(input)
        close(output)
        _ = Spawn.wait(pid)
    }

    /// One call; strings go as they are, bytes that are no plain characters escaped.
    @discardableResult
    func call(_ words: String...) throws -> CallResult { try call(words) }

    @discardableResult
    func call(_ words: [String]) throws -> CallResult {
        try begin(words)
        return try end()
    }

    /// A call that is not waited for; `end` gives the results in the order of the calls.
    func begin(_ words: [String]) throws {
        let line = words.map(Self.escaped).joined(separator: "\t") + "\n"
        try send(Array(line.utf8))
    }

    func end() throws -> CallResult {
        let answer = try receive().split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
        return CallResult(word: String(answer[0]), value: answer.count == 2 ? String(answer[1]) : "")
    }

    /// As `call`, for a step that must succeed before the test means anything.
    @discardableResult
    func must(_ words: String...) throws -> String { try must(words) }

    @discardableResult
    func must(_ words: [String]) throws -> String {
        let result = try call(words)
        guard result.isOK else { throw FixtureError("\(words.joined(separator: " ")): \(result)") }
        return result.value
    }

    private static func escaped(_ word: String) -> String {
        word.utf8.map { $0 < 0x20 || $0 >= 0x7F ? hex($0) : String(UnicodeScalar($0)) }.joined()
    }

    private static func hex(_ byte: UInt8) -> String {
        "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    private func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw FixtureError("the acting process has gone: errno \(errno)")
            }
            rest = rest.dropFirst(count)
        }
    }

    private func receive() throws -> String {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            if let end = pending.firstIndex(of: 0x0A) {
                let line = String(decoding: pending[..<end], as: UTF8.self)
                pending.removeSubrange(...end)
                return line
            }
            let count = read(output, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FixtureError("the acting process ended") }
            pending += chunk.prefix(count)
        }
    }
}

/// Turns a printed value back into bytes.
func unescaped(_ value: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(value.utf8)[...]
    while let byte = rest.first {
        if rest.starts(with: "\\x".utf8), rest.count >= 4,
            let number = UInt8(String(decoding: rest.dropFirst(2).prefix(2), as: UTF8.self), radix: 16)
        {
            bytes.append(number)
            rest = rest.dropFirst(4)
        } else {
            bytes.append(byte)
            rest = rest.dropFirst()
        }
    }
    return bytes
}
