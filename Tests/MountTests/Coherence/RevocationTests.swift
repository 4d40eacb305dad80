import Glibc
import TestSupport
import Testing

/// Rights are taken away and given back, in rounds, while several processes of several users call without pause.
/// A call that starts after the taking call has returned is refused, one after the giving call is granted,
/// and a bystander is not touched. The rounds are in Tests/RaceClient/rounds.c.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct RevocationTests {
    /// The outcomes are the same for all; where the kernel may answer by itself they are won most hardly. All ways
    /// together that is more than 100 000 revocations over each transport.
    static func rounds(_ setting: CacheSetting) -> Int {
        if MountTesting.isLong { return setting == .auto ? 10_000 : setting == .device ? 3_500 : 1_000 }
        return setting == .auto ? 200 : 20
    }
    static let settings: [CacheSetting] = MountTesting.isLong ? [.auto, .exclusive, .strict, .device, .masked] : [.auto, .strict, .masked]

    /// Those that only keep requests under way and caches warm: the owner too, whose walks bring closed
    /// entries in, and who changes modes that take nothing away.
    static func walkers(_ tree: RevocationTree) -> [RaceAgent] {
        [
            RaceAgent(
                user: .alice, pause: 4000,
                calls: [
                    RaceCall("stat", tree.x), RaceCall("listall", tree.c), RaceCall("chmod", tree.s, "0777"),
                ]),
            RaceAgent(
                user: .carol, pause: 4000,
                calls: [
                    RaceCall("listall", tree.s), RaceCall("read", tree.x), RaceCall("create", tree.c + "/temporary@"),
                    RaceCall("unlink", tree.c + "/temporary@"),
                ]),
            RaceAgent(user: .root, pause: 8000, calls: [RaceCall("listall", tree.s), RaceCall("listall", tree.closed)]),
        ]
    }

    static func judge(_ outcome: RaceOutcome, _ name: String, rounds: Int) {
        let enough =
            outcome.numbers.count >= 4 && outcome.numbers[0] == rounds
            && outcome.numbers[2] >= rounds && outcome.numbers[3] >= rounds
        #expect(outcome.status == 0 && enough, "\(name): \(outcome)")
    }

    static func run(_ way: RevocationWay, _ tree: RevocationTree, rounds: Int, _ root: ActingProcess) throws {
        for call in way.prepare {
            let result = try root.call(call)
            guard result.isOK else { throw FixtureError("\(way.name): \(call): \(result)") }
        }
        var agents = way.checks.enumerated().map { number, calls in
            RaceAgent(user: .bob, pause: number == 0 ? 0 : 500, kind: number == 0 ? "" : "bystander", calls: calls)
        }
        if !way.bystander.isEmpty { agents.append(RaceAgent(user: .carol, pause: 2000, kind: "bystander", calls: way.bystander)) }
        let script = RaceScript(
            length: .rounds(rounds), taker: way.taker, take: way.take, give: way.give, agents: agents + walkers(tree))
        judge(try script.run(), way.name, rounds: rounds)
    }

    @Test(arguments: settings)
    func everyWayCountsForTheNextCall(_ setting: CacheSetting) throws {
        let fixture = try MountFixture(options: setting.options)
        let root = try ActingProcess(.root)
        let count = RevocationTree(top: "").all.count
        for number in 0..<count {
            let tree = RevocationTree(top: fixture.path("way\(number)"))
            try tree.make(root)
            try Self.run(tree.all[number], tree, rounds: Self.rounds(setting), root)
        }
    }

    /// The whole mount: nobody writes, whatever the entries say.
    @Test(arguments: settings)
    func aReadOnlyRemountCountsForTheNextCall(_ setting: CacheSetting) throws {
        let fixture = try MountFixture(options: setting.options)
        let tree = RevocationTree(top: fixture.path("tree"))
        try tree.make(try ActingProcess(.root))
        let new = tree.c + "/new@"
        let checks = [
            RaceCall("write", tree.f).gives("ok", "EROFS"), RaceCall("read", tree.f).always("ok"),
            RaceCall("rmdir", tree.s).gives("ENOTEMPTY", "EROFS"),
        ]
        let way = RevocationWay(
            name: "remount", taker: .root, take: [RaceCall("remount", fixture.mountpoint, "ro")],
            give: [RaceCall("remount", fixture.mountpoint, "rw")], checks: [checks, checks],
            bystander: [RaceCall("create", new), RaceCall("unlink", new)])
        try Self.run(way, tree, rounds: Self.rounds(setting), try ActingProcess(.root))
    }

    /// It only rises, so every round needs a mount of its own.
    @Test(arguments: settings)
    func aRaisedSecurelevelCountsForTheNextCall(_ setting: CacheSetting) throws {
        for _ in 0..<(MountTesting.isLong ? 50 : 2) {
            let fixture = try MountFixture(options: setting.options)
            let root = try ActingProcess(.root)
            // Each clears its flag and sets it again.
            let agents = try (0..<3).map { number in
                let path = fixture.path("f\(number)")
                try root.must("create", path, "0644", "0")
                try root.must("setxattr", path, "system.aclfs.flags", "schg")
                return RaceAgent(
                    user: .root,
                    calls: [
                        RaceCall("chattr", path, "-i").gives("ok", "EPERM"), RaceCall("chattr", path, "+i").always("ok"),
                    ])
            }
            let script = RaceScript(
                length: .rounds(1), taker: .root, take: [RaceCall("remount", fixture.mountpoint, "rw,securelevel=1")],
                agents: agents)
            Self.judge(try script.run(), "securelevel", rounds: 1)
        }
    }

    /// A process gives up a group of its own; another of the same user keeps it.
    @Test(arguments: settings, [0, 2])
    func aGroupThatIsGivenUpNoLongerHelps(_ setting: CacheSetting, _ milliseconds: Int) throws {
        let fixture = try MountFixture(options: "groups_cache=\(milliseconds),\(setting.options)")
        let tree = RevocationTree(top: fixture.path("tree"))
        let root = try ActingProcess(.root)
        try tree.make(root)
        try root.must("chown", tree.c, "501", "601")
        try root.must("chmod", tree.c, "0750")
        let old = RaceCall("nap", String(milliseconds * 1500))
        let changes = [
            RaceCall("regroup", "12,20"), old, RaceCall("stat", tree.x).always("EACCES"),
            RaceCall("regroup", "12,20,601"), old, RaceCall("stat", tree.x).always("ok"),
        ]
        // Each of the two states of a round sees both changes.
        let rounds = Self.rounds(setting) / 2
        let script = RaceScript(
            length: .rounds(rounds), taker: .root,
            agents: [
                RaceAgent(user: .bob, kind: "setgid", calls: changes),
                RaceAgent(user: .bob, pause: 500, kind: "bystander", calls: [RaceCall("stat", tree.x).always("ok")]),
                RaceAgent(user: .carol, pause: 2000, kind: "bystander", calls: [RaceCall("read", tree.f).always("EACCES")]),
            ] + Self.walkers(tree))
        Self.judge(try script.run(), "groups", rounds: rounds)
    }
}
