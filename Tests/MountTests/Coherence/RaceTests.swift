import Glibc
import TestSupport
import Testing

/// Walks of several users through a directory that its owner closes and opens without pause: not one passes
/// while it is closed, not one is refused while it is open. Nothing is forced; where a hole is narrow, the
/// number of tries finds it (docs/internals/coherence.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct RaceTests {
    enum Variant: String, CaseIterable {
        case plain
        case ownerHoldsTheChild
        case ownerChangesTheChildsMode
        case listings
        case processorsAreTakenAway

        /// 100 000 in all: the more, the faster it is.
        var revocations: Int {
            switch self {
            case .plain: 40_000
            case .ownerHoldsTheChild: 20_000
            case .ownerChangesTheChildsMode, .listings: 15_000
            case .processorsAreTakenAway: 10_000
            }
        }
    }

    static let settings: [CacheSetting] = MountTesting.isLong ? [.auto, .exclusive, .strict, .device, .masked] : [.auto]
    static let seconds = MountTesting.isLong ? 15 : 2

    /// Over each way that requests can travel it is the number of revocations that counts, elsewhere the time.
    static func length(_ setting: CacheSetting, _ variant: Variant) -> RaceScript.Length {
        let isByNumber = MountTesting.isLong && [.auto, .device].contains(setting)
        return isByNumber ? .revocations(variant.revocations) : .seconds(seconds)
    }
    static let users = [TestUser.bob, .carol, TestUser(uid: 504, gid: 20, groups: [12, 20])]

    static func agents(_ variant: Variant, _ directory: String) -> [RaceAgent] {
        let (child, file) = (directory + "/s", directory + "/f")
        // For a file the kernel makes a new entry, a directory's is used again: they differ in what can go wrong.
        var agents = users.enumerated().map { number, user in
            RaceAgent(user: user, calls: [RaceCall("stat", number == 2 ? file : child).gives("ok", "EACCES")])
        }
        switch variant {
        case .plain, .ownerHoldsTheChild: break
        case .ownerChangesTheChildsMode:
            agents.append(RaceAgent(user: .alice, pause: 50, calls: [RaceCall("chmod", child, "0755")]))
        case .listings:
            agents.append(RaceAgent(user: .alice, pause: 50, calls: [RaceCall("listall", directory)]))
            agents.append(RaceAgent(user: .bob, calls: [RaceCall("list", directory)]))
        case .processorsAreTakenAway:
            agents.append(RaceAgent(user: .root, pause: 300, calls: [RaceCall("preempt", "10", "300")]))
            agents.append(RaceAgent(user: .alice, pause: 50, calls: [RaceCall("chmod", child, "0755")]))
        }
        return agents
    }

    static func makeTree(_ fixture: MountFixture) throws -> String {
        let root = try ActingProcess(.root)
        let directory = fixture.path("d")
        try root.must("mkdir", directory, "0755", "0")
        try root.must("mkdir", directory + "/s", "0755", "0")
        try root.must("create", directory + "/f", "0644", "0")
        for path in [directory + "/s", directory + "/f", directory] { try root.must("chown", path, "501", "650") }
        return directory
    }

    @Test(arguments: settings, Variant.allCases)
    func nobodyPassesThroughAClosedDirectory(_ setting: CacheSetting, _ variant: Variant) throws {
        let fixture = try MountFixture(options: setting.options)
        let directory = try Self.makeTree(fixture)
        let walk = RaceCall("stat", directory + "/s")
        let script = RaceScript(
            length: Self.length(setting, variant), taker: .alice,
            before: variant == .ownerHoldsTheChild ? [RaceCall("hold", directory + "/s")] : [],
            take: [RaceCall("chmod", directory, "0700")], give: [RaceCall("chmod", directory, "0755")],
            // The owner's own walks bring entries of the closed directory into the caches of all.
            then: [walk, walk, walk], agents: Self.agents(variant, directory))
        // A race that hardly ran proves nothing. Few walks are judged while the owner hurries, and other tests may have the processors just
        // then: so many runs until all of them together have had enough.
        var (rounds, calls, judged) = (0, 0, 0)
        var isEnough: Bool { rounds >= 20 * Self.seconds && calls >= 500 * Self.seconds && judged >= 20 * Self.seconds }
        for _ in 0..<20 where !isEnough {
            let outcome = try script.run()
            print("race, \(setting.testDescription), \(variant): \(outcome)")
            try #require(outcome.status == 0 && outcome.numbers.count >= 4, "\(outcome)")
            rounds += outcome.numbers[0]
            calls += outcome.numbers[1]
            judged += outcome.numbers[2] + outcome.numbers[3]
        }
        #expect(isEnough, "\(rounds) rounds, \(calls) calls, \(judged) judged")
    }
}
