import Glibc
import TestSupport
import Testing

/// Places and grants change while several processes call without pause (Tests/RaceClient): a call that starts after the change
/// has returned is judged by the new state.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SandboxRaceTests {
    /// Who stands in a directory is refused as soon as it has been moved out, through a mount that nothing confines.
    @Test(arguments: RevocationTests.settings) func aDirectoryMovesOut(_ setting: CacheSetting) throws {
        let sandbox = try SandboxFixture(options: setting.rawValue, unconfined: true)
        let (inside, outside) = (sandbox.there("Users/ann/Downloads/sub"), sandbox.there("Users/ann/Documents/out"))
        let place = sandbox.path("Users/ann/Downloads/sub")
        let checks = [
            [RaceCall("stat", "file"), RaceCall("read", "file"), RaceCall("write", "file")],
            [RaceCall("list", "."), RaceCall("access", "file", "4")],
        ].map { $0.map { $0.gives("ok", "EPERM") } }
        let music = sandbox.path("Users/ann/Music")
        let rounds = RevocationTests.rounds(setting) / 2
        let script = RaceScript(
            length: .rounds(rounds), taker: .root, take: [RaceCall("rename", inside, outside)],
            give: [RaceCall("rename", outside, inside)],
            agents: [
                RaceAgent(user: .bob, calls: checks[0]),
                RaceAgent(user: .bob, pause: 500, kind: "bystander", calls: checks[1]),
                RaceAgent(
                    user: .carol, pause: 1000, kind: "bystander",
                    calls: [
                        RaceCall("read", music + "/file").always("ok"),
                        RaceCall("write", music + "/file").always("EPERM"),
                    ]),
                RaceAgent(
                    user: .alice, pause: 2000,
                    calls: [
                        RaceCall("listall", sandbox.path("Users/ann/Downloads")), RaceCall("stat", place + "/file"),
                        RaceCall("stat", outside + "/file"),
                    ]),
            ])
        // All of them stand there from the start, wherever that is later.
        RevocationTests.judge(try script.run(within: ["env", "-C", place]), "a directory moves out", rounds: rounds)
    }

    /// By path, with names, attributes and listings in the kernel's caches.
    @Test(arguments: RevocationTests.settings, [false, true])
    func aGrantComesAndGoes(_ setting: CacheSetting, _ isBesides: Bool) throws {
        let accounts = try PrivateAccounts(users: ["alice": 501], groups: [20: .init(name: "staff", members: [])])
        try Spawn.run(accounts.within + ["mount", "-t", "tmpfs", "tmpfs", "/var/lib"]).check()
        let sandbox = try SandboxFixture(
            ["files.user-selected.read-write": "<true/>"], options: setting.rawValue, unconfined: isBesides,
            within: accounts.within)
        let place = sandbox.path("Users/ann/Documents")
        func order(_ verb: String, _ more: String = "") -> RaceCall {
            let message = """
                {"v":1,"command":"grant-\(verb)","bundle":"\(SandboxFixture.bundle)","path":"Users/ann/Documents"\(more)}
                """
            return RaceCall("control", sandbox.path(""), message)
        }
        let access = ",\"access\":\"read-write\""
        let checks = [
            [
                RaceCall("stat", place + "/sub/file"), RaceCall("read", place + "/file"),
                RaceCall("write", place + "/file"),
            ],
            [RaceCall("list", place + "/sub"), RaceCall("access", place + "/file", "4")],
        ].map { $0.map { $0.gives("ok", "EPERM") } }
        let rounds = max(RevocationTests.rounds(setting) / 10, 10)
        let script = RaceScript(
            length: .rounds(rounds), taker: .root, before: [order("add", access)], take: [order("remove")],
            give: [order("add", access)],
            agents: [
                RaceAgent(user: .bob, calls: checks[0]),
                RaceAgent(user: .bob, pause: 500, kind: "bystander", calls: checks[1]),
                RaceAgent(
                    user: .alice, pause: 2000, calls: [RaceCall("listall", place), RaceCall("listall", place + "/sub")]),
            ])
        RevocationTests.judge(try script.run(within: accounts.within), "a grant comes and goes", rounds: rounds)
    }
}
