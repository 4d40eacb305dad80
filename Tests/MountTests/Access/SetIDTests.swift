import Glibc
import Testing

/// Set-id bits go when somebody writes, and not because somebody asks for a change of nothing.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct SetIDTests {
    /// chown(2) without ids reaches the file system as a request that names nothing.
    @Test(arguments: ["cache=auto", "passthrough=off", "kernel_features=-killpriv2"])
    func aChangeOfNothingClearsNothing(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        let root = try ActingProcess(.root)
        for (name, mode, text) in [
            ("plain", "06755", ""), ("locked", "06755", ""), ("closed", "06700", "user:#502 deny read,write,execute,readattr,readsecurity"), ("open", "06777", ""),
        ] {
            try root.must("create", fixture.path(name), "0644", "0")
            try root.must("chown", fixture.path(name), "501", "501")
            try root.must("chmod", fixture.path(name), mode)
            if !text.isEmpty { try root.must("setxattr", fixture.path(name), "system.aclfs.acl", text) }
        }
        try root.must("setxattr", fixture.path("locked"), "system.aclfs.flags", "schg")
        let bob = try ActingProcess(.bob)
        for name in ["plain", "locked", "closed", "open"] {
            _ = try bob.call("chown", fixture.path(name), "-1", "-1")
            var status = stat()
            #expect(lstat(fixture.path(name), &status) == 0)
            #expect(status.st_mode & 0o6000 == 0o6000, "\(name): \(String(status.st_mode, radix: 8))")
        }
        // Who writes takes them away.
        try bob.must("hold", "1", fixture.path("open"), String(O_WRONLY), "0")
        try bob.must("write", "1", "x")
        var status = stat()
        #expect(lstat(fixture.path("open"), &status) == 0)
        #expect(status.st_mode & 0o6000 == 0)
    }
}
