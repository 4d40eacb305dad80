import Foundation
import Glibc
import TestSupport
import Testing

/// Two mounts of equal trees, of which one lets the kernel answer by itself: each call has the same outcome on both.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct CacheEquivalenceTests {
    static let callsInOneWorld = 250

    /// A call whose outcomes differ.
    struct Difference {
        var index: Int
        var text: String
    }

    final class Pair {
        private let fixtures: [MountFixture]
        /// Further mounts of the trees.
        private var secondMounts: [Int: String] = [:]
        private let root: ActingProcess
        private let processes: [ActingProcess]
        private var worlds = 0
        /// How often each outcome came.
        private(set) var outcomes: [String: Int] = [:]

        init(_ first: String, _ second: String) throws {
            fixtures = try [first, second].map { try MountFixture(options: $0) }
            root = try ActingProcess(.root)
            processes = try EquivalenceCall.users.prefix(3).map { try ActingProcess($0) }
        }

        /// A tree is shown twice, and its calls go through the one mount or the other.
        /// - Parameter profile: the keys that confine the second mount.
        func mountTwice(_ number: Int, _ options: String, profile: [String: String]? = nil) throws {
            let place = fixtures[number].top + "/other"
            mkdir(place, 0o755)
            var words = [options]
            if let profile {
                let file = fixtures[number].top + "/profile.entitlements"
                try SandboxFixture.profile(profile).write(toFile: file, atomically: false, encoding: .utf8)
                words.append("sandbox=\(file)")
            }
            try fixtures[number].mount(words.joined(separator: ","), at: place)
            secondMounts[number] = place
        }

        private func top(_ number: Int, _ world: String, way: Int) -> String {
            if way == 1, let second = secondMounts[number] { return second + "/" + world }
            return fixtures[number].path(world)
        }

        /// Makes the calls in a fresh directory of both mounts, up to the first that differs.
        func run(_ calls: [EquivalenceCall]) throws -> Difference? {
            worlds += 1
            let world = "world\(worlds)"
            for fixture in fixtures { try root.must("mkdir", fixture.path(world), "0777", "0") }
            for (index, call) in calls.enumerated() {
                // Which of them is first must not matter.
                let order = index % 2 == 0 ? [0, 1] : [1, 0]
                var results: [Int: CallResult] = [:]
                for number in order {
                    let words = call.words(in: top(number, world, way: call.way))
                    results[number] = try processes[call.user].call(words)
                }
                guard let first = results[0], let second = results[1], first != second else {
                    outcomes[results[0]?.word ?? "", default: 0] += 1
                    continue
                }
                return Difference(index: index, text: "\(call): \(first) and \(second)")
            }
            return nil
        }
    }

    /// - Returns: how many calls were made; nil after a difference.
    static func compare(_ pair: Pair, seed: UInt64, for time: Duration) throws -> Int? {
        var generator = EquivalenceCallGenerator(seed: seed)
        let start = ContinuousClock.now
        var count = 0
        while ContinuousClock.now - start < time {
            let calls = EquivalenceCallGenerator.beginning + generator.calls(callsInOneWorld)
            guard let difference = try pair.run(calls) else {
                count += calls.count
                continue
            }
            let made = calls.prefix(difference.index + 1)
            let small = try smaller(Array(made), within: .seconds(30)) { try pair.run($0)?.index }
            let shown = small ?? Array(made.suffix(60))
            let kind = small == nil ? "it did not come again; the last calls before it" : "smaller"
            Issue.record(
                "ACLFS_SEED=\(seed): \(difference.text)\n\(kind):\n\(shown.map(\.description).joined(separator: "\n"))")
            return nil
        }
        return count
    }

    /// Not with everything masked: a kernel that clears set-id bits itself asks for attributes first, in the caller's
    /// name, and so refuses with EACCES what is refused with EPERM, and more (docs/reference/security.md).
    @Test(arguments: [CacheSetting.auto, .exclusive, .withoutEpoch])
    func everyCallHasTheSameOutcome(_ setting: CacheSetting) throws {
        try Self.expectNoDifference(try Pair(CacheSetting.strict.rawValue, setting.options), setting)
    }

    /// What one mount of a tree changes, the kernel of the other must not answer from what it knows.
    @Test(arguments: [CacheSetting.auto, .exclusive])
    func severalMountsAreOneTree(_ setting: CacheSetting) throws {
        let pair = try Pair(CacheSetting.strict.rawValue, setting.options)
        try pair.mountTwice(1, setting.options)
        try Self.expectNoDifference(pair, setting)
    }

    /// A view in which everything passes is as if there were none, beside a mount that is none.
    @Test(arguments: [CacheSetting.auto, .exclusive])
    func aViewOfEverythingIsNone(_ setting: CacheSetting) throws {
        let pair = try Pair(CacheSetting.strict.rawValue, setting.options)
        try pair.mountTwice(1, setting.options, profile: SandboxFixture.everything)
        try Self.expectNoDifference(pair, setting)
    }

    /// Views with zones of three kinds, beside mounts through which objects go from one to another.
    @Test(arguments: [CacheSetting.auto, .exclusive])
    func aViewAnswersFromNothingThatIsOld(_ setting: CacheSetting) throws {
        let pair = try Pair(CacheSetting.strict.rawValue, setting.options)
        func places(_ name: String) -> String {
            "<array>" + (1...400).map { "<string>/world\($0)/\(name)/</string>" }.joined() + "</array>"
        }
        let key = "temporary-exception.files.absolute-path."
        let profile = [key + "read-write": places("a"), key + "read-only": places("b")]
        try pair.mountTwice(0, CacheSetting.strict.rawValue, profile: profile)
        try pair.mountTwice(1, setting.options, profile: profile)
        try Self.expectNoDifference(pair, setting)
    }

    private static func expectNoDifference(_ pair: Pair, _ setting: CacheSetting) throws {
        let given = ProcessInfo.processInfo.environment["ACLFS_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0...UInt64.max)
        let count = try compare(pair, seed: seed, for: MountTesting.isLong ? .seconds(30) : .milliseconds(1500))
        print("cache equivalence, \(setting.testDescription): \(count ?? 0) calls, seed \(seed), \(pair.outcomes)")
        guard let count else { return }
        #expect(count >= callsInOneWorld)
        // Enough that succeeds, and enough that is refused; in a world or two chance may have it otherwise.
        for word in ["ok", "EACCES"] where count >= 10 * callsInOneWorld {
            #expect(pair.outcomes[word, default: 0] * 40 >= count, "\(pair.outcomes)")
        }
    }

    /// The comparison sees a difference where there is one, and shows the calls that it needs.
    @Test func aDifferenceIsFoundAndMadeSmall() throws {
        let pair = try Pair(CacheSetting.strict.rawValue, "noacl")
        var generator = EquivalenceCallGenerator(seed: 1)
        for _ in 0..<20 {
            let calls = EquivalenceCallGenerator.beginning + generator.calls(Self.callsInOneWorld)
            guard try pair.run(calls) != nil else { continue }
            let small = try smaller(calls, within: .seconds(20)) { try pair.run($0)?.index }
            #expect((small ?? calls).count <= 6, "\(small ?? calls)")
            return
        }
        Issue.record("no difference between a mount with lists and one without")
    }
}
