import Glibc
import TestSupport
import Testing

/// Two mounts of one backing directory, which one daemon serves. A change through one of them holds none of the
/// kernel's locks of the other (docs/internals/coherence.md R4, R12, R14).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SecondMountTests {
    static let settings: [CacheSetting] = MountTesting.isLong ? [.auto, .strict, .masked] : [.auto]

    struct Pair {
        let fixture: MountFixture
        let other: String

        init(_ setting: CacheSetting) throws {
            fixture = try MountFixture(options: setting.options)
            other = fixture.top + "/other"
            mkdir(other, 0o755)
            try fixture.mount(setting.options, at: other)
        }

        /// What is called so on the first mount, on the second.
        func there(_ path: String) -> String { other + path.dropFirst(fixture.mountpoint.count) }
    }

    /// The rights are taken through the other mount; everybody else uses the first.
    @Test(arguments: settings)
    func aChangeThroughTheOtherMountCounts(_ setting: CacheSetting) throws {
        let pair = try Pair(setting)
        let root = try ActingProcess(.root)
        let rounds = RevocationTests.rounds(setting) / 4
        let names: Set = [
            "mode of the directory", "deny search to a group", "everyone's allow entry goes", "deny readattr on f",
            "uchg on a file", "rename of a directory into a closed one",
        ]
        for (number, way) in RevocationTree(top: "").all.enumerated() where names.contains(way.name) {
            let tree = RevocationTree(top: pair.fixture.path("way\(number)"))
            try tree.make(root)
            var moved = tree.all[number]
            let far = RevocationTree(top: pair.there(tree.top)).all[number]
            (moved.take, moved.give, moved.name) = (far.take, far.give, way.name + ", through the other mount")
            try RevocationTests.run(moved, tree, rounds: rounds, root)
        }
    }

    /// T3: a listing that was decided while the directory was open takes effect after it was closed.
    @Test(arguments: settings)
    func aListingIsOvertaken(_ setting: CacheSetting) throws {
        let pair = try Pair(setting)
        let d = try RaceTests.makeTree(pair.fixture)
        typealias Trace = ForcedTraceTests
        try Trace.run(
            "a listing overtaken", [pair.fixture.mountpoint], needed: 20,
            [
                Trace.first(.alice, "chmod", pair.there(d), "0755"), Trace.first(.alice, "stat", d),
                // Else the kernel lists it by itself.
                Trace.first(.alice, "create", d + "/new@", "0644", "0"),
                Trace.late(.carol, "listagain", d),
                Trace.meanwhile(.alice, "chmod", pair.there(d), "0700"),
                // Else its own entry, out of date as well, would take the children along.
                Trace.meanwhile(.alice, "stat", d),
                Trace.then(.bob, "EACCES", "stat", d + "/s"), Trace.then(.bob, "EACCES", "stat", d + "/f"),
                Trace.then(.alice, "ok", "unlink", d + "/new@"),
            ])
    }

    /// T7: the attributes of an object that this mount does not know yet.
    @Test(arguments: settings)
    func anUnknownObjectsAttributesAreOvertaken(_ setting: CacheSetting) throws {
        let pair = try Pair(setting)
        let d = try RaceTests.makeTree(pair.fixture)
        let (new, far) = (d + "/new@", pair.there(d) + "/new@")
        typealias Trace = ForcedTraceTests
        try Trace.run(
            "attributes of an unknown object", [pair.fixture.mountpoint], needed: 20,
            [
                Trace.first(.alice, "create", far),
                Trace.late(.bob, "stat", new),
                Trace.meanwhile(.alice, "setxattr", far, "system.aclfs.acl", "user:#502 deny readattr"),
                Trace.then(.bob, "EACCES", "stat", new), Trace.then(.carol, "ok", "stat", new),
                Trace.then(.alice, "ok", "unlink", far),
            ])
    }

    /// Names and contents that changed through one mount are so through the other.
    @Test(arguments: settings)
    func bothShowTheSame(_ setting: CacheSetting) throws {
        let pair = try Pair(setting)
        let (alice, bob) = (try ActingProcess(.alice), try ActingProcess(.bob))
        let d = try RaceTests.makeTree(pair.fixture)
        let (here, there) = (d + "/note", pair.there(d) + "/note")
        for round in 0..<100 {
            #expect(try bob.call("stat", there).word == "ENOENT")
            try alice.must("create", here, "0644", "0")
            try alice.must("hold", "1", here, String(O_WRONLY), "0")
            try alice.must("write", "1", "round\(round)")
            try bob.must("hold", "2", there, String(O_RDONLY), "0")
            #expect(try bob.must("pread", "2", "0") == "round\(round)")
            try alice.must("close", "1")
            try bob.must("close", "2")
            try alice.must("rename", here, here + "2", "0")
            #expect(try bob.call("stat", there).word == "ENOENT")
            try bob.must("stat", there + "2")
            try alice.must("unlink", here + "2")
        }
    }

    /// Each kernel may answer by itself, with the other mount there, and when it has gone.
    @Test func eachIsFast() throws {
        let pair = try Pair(.exclusive)
        #expect(MountFixture.daemons(of: pair.other).isEmpty, "the first daemon serves both")
        try pair.fixture.unmount(at: pair.other)
        let status = try Spawn.run([MountTesting.program("aclfs"), "status", pair.fixture.mountpoint])
        #expect(status.output.contains("entry_timeout 7200"), "\(status)")
        try pair.fixture.mount("", at: pair.other)
        let both = try Spawn.run([MountTesting.program("aclfs"), "status", pair.fixture.mountpoint])
        #expect(both.output.contains("entry_timeout 7200"), "\(both)")
    }

    /// Directories one inside the other are one tree.
    @Test func aDirectoryInsideIsServedByTheSameDaemon() throws {
        let fixture = try MountFixture()
        let root = try ActingProcess(.root)
        try root.must("mkdir", fixture.path("inner"), "0755", "0")
        let inner = fixture.top + "/inner"
        mkdir(inner, 0o755)
        let result = try Spawn.run([MountTesting.program("aclfs"), "mount", fixture.backing + "/inner", inner])
        #expect(result.status == 0, "\(result)")
        defer { _ = try? Spawn.run([MountTesting.program("aclfs"), "unmount", inner]) }
        #expect(MountFixture.daemons(of: inner).isEmpty)
        let bob = try ActingProcess(.bob)
        for _ in 0..<50 {
            try bob.must("stat", inner)
            try root.must("create", fixture.path("inner/f"), "0644", "0")
            try bob.must("stat", inner + "/f")
            try root.must("chmod", fixture.path("inner"), "0700")
            #expect(try bob.call("stat", inner + "/f").word == "EACCES")
            try root.must("chmod", inner, "0755")
            try root.must("unlink", inner + "/f")
        }
    }

    /// A daemon that was stopped is asked whether it serves a directory, and does not answer.
    @Test func aStoppedDaemonKeepsNobodyFromMounting() throws {
        let stopped = try MountFixture()
        let daemons = MountFixture.daemons(of: stopped.mountpoint)
        #expect(daemons.count == 1)
        for daemon in daemons { kill(daemon, SIGSTOP) }
        defer { for daemon in daemons { kill(daemon, SIGCONT) } }
        let start = ContinuousClock.now
        // More than the daemon's queue holds.
        for _ in 0..<3 { _ = try MountFixture() }
        // Each asks every daemon for a second at most, and there may be those of other tests.
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    /// A daemon that ends because its last mount was taken away is not asked to serve the next one.
    @Test func mountingAgainAtOnce() throws {
        let fixture = try MountFixture()
        for _ in 0..<(MountTesting.isLong ? 500 : 40) {
            let ended = try fixture.unmount()
            #expect(ended.status == 0, "\(ended)")
            try fixture.mount()
        }
    }
}
