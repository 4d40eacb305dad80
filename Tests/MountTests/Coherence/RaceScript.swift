import Foundation
import Glibc
import TestSupport
import Testing

/// A call as aclfs-race knows it, and what it must give while the right is there and after it was taken away.
struct RaceCall {
    var words: [String]
    var granted = "any"
    var taken = "any"

    /// A call whose outcome nobody looks at.
    init(_ words: String...) { self.words = words }

    /// `RaceCall("stat", path).gives("ok", "EACCES")`
    func gives(_ granted: String, _ taken: String) -> RaceCall {
        var call = self
        (call.granted, call.taken) = (granted, taken)
        return call
    }

    func always(_ outcome: String) -> RaceCall { gives(outcome, outcome) }
}

/// A process that makes its calls in a loop.
struct RaceAgent {
    var user: TestUser
    /// Microseconds between two loops.
    var pause = 0
    /// `setgid`: it may give up a group of its own; `bystander`: it is judged, and nobody waits for it.
    var kind = ""
    var calls: [RaceCall]
}

/// What a run of aclfs-race said.
struct RaceOutcome: CustomStringConvertible {
    var status: Int32
    var text: String
    /// The numbers of its first line: rounds, calls, judged granted, judged taken; or attempts, forced.
    var numbers: [Int]
    var description: String { "exit \(status): \(text)" }
}

/// One race (Tests/RaceClient): who takes what from whom, and who calls meanwhile.
struct RaceScript {
    enum Length {
        /// Each agent is waited for in each state.
        case rounds(Int)
        /// Nobody is waited for.
        case revocations(Int)
        case seconds(Int)
    }

    var length: Length
    var taker: TestUser
    /// Once, by the taker.
    var before: [RaceCall] = []
    var take: [RaceCall] = []
    var give: [RaceCall] = []
    /// By the taker, after each take and each give.
    var then: [RaceCall] = []
    var agents: [RaceAgent] = []

    var text: String {
        var lines: [[String]]
        switch length {
        case .rounds(let count): lines = [["rounds", String(count)]]
        case .revocations(let count): lines = [["revocations", String(count)]]
        case .seconds(let count): lines = [["seconds", String(count)]]
        }
        lines.append(["taker"] + taker.raceWords)
        for (word, calls) in [("before", before), ("take", take), ("give", give), ("then", then)] {
            for call in calls { lines.append([word] + call.words) }
        }
        for agent in agents {
            lines.append(["agent"] + agent.user.raceWords + [String(agent.pause)] + (agent.kind.isEmpty ? [] : [agent.kind]))
            for call in agent.calls { lines.append(["call", call.granted, call.taken] + call.words) }
        }
        return RaceClient.text(lines)
    }

    /// - Parameter within: what stands before the command: where the mount is made.
    func run(within: [String] = []) throws -> RaceOutcome { try RaceClient.run(text, within) }
}

enum RaceClient {
    static func text(_ lines: [[String]]) -> String { lines.map { $0.joined(separator: "\t") + "\n" }.joined() }

    static func run(_ script: String, _ within: [String] = []) throws -> RaceOutcome {
        let path = "/tmp/aclfs-script.\(UUID().uuidString)"
        try script.write(toFile: path, atomically: false, encoding: .utf8)
        defer { unlink(path) }
        let result = try Spawn.run(within + ["sh", "-c", "exec \"$1\" <\"$2\"", "sh", MountTesting.program("aclfs-race"), path])
        let summary = result.output.split(separator: "\n").first.map(String.init) ?? ""
        let numbers = summary.split { !$0.isNumber }.compactMap { Int($0) }
        return RaceOutcome(status: result.status, text: result.output, numbers: numbers)
    }
}

extension TestUser {
    /// As scripts name it.
    var raceWords: [String] {
        [String(uid), String(gid), groups.isEmpty ? "-" : groups.map(String.init).joined(separator: ",")]
    }
}

/// How the kernel may answer by itself; the outcomes are the same for all.
enum CacheSetting: String, CaseIterable, CustomTestStringConvertible {
    case auto = "cache=auto"
    case exclusive = "cache=exclusive"
    case strict = "cache=strict"
    case withoutEpoch = "kernel_features=-epoch:-passthrough:-uring:-statx:-expire"
    case device = "cache=auto,transport=dev"
    case masked = "kernel_features=-epoch:-passthrough:-uring:-statx:-killpriv2:-expire"

    /// A mount whose requests would come another way than is meant is refused.
    var options: String {
        switch self {
        case .auto, .exclusive, .strict: RingTesting.isPossible ? rawValue + ",transport=uring" : rawValue
        case .device, .withoutEpoch, .masked: rawValue
        }
    }

    var testDescription: String {
        switch self {
        case .masked: "everything masked"
        case .withoutEpoch: "without the epoch"
        default: rawValue
        }
    }
}
