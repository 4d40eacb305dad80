import ACLFormats
import Authorization
import TestSupport
import Testing

/// `system.aclfs.acl` takes what chmod takes (docs/reference/authorization.md 7.3), and what a mount does otherwise because of the kernel
/// (docs/reference/vectors-on-linux.md).
@Suite(.enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct AttributeTextTests {
    @Test func theAttributeTakesSetsAndWordsAndPositions() throws {
        let fixture = try MountFixture()
        let root = try ActingProcess(.root)
        let text = " 0: owner@ allow full_control\n 1: group@ inherited deny read_set\neveryone@ allow modify_set,write_set"
        for (name, isDirectory) in [("file", false), ("directory", true)] {
            let path = fixture.path(name)
            _ = try isDirectory ? root.must("mkdir", path, "0755", "0") : root.must("create", path, "0644", "0")
            try root.must("setxattr", path, "system.aclfs.acl", text)
            let stored = try ACLAttributeText.parse(unescaped(try root.must("getxattr", path, "system.aclfs.acl")), names: NoNames())
            #expect(stored == ACL(try ACLTextParser.parse(text, names: NoNames(), isDirectory: isDirectory)))
            // chmod would show and remove the same.
            #expect(stored.entries[0].rights.contains(.deleteChild) == isDirectory)
            #expect(try root.call("setxattr", path, "system.aclfs.acl", "user:owner@ allow read").word == "EINVAL")
        }
    }

    /// FUSE has one request for readlink(2) and for following a link: what refuses the one refuses the other.
    @Test(arguments: ["cache=auto", "cache=strict"])
    func aLinkIsFollowedByWhoMayReadIt(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        try root.must("create", fixture.path("file"), "0644", "0")
        for name in ["open", "closed"] { try root.must("symlink", "file", fixture.path(name)) }
        try root.must("setxattr", fixture.path("closed"), "system.aclfs.acl", "user:#502 deny read")
        for (name, word) in [("open", "ok"), ("closed", "EACCES")] {
            #expect(try bob.call("readlink", fixture.path(name)).word == word)
            #expect(try bob.call("open", fixture.path(name), "0").word == word)
        }
        #expect(try bob.call("open", fixture.path("file"), "0").word == "ok")
    }
}
