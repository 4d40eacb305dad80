import TestSupport
import Testing

@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SmokeTests {
    @Test func aMountServesUsersAndEnds() throws {
        let fixture = try MountFixture()
        let root = try ActingProcess(.root)
        let bob = try ActingProcess(.bob)
        try root.must("create", fixture.path("f"), "0640", "0")
        try root.must("chown", fixture.path("f"), "501", "20")
        #expect(try bob.call("open", fixture.path("f"), "0").word == "ok")
        try root.must("setxattr", fixture.path("f"), "system.aclfs.acl", "user:#502 deny read")
        #expect(try bob.call("open", fixture.path("f"), "0").word == "EACCES")
        #expect(try fixture.unmount().status == 0)
        #expect(!MountFixture.isMounted(fixture.mountpoint))
    }
}
