import Glibc
import TestSupport
import Testing

/// Traces in which an answer is used late: after the change that makes it untrue has returned. The user who
/// asks is kept off its processor from when it sleeps in the request until the change is over
/// (Tests/RaceClient/forced.c). The numbers are those of docs/internals/coherence.md.
@Suite(
    .serialized,
    .enabled(
        if: MountTesting.isPossible && sysconf(Int32(_SC_NPROCESSORS_ONLN)) >= 2,
        "needs root, /dev/fuse and two processors"))
struct ForcedTraceTests {
    static let settings: [CacheSetting] = MountTesting.isLong ? [.auto, .exclusive, .strict, .masked] : [.auto]
    static let attempts = MountTesting.isLong ? 1_000 : 50

    /// One call of a trace: when it is made, by whom, with which outcome.
    struct Step {
        var when: String
        var user: TestUser
        var outcome: String
        var words: [String]
    }

    static func first(_ user: TestUser, _ words: String...) -> Step { Step(when: "first", user: user, outcome: "ok", words: words) }
    /// The call whose answer is used late; what it says itself is either.
    static func late(_ user: TestUser, _ words: String...) -> Step { Step(when: "victim", user: user, outcome: "any", words: words) }
    static func meanwhile(_ user: TestUser, _ words: String...) -> Step {
        Step(when: "during", user: user, outcome: "ok", words: words)
    }
    static func then(_ user: TestUser, _ outcome: String, _ words: String...) -> Step {
        Step(when: "after", user: user, outcome: outcome, words: words)
    }

    /// - Parameter needed: in how many attempts of a hundred the user must have been under way.
    static func run(_ name: String, _ paths: [String], needed: Int, _ steps: [Step]) throws {
        let daemons = paths.flatMap { MountFixture.daemons(of: $0) }
        guard daemons.count == paths.count else { throw FixtureError("not one daemon for each of \(paths): \(daemons)") }
        var lines = [["attempts", String(attempts)]] + daemons.map { ["serving", String($0)] }
        for step in steps { lines.append([step.when] + step.user.raceWords + [step.outcome] + step.words) }
        // On a busy machine the moment may be missed nearly each time.
        var isForced = false
        for _ in 0..<5 where !isForced {
            let outcome = try RaceClient.run(RaceClient.text(lines))
            print("forced, \(name): \(outcome)")
            isForced =
                outcome.numbers.count == 2 && outcome.numbers[0] == attempts
                && outcome.numbers[1] * 100 >= attempts * needed
            try #require(outcome.status == 0, "\(name): \(outcome)")
        }
        #expect(isForced, "\(name): the answer was hardly ever late")
    }

    /// T1: a walk is let through while the directory is open and stores its answer after it was closed, and
    /// the owner has walked again. With T4's way to bring the entry back, a listing.
    ///
    /// A child that somebody holds cannot be forgotten, so that a walk goes on to ask for it without a lock. One
    /// that nobody holds may be in the cache again, or be asked for under the lock: then nothing can be forced.
    @Test(arguments: settings, ["stat", "listall"])
    func lateRevalidation(_ setting: CacheSetting, _ ownersWalk: String) throws {
        for isHeld in [true, false] {
            let fixture = try MountFixture(options: setting.options)
            let d = try RaceTests.makeTree(fixture)
            let (child, walk) = (d + "/s", ownersWalk == "stat" ? d + "/s" : d)
            let holder = try ActingProcess(.alice)
            if isHeld { try holder.must("hold", "1", child, String(O_RDONLY), "0") }
            let name = "late revalidation, \(ownersWalk), \(isHeld ? "held" : "not held")"
            try Self.run(
                name, [fixture.mountpoint], needed: isHeld ? 20 : 0,
                [
                    Self.first(.alice, "chmod", d, "0700"), Self.first(.alice, ownersWalk, walk),
                    Self.first(.alice, "chmod", d, "0755"),
                    Self.late(.bob, "stat", child),
                    Self.meanwhile(.alice, "chmod", d, "0700"), Self.meanwhile(.alice, ownersWalk, walk),
                    Self.then(.carol, "EACCES", "stat", child), Self.then(.bob, "EACCES", "read", d + "/f"),
                ])
        }
    }

    /// T1 with a file, which a listing of the closed directory brings back.
    @Test(arguments: settings)
    func lateRevalidationOfAFile(_ setting: CacheSetting) throws {
        let fixture = try MountFixture(options: setting.options)
        let d = try RaceTests.makeTree(fixture)
        try Self.run(
            "late revalidation of a file", [fixture.mountpoint], needed: 0,
            [
                Self.first(.alice, "chmod", d, "0700"), Self.first(.alice, "listall", d),
                Self.first(.alice, "chmod", d, "0755"),
                Self.late(.bob, "stat", d + "/f"),
                Self.meanwhile(.alice, "chmod", d, "0700"), Self.meanwhile(.alice, "list", d),
                Self.then(.carol, "EACCES", "stat", d + "/f"),
            ])
    }

    /// T1 with the owner's chmod of the child instead of a closed time: the kernel ends the child's entry then.
    @Test(arguments: settings)
    func lateRevalidationAfterAChmodOfTheChild(_ setting: CacheSetting) throws {
        let fixture = try MountFixture(options: setting.options)
        let d = try RaceTests.makeTree(fixture)
        let holder = try ActingProcess(.alice)
        try holder.must("hold", "1", d + "/s", String(O_RDONLY), "0")
        try Self.run(
            "late revalidation, chmod of the child", [fixture.mountpoint], needed: 0,
            [
                Self.first(.alice, "chmod", d, "0755"), Self.first(.carol, "stat", d + "/s"),
                Self.first(.alice, "chmod", d + "/s", "0755"),
                Self.late(.bob, "stat", d + "/s"),
                Self.meanwhile(.alice, "chmod", d, "0700"), Self.meanwhile(.alice, "stat", d + "/s"),
                Self.then(.carol, "EACCES", "stat", d + "/s"),
            ])
    }

    /// As T1, for a rename: the answer belongs to the place where the directory was.
    @Test(arguments: settings)
    func lateLookupBeforeARename(_ setting: CacheSetting) throws {
        let fixture = try MountFixture(options: setting.options)
        let (d, closed) = (try RaceTests.makeTree(fixture), fixture.path("closed"))
        let root = try ActingProcess(.root)
        try root.must("mkdir", closed, "0700", "0")
        try root.must("chown", fixture.mountpoint, "501", "650")
        try root.must("chown", closed, "501", "650")
        try Self.run(
            "late look-up before a rename", [fixture.mountpoint], needed: 0,
            [
                Self.first(.carol, "stat", d + "/s"), Self.first(.alice, "chmod", d + "/s", "0755"),
                Self.late(.bob, "stat", d + "/s"),
                Self.meanwhile(.alice, "rename", d + "/s", closed + "/s"), Self.meanwhile(.alice, "stat", closed + "/s"),
                Self.then(.carol, "EACCES", "stat", closed + "/s"), Self.then(.carol, "ENOENT", "stat", d + "/s"),
                Self.then(.alice, "ok", "rename", closed + "/s", d + "/s"),
            ])
    }

    /// A listing takes effect, by the kernel's stamp, after a bump that had nothing to do with its directory; then
    /// the directory is closed. Its names must be taken back although they were handed out before that bump (R5).
    @Test(arguments: settings)
    func aListingIsUsedAfterAnotherBump(_ setting: CacheSetting) throws {
        let fixture = try MountFixture(options: setting.options)
        let (d, e) = (try RaceTests.makeTree(fixture), fixture.path("e"))
        let root = try ActingProcess(.root)
        try root.must("mkdir", e, "0755", "0")
        try root.must("create", e + "/x", "0644", "0")
        try root.must("chown", e, "501", "650")
        try Self.run(
            "a listing is used after another bump", [fixture.mountpoint], needed: 20,
            [
                Self.first(.alice, "chmod", d, "0755"), Self.first(.alice, "chmod", e, "0755"),
                Self.first(.carol, "stat", e + "/x"),
                // Else the kernel lists it by itself.
                Self.first(.alice, "create", d + "/new@", "0644", "0"),
                Self.late(.bob, "listagain", d),
                Self.meanwhile(.alice, "chmod", e, "0700"),
                // Else its own entry, out of date, would take the children along.
                Self.meanwhile(.alice, "stat", d),
                Self.then(.alice, "ok", "chmod", d, "0700"), Self.then(.carol, "EACCES", "stat", d + "/f"),
                Self.then(.bob, "EACCES", "stat", d + "/s"), Self.then(.alice, "ok", "unlink", d + "/new@"),
            ])
    }

    /// T6: attributes that were read before `readattr` was taken away and are stored after.
    @Test(arguments: settings)
    func lateAttributes(_ setting: CacheSetting) throws {
        let fixture = try MountFixture(options: setting.options)
        let file = try RaceTests.makeTree(fixture) + "/f"
        try Self.run(
            "late attributes", [fixture.mountpoint], needed: 20,
            [
                // Whatever the kernel had is dropped, and it was not universal since.
                Self.first(.alice, "setxattr", file, "system.aclfs.acl", "user:#502 deny readattr"),
                Self.first(.alice, "removexattr", file, "system.aclfs.acl"),
                Self.late(.bob, "stat", file),
                Self.meanwhile(.alice, "setxattr", file, "system.aclfs.acl", "user:#502 deny readattr"),
                Self.then(.bob, "EACCES", "stat", file), Self.then(.carol, "ok", "stat", file),
                Self.then(.alice, "ok", "removexattr", file, "system.aclfs.acl"), Self.then(.bob, "ok", "stat", file),
            ])
    }
}
