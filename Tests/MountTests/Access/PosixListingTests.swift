import TestSupport
import Testing

/// listxattr(2) names POSIX ACLs to callers who may read them.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct PosixListingTests {
    @Test func aCallerWhoMayNotReadTheACLLearnsOfNone() throws {
        let fixture = try MountFixture()
        let directory = fixture.path("d")
        let made = try TestUser.root.shell(
            "mkdir \(directory) && setfacl -d -m u:503:rwx \(directory) && "
                + "\(MountTesting.program("aclfs")) chmod +a 'user:502 deny readsecurity' \(directory)")
        #expect(made.status == 0, "\(made)")
        let list = "python3 -c 'import os, sys; print(*os.listxattr(sys.argv[1]))' \(directory)"
        #expect(try TestUser.alice.shell(list).output.contains("system.posix_acl_default"))
        #expect(try !TestUser.bob.shell(list).output.contains("system.posix_acl"))
    }
}
