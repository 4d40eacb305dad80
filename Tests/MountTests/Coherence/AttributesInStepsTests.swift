import Foundation
import Glibc
import TestSupport
import Testing

/// The kernel takes attributes from an answer in several steps, and others look at them in between
/// (docs/internals/coherence.md "Attributes in steps").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct AttributesInStepsTests {
    /// It would judge removals in a directory by the sticky bit itself while somebody looks the directory up.
    @Test(arguments: [CacheSetting.auto, .strict, .device])
    func theKernelNeverObeysTheStickyBit(_ setting: CacheSetting) throws {
        let fixture = try MountFixture(options: setting.options)
        let root = try ActingProcess(.root)
        let (shared, child) = (fixture.path("shared"), fixture.path("shared/child"))
        try root.must("mkdir", shared, "0777", "0")
        try root.must("mkdir", child, "0777", "0")
        try root.must("create", child + "/f", "0644", "0")
        try root.must("chown", child, "501", "650")
        try root.must("setxattr", shared, "system.aclfs.acl", "user:#503 allow delete_child")
        try root.must("chmod", shared, "01777")
        let look = RaceCall("stat", shared)
        let script = RaceScript(
            length: .rounds(MountTesting.isLong ? 20_000 : 1_500), taker: .alice, take: [look], give: [look],
            agents: [
                RaceAgent(user: .bob, calls: [RaceCall("rmdir", child).always("EACCES")]),
                RaceAgent(user: .carol, kind: "bystander", calls: [RaceCall("rmdir", child).always("ENOTEMPTY")]),
                RaceAgent(user: .alice, calls: [look, look, look, look]),
                RaceAgent(user: .root, calls: [RaceCall("listall", fixture.mountpoint), look]),
            ])
        let outcome = try script.run()
        #expect(outcome.status == 0, "\(outcome)")
        // Nor is the bit lost to who looks.
        #expect(try root.must("attributes", shared).hasPrefix("41777"))
    }

    /// When `readattr` has been taken from one, the first answers to others must not show him the old attributes.
    @Test(arguments: [CacheSetting.auto, .exclusive])
    func anotherOnesAnswerBringsNothingBack(_ setting: CacheSetting) throws {
        let fixture = try MountFixture(options: setting.options)
        let root = try ActingProcess(.root)
        let file = fixture.path("f")
        try root.must("create", file, "0644", "0")
        try root.must("chown", file, "501", "650")
        let looks = RaceCall("stat", file)
        let script = RaceScript(
            length: .rounds(MountTesting.isLong ? 20_000 : 200), taker: .alice,
            take: [RaceCall("setxattr", file, "system.aclfs.acl", "user:#502 deny readattr")],
            give: [RaceCall("removexattr", file, "system.aclfs.acl")],
            agents: [
                RaceAgent(user: .bob, calls: [looks.gives("ok", "EACCES")]),
                RaceAgent(user: .bob, calls: [looks.gives("ok", "EACCES")]),
                RaceAgent(user: .carol, calls: [looks]), RaceAgent(user: .carol, calls: [looks]),
            ])
        let outcome = try script.run()
        #expect(outcome.status == 0, "\(outcome)")
    }

    /// The kernel takes what it needs to run a program by.
    @Test func aClearedSetIDBitDoesNotRun() throws {
        let fixture = try MountFixture(options: "suid,cache=exclusive")
        let root = try ActingProcess(.root)
        let (alice, bob, carol) = (try ActingProcess(.alice), try ActingProcess(.bob), try ActingProcess(.carol))
        let program = fixture.path("id")
        try FileManager.default.copyItem(atPath: "/usr/bin/id", toPath: program)
        try root.must("chown", program, "501", "650")
        try root.must("chmod", program, "04777")
        func runs() throws -> String {
            let result = try Spawn.run(["setpriv", "--reuid=503", "--regid=20", "--clear-groups", program, "-u"])
            #expect(result.status == 0, "\(result)")
            return result.output
        }
        #expect(try runs() == "501")
        try carol.must("stat", program)
        try alice.must("setxattr", program, "system.aclfs.acl", "user:#502 deny readattr")
        try carol.must("stat", program)
        try bob.must("hold", "1", program, String(O_WRONLY | O_APPEND), "0")
        try bob.must("write", "1", "more")
        try bob.must("close", "1")
        #expect(try carol.must("attributes", program).hasPrefix("100777"))
        #expect(try runs() == "503")
    }

    /// A directory of whose attributes the kernel takes none is listed as it is.
    @Test func aNameThatCameThroughAnotherMountIsListed() throws {
        let pair = try SecondMountTests.Pair(.exclusive)
        let (root, carol) = (try ActingProcess(.root), try ActingProcess(.carol))
        let shared = pair.fixture.path("shared")
        try root.must("mkdir", shared, "0777", "0")
        try root.must("chmod", shared, "01777")
        for number in 0..<20 {
            _ = try carol.must("names", shared)
            try root.must("create", pair.there(shared) + "/f\(number)", "0644", "0")
            #expect(try carol.must("names", shared).split(separator: " ").count == number + 3)
        }
    }
}
