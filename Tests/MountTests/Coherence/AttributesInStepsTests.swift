import Testing

/// The kernel takes attributes from an answer in several steps, and others look at them in between
/// (docs/coherence.md, "Attributes in steps").
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
}
