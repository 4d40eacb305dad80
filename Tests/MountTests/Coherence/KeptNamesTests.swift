import Foundation
import Glibc
import TestSupport
import Testing

/// docs/internals/coherence.md "When time alone is no reason": names outlive the period of `cache=auto` while nothing changes, and
/// not what changes behind the mount.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct KeptNamesTests {
    /// Directories of the test, each with a directory `in` with a file `f`.
    private static let places = ["gone", "new", "replaced", "moved", "closed", "denied", "mounted", "quiet"]

    private func bumps(_ fixture: MountFixture) throws -> Int {
        let said = try Spawn.run([MountTesting.program("aclfs"), "status", "--json", fixture.mountpoint]).output
        let range = try #require(said.range(of: "\"epoch_bumps\":"))
        return try #require(Int(said[range.upperBound...].prefix { $0.isNumber }))
    }

    private static let denial = "cp --preserve=xattr --attributes-only -r denying/. denied/in"

    private func make(_ fixture: MountFixture) throws {
        let root = try ActingProcess(.root)
        try root.must("mkdir", fixture.path("denying"), "0755", "0")
        try root.must("setxattr", fixture.path("denying"), "system.aclfs.acl", "user:#502 deny search")
        for place in Self.places {
            #expect(try Spawn.run(["mkdir", "-p", fixture.backing + "/\(place)/in"]).status == 0)
            #expect(try Spawn.run(["sh", "-c", "echo here >$0/f", fixture.backing + "/\(place)/in"]).status == 0)
        }
    }

    private func walk(_ bob: ActingProcess, _ fixture: MountFixture) throws {
        for place in Self.places {
            try bob.must("stat", fixture.path("\(place)/in/f"))
            #expect(try bob.call("stat", fixture.path("\(place)/in/none")).word == "ENOENT")
        }
    }

    /// Until the names that a walk left have outlived two periods.
    private func settle(_ bob: ActingProcess, _ fixtures: [MountFixture]) throws {
        // What was made lately is taken back with each period.
        usleep(12_500_000)
        for fixture in fixtures { try walk(bob, fixture) }
        let before = try fixtures.map(bumps)
        usleep(2_300_000)
        #expect(try fixtures.map(bumps) == before, "nothing has changed")
    }

    @Test func changesBehindTheMountAreSeenWithinAPeriod() throws {
        let fixture = try MountFixture()
        try make(fixture)
        let bob = try ActingProcess(.bob)
        try settle(bob, [fixture])
        let before = try bumps(fixture)
        let script = """
            cd "$1" && rm gone/in/f && echo new >new/in/none && echo other >replaced/in/other &&
            mv replaced/in/other replaced/in/f && mv moved/in moved/away && chmod 700 closed/in &&
            \(Self.denial) && mount -t tmpfs none mounted/in
            """
        let changed = try Spawn.run(["bash", "-c", script, "bash", fixture.backing])
        defer { _ = try? Spawn.run(["umount", "-l", fixture.backing + "/mounted/in"]) }
        #expect(changed.status == 0, "\(changed)")
        usleep(1_500_000)
        #expect(try bumps(fixture) > before)
        #expect(try bob.call("stat", fixture.path("gone/in/f")).word == "ENOENT")
        try bob.must("stat", fixture.path("new/in/none"))
        #expect(try TestUser.bob.shell("cat \(fixture.path("replaced/in/f"))").output == "other")
        #expect(try bob.call("stat", fixture.path("moved/in/f")).word == "ENOENT")
        #expect(try bob.call("stat", fixture.path("closed/in/f")).word == "EACCES")
        #expect(try bob.call("stat", fixture.path("denied/in/f")).word == "EACCES")
        #expect(try bob.call("stat", fixture.path("mounted/in/f")).word == "ENOENT")
        try bob.must("stat", fixture.path("quiet/in/f"))
    }

    /// Each change is noticed by itself.
    @Test func oneChangeIsEnough() throws {
        let changes = [
            ("rm gone/in/f", "gone/in/f", "ENOENT"), ("chmod 700 closed/in", "closed/in/f", "EACCES"),
            (Self.denial, "denied/in/f", "EACCES"), ("mv moved/in moved/away", "moved/in/f", "ENOENT"),
            ("mount -t tmpfs none mounted/in", "mounted/in/f", "ENOENT"),
        ]
        let fixtures = try changes.map { _ in try MountFixture() }
        for fixture in fixtures { try make(fixture) }
        let bob = try ActingProcess(.bob)
        try settle(bob, fixtures)
        defer { for fixture in fixtures { _ = try? Spawn.run(["umount", "-ql", fixture.backing + "/mounted/in"]) } }
        for (change, fixture) in zip(changes, fixtures) {
            let changed = try Spawn.run(["sh", "-c", "cd $0 && \(change.0)", fixture.backing])
            #expect(changed.status == 0, "\(changed)")
        }
        usleep(1_500_000)
        for (change, fixture) in zip(changes, fixtures) {
            #expect(try bob.call("stat", fixture.path(change.1)).word == change.2, "\(change.0)")
        }
    }

    /// Attributes are renewed by a listing that shows the objects, and not one by one.
    @Test func aListingBringsAttributesAlong() throws {
        let fixture = try MountFixture()
        #expect(try Spawn.run(["mkdir", fixture.backing + "/d"]).status == 0)
        #expect(try Spawn.run(["sh", "-c", "cd $0 && seq 100 | xargs touch", fixture.backing + "/d"]).status == 0)
        // It looks at each file's size.
        let list = { _ = try TestUser.bob.shell("find \(fixture.path("d")) -type f -size +9k") }
        usleep(12_500_000)
        try list()
        let before = try bumps(fixture)
        usleep(1_200_000)
        let asked = try requests(fixture)
        try list()
        #expect(try requests(fixture) - asked < 20)
        #expect(try bumps(fixture) == before)
    }

    private func requests(_ fixture: MountFixture) throws -> Int {
        let said = try Spawn.run([MountTesting.program("aclfs"), "status", "--json", fixture.mountpoint]).output
        let range = try #require(said.range(of: "\"allowed\":"))
        return try #require(Int(said[range.upperBound...].prefix { $0.isNumber }))
    }

    /// A listing that the kernel keeps goes by the mtime, which can be set back.
    @Test func aKeptListingEndsAlsoWithAnMtimeSetBack() throws {
        let fixture = try MountFixture()
        let second = fixture.top + "/second"
        mkdir(second, 0o755)
        try fixture.mount(at: second)
        #expect(try Spawn.run(["sh", "-c", "mkdir $0/d && touch $0/d/secret", fixture.backing]).status == 0)
        func listed() throws -> [Substring] { try Spawn.run(["ls", fixture.path("d")]).output.split(separator: "\n") }
        // What was made lately is taken back with each period, and the listing with it.
        usleep(12_500_000)
        for _ in 0..<3 { #expect(try listed() == ["secret"]) }
        let script = "cd $0 && touch -r d ref && mv d/secret d/other && touch -r ref d"
        #expect(try Spawn.run(["sh", "-c", script, fixture.backing]).status == 0)
        #expect(try eventually(within: 4) { try listed() == ["other"] })
    }
}
