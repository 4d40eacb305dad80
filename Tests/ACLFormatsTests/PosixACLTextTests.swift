import Authorization
import Testing

@testable import ACLFormats

/// Entries of POSIX ACLs in explanations.
@Suite struct PosixACLTextTests {
    @Test func entriesAreWrittenAsGetfaclDoes() {
        #expect(PosixACL.Entry(.user(503), 6).text(names: NoNames()) == "user:503:rw-")
        #expect(PosixACL.Entry(.owningGroup, 0).text(names: NoNames()) == "group::---")
        #expect(PosixACL.Entry(.group(600), 5).text(names: NoNames()) == "group:600:r-x")
    }
}
