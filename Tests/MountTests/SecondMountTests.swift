import Glibc
import Testing

/// Two mounts of one backing directory, each with a daemon of its own. A change through one of them holds none
/// of the kernel's locks of the other: what COHERENCE calls a change without the lock is made from outside.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SecondMountTests {
    static let settings: [CacheSetting] = MountTesting.isLong ? [.auto, .strict, .masked] : [.auto]

    /// R14 is not kept yet: neither daemon tells the other, nor leaves off handing out names and attributes.
    static func untilDaemonsTellEachOther(_ setting: CacheSetting, _ body: () throws -> Void) rethrows {
        guard setting == .auto || setting == .exclusive else { return try body() }
        withKnownIssue("two daemons of one backing directory do not tell each other (docs/coherence.md, R14)") {
            try body()
        }
    }

    struct Pair {
        let fixture: MountFixture
        let other: String

        init(_ setting: CacheSetting) throws {
            fixture = try MountFixture(options: setting.rawValue)
            other = fixture.top + "/other"
            mkdir(other, 0o755)
            try fixture.mount(setting.rawValue, at: other)
        }

        /// What is called so on the first mount, on the second.
        func there(_ path: String) -> String { other + path.dropFirst(fixture.mountpoint.count) }
    }

    /// The rights are taken through the other mount; everybody else uses the first.
    @Test(arguments: settings)
    func aChangeThroughTheOtherMountCounts(_ setting: CacheSetting) throws {
        try Self.untilDaemonsTellEachOther(setting) {
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
    }

    /// T3: a listing that was decided while the directory was open takes effect after it was closed.
    @Test(arguments: settings)
    func aListingIsOvertaken(_ setting: CacheSetting) throws {
        try Self.untilDaemonsTellEachOther(setting) {
            let pair = try Pair(setting)
            let d = try RaceTests.makeTree(pair.fixture)
            typealias Trace = ForcedTraceTests
            try Trace.run("a listing overtaken", [pair.fixture.mountpoint, pair.other], needed: 20, [
                Trace.first(.alice, "chmod", pair.there(d), "0755"), Trace.first(.alice, "stat", d),
                Trace.late(.carol, "listagain", d),
                Trace.meanwhile(.alice, "chmod", pair.there(d), "0700"),
                // Else its own entry, out of date as well, would take the children along.
                Trace.meanwhile(.alice, "stat", d),
                Trace.then(.bob, "EACCES", "stat", d + "/s"), Trace.then(.bob, "EACCES", "stat", d + "/f"),
            ])
        }
    }

    /// T7: the attributes of an object that this mount does not know yet.
    @Test(arguments: settings)
    func anUnknownObjectsAttributesAreOvertaken(_ setting: CacheSetting) throws {
        try Self.untilDaemonsTellEachOther(setting) {
            let pair = try Pair(setting)
            let d = try RaceTests.makeTree(pair.fixture)
            let (new, far) = (d + "/new@", pair.there(d) + "/new@")
            typealias Trace = ForcedTraceTests
            try Trace.run("attributes of an unknown object", [pair.fixture.mountpoint, pair.other], needed: 20, [
                Trace.first(.alice, "create", far),
                Trace.late(.bob, "stat", new),
                Trace.meanwhile(.alice, "setxattr", far, "system.aclfs.acl", "user:#502 deny readattr"),
                Trace.then(.bob, "EACCES", "stat", new), Trace.then(.carol, "ok", "stat", new),
                Trace.then(.alice, "ok", "unlink", far),
            ])
        }
    }
}
