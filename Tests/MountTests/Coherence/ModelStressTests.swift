import Foundation
import Glibc
import TestSupport
import Testing

/// Random calls of several users, each outcome of which a model of the whole decides: the second evaluator
/// (`ReferenceModel`) over a tree in memory. One path is a set of options: how requests travel, how data does, what the
/// kernel keeps, what becomes of gaps. Each two values of two of them meet in one of the first eight; the others leave out
/// what older kernels do not have.
enum ModelStressPath: String, CaseIterable, CustomTestStringConvertible {
    case usual = "transport=uring,passthrough=auto,cache=auto,zerofill=write"
    case deviceDaemonAuto = "transport=dev,passthrough=off,cache=auto,zerofill=off"
    case ringDaemonStrict = "transport=uring,passthrough=off,cache=strict,zerofill=off"
    case devicePassthroughStrict = "transport=dev,passthrough=auto,cache=strict,zerofill=write"
    case ringPassthroughExclusive = "transport=uring,passthrough=auto,cache=exclusive,zerofill=off"
    case deviceDaemonExclusive = "transport=dev,passthrough=off,cache=exclusive,zerofill=write"
    case ringDaemonSeconds = "transport=uring,passthrough=off,cache=2,zerofill=write"
    case devicePassthroughSeconds = "transport=dev,passthrough=auto,cache=2,zerofill=off"
    case ringWithoutEpoch = "transport=uring,kernel_features=-epoch:-statx:-expire,zerofill=write"
    case deviceMasked = "kernel_features=-epoch:-passthrough:-uring:-statx:-killpriv2:-expire,zerofill=off"

    var testDescription: String { self == .deviceMasked ? "everything masked, zerofill=off" : options }
    /// Without rings in the kernel the device takes their place, which is said.
    var options: String { RingTesting.isPossible ? rawValue : rawValue.replacing("transport=uring", with: "transport=dev") }
}

@Suite(.enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ModelStressTests {
    static let callsInOneWorld = 250
    /// On each path.
    static let time: Duration = {
        let given = ProcessInfo.processInfo.environment["ACLFS_STRESS_SECONDS"].flatMap { Int($0) }
        return .seconds(given ?? (MountTesting.isLong ? 600 : 3))
    }()

    static func compare(_ run: ModelStressRun, seed: UInt64, for time: Duration) throws -> Int? {
        let start = ContinuousClock.now
        var count = 0
        var world = seed
        while ContinuousClock.now - start < time {
            var generator = ModelStressCallGenerator(seed: world)
            let calls = EquivalenceCallGenerator.beginning + generator.calls(callsInOneWorld)
            guard let difference = try run.run(calls) else {
                count += calls.count
                world &+= 1
                continue
            }
            let made = Array(calls.prefix(difference.index + 1))
            let small = try smaller(made, within: .seconds(30)) { try run.run($0)?.index }
            let shown = small ?? Array(made.suffix(60))
            let kind = small == nil ? "it did not come again; the last calls before it" : "smaller"
            let again = try small.flatMap { try run.run($0)?.text } ?? ""
            Issue.record(
                "ACLFS_SEED=\(world): \(difference.text)\n\(kind):\n\(shown.map(\.description).joined(separator: "\n"))\n\(again)")
            return nil
        }
        return count
    }

    @Test(arguments: ModelStressPath.allCases)
    func everyOutcomeIsTheModels(_ path: ModelStressPath) throws {
        let run = try ModelStressRun(path.options)
        let given = ProcessInfo.processInfo.environment["ACLFS_SEED"].flatMap { UInt64($0) }
        // What everybody runs is the same each time; new calls are for the long runs, whose findings become tests.
        let seed = given ?? (MountTesting.isLong ? UInt64.random(in: 0...UInt64.max) : 1)
        let count = try Self.compare(run, seed: seed, for: Self.time)
        print(
            "model stress, \(path.testDescription): \(count ?? 0) calls, seed \(seed), \(run.outcomes), "
                + "\(run.overtaken) questions met the change")
        guard let count else { return }
        #expect(count >= Self.callsInOneWorld)
        // Enough that succeeds, and enough that is refused; in a world or two chance may have it otherwise.
        for word in ["ok", "EACCES", "EPERM"] where count >= 20 * Self.callsInOneWorld {
            #expect(run.outcomes[word, default: 0] * 100 >= count, "\(run.outcomes)")
        }
    }

    /// Found at random: set-id bits, whose clearing the kernel asks for in words that may mean something else.
    @Test(arguments: ModelStressPath.allCases)
    func whatRandomCallsHaveFound(_ path: ModelStressPath) throws {
        let run = try ModelStressRun(path.options)
        for script in [
            // chown(2) without ids, by who has the file open to write, and by who has not.
            """
            0 mkdir /a 0777 0;1 create /a/x 0666 0;3 hold 2 /a/x 66 0600;1 chmod /a/x 04666;3 chown /a/x -1 -1;5 attributes /a/x
            """,
            "0 mkdir /a 0777 0;1 create /a/x 0666 0;5 chmod /a/x 04755;0 chown /a/x -1 -1;5 attributes /a/x",
            "0 mkdir /a 0777 0;1 create /a/x 0666 0;1 chmod /a/x 04755;1 chown /a/x -1 -1;5 attributes /a/x",
            // What is refused, but only after the kernel has had the bits cleared.
            """
            0 mkdir /a 0777 0;1 create /a/x 0666 0;4 hold 2 /a/x 2 0600;5 chmod /a/x 02770;\
            4 setxattr /a/x system.aclfs.flags uappnd;4 fallocate 2 3 281 500;5 attributes /a/x
            """,
            // A chmod that takes the bits away, by who could do so by writing.
            """
            0 mkdir /a 0777 0;1 create /a/x 0666 0;3 hold 2 /a/x 66 0600;4 chmod /a/x 04777;3 fchmod 2 0777;5 attributes /a/x
            """,
        ] {
            let calls = script.split(separator: ";").map { line in
                let words = line.split(separator: " ").map(String.init)
                return EquivalenceCall(user: Int(words[0]) ?? 0, words: Array(words.dropFirst()))
            }
            // The handle that created it may be on its way to RELEASE yet, and counts as open to write till then.
            var difference = try run.run(calls)
            for _ in 0..<30 where difference != nil { difference = try run.run(calls) }
            #expect(difference == nil, "\(script): \(difference?.text ?? "")")
        }
    }

    /// A name that a process makes above the top, by a link there, is none of the next world's.
    @Test func eachWorldBeginsWithoutNames() throws {
        let run = try ModelStressRun("")
        let root = EquivalenceCall.users.count - 1
        let link = ["symlink", "../x", "/x"]
        for (user, word) in [(root, ["hold", "1", "/x", "66", "0600"]), (0, ["open", "/x", "0"])] {
            let difference = try run.run([EquivalenceCall(user: user, words: link), EquivalenceCall(user: user, words: word)])
            #expect(difference == nil, "\(difference?.text ?? "")")
        }
    }

    /// The comparison sees a difference where there is one, and shows the calls that it needs.
    @Test func aMountWithoutListsDiffers() throws {
        let run = try ModelStressRun("noacl")
        for seed in 1..<20 as Range<UInt64> {
            var generator = ModelStressCallGenerator(seed: seed)
            let calls = EquivalenceCallGenerator.beginning + generator.calls(Self.callsInOneWorld)
            guard try run.run(calls) != nil else { continue }
            let small = try smaller(calls, within: .seconds(120)) { try run.run($0)?.index }
            #expect((small ?? calls).count <= 10, "\(small ?? calls)")
            return
        }
        Issue.record("no difference between a mount without lists and the model")
    }
}
