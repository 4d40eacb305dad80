import Glibc
import TestSupport
import Testing

/// Whoever mounts, unmounts, and leaves no process behind (docs/internals/testing.md "Fixtures").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct MountFixtureTests {
    /// Mounts that the test made without the fixture are among them.
    @Test func mountsAndDaemonsEndWithTheFixture() throws {
        let top: String
        let places: [String]
        do {
            let fixture = try MountFixture()
            top = fixture.top
            places = ["/mnt", "/other", "/own"].map { top + $0 }
            for place in places[1...] { mkdir(place, 0o755) }
            try fixture.mount(at: places[1])
            let result = try Spawn.run([MountTesting.program("aclfs"), "mount", fixture.backing, places[2]])
            #expect(result.status == 0, "\(result)")
            #expect(places.allSatisfy(MountFixture.isMounted))
            #expect(MountFixture.daemons(of: places[0]).count == 1)
        }
        #expect(!places.contains(where: MountFixture.isMounted))
        #expect(MountFixture.daemons(of: places[0]).isEmpty)
        #expect(access(top, F_OK) != 0)
    }

    /// Its shell could not unmount any more.
    @Test func aScriptThatWasKilledLeavesNoDaemon() throws {
        let namespace = try MountNamespace()
        let result = try namespace.run(#""$A" mount "$T/back" "$T/mnt"; daemon "$T/mnt"; kill -KILL $$"#)
        #expect(result.status == 128 + SIGKILL, "\(result)")
        let daemon = try #require(pid_t(result.output), "\(result)")
        #expect(eventually { kill(daemon, 0) != 0 })
    }
}
