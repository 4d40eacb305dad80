import MountOptions
import Mounting
import Testing
import ToolSupport

@testable import MountDaemon

/// A mount that names a profile is confined by it, or is refused.
@Suite struct NamedProfileTests {
    @Test func withoutAReaderNoNamedProfileIsLeftOut() throws {
        let named = try MountRequest.command(["-o", "sandbox=textedit", "/source", "/mountpoint"])
        let failure = #expect(throws: MountFailure.self) { _ = try MountProfile.read(named, mountpoint: "/mountpoint", by: nil) }
        #expect(failure?.message.contains("textedit") == true)
        let none = try MountRequest.command(["/source", "/mountpoint"])
        #expect(try MountProfile.read(none, mountpoint: "/mountpoint", by: nil) == nil)
    }
}
