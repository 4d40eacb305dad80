import ControlProtocol
import SandboxPolicy
import Testing

/// A profile in a message.
@Suite struct ProfileTests {
    @Test func aProfileComesBackFromItsMessage() throws {
        let values: [String: EntitlementValue] = [
            "com.apple.security.app-sandbox": .flag(true), "com.apple.security.files.user-selected.read-write": .flag(true),
            "com.apple.security.application-groups": .list([.text("group.one")]), "other.key": .other,
        ]
        let profile = SandboxProfile(
            name: "/etc/a.entitlements", entitlements: try Entitlements(values), bundle: "org.example.App",
            home: [[0xFF, 0x41], [0x20]], layout: .ios)
        #expect(try SandboxProfile(profile.json) == profile)
        #expect(try ProfileForm(profile).profile() == profile)
    }
}
