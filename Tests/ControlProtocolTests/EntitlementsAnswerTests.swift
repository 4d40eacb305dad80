import SandboxPolicy
import Testing

@testable import ControlProtocol

/// What one program says to the other about a property list, and what else may come in its place.
@Suite struct EntitlementsAnswerTests {
    private func refusal(_ text: String) -> String {
        do {
            _ = try EntitlementsAnswer(reading: Array(text.utf8))
            return "accepted"
        } catch { return error.message }
    }

    @Test func whatIsSaidIsRead() throws {
        let values: [String: EntitlementValue] = [
            "com.apple.security.app-sandbox": .flag(true), "com.apple.security.application-groups": .list([.text("group.ü")]),
            "own": .other,
        ]
        let entitlements = try Entitlements(values)
        let read = try EntitlementsAnswer(reading: EntitlementsAnswer(program: "1.2", .success(entitlements)).bytes)
        #expect(read.program == "1.2")
        #expect(try read.entitlements.get() == entitlements)
    }

    @Test func aProblemStaysOne() throws {
        let problem = EntitlementsAnswer.Problem(message: "line 5: \u{1B}[2J")
        let read = try EntitlementsAnswer(reading: EntitlementsAnswer(program: "1.2", .failure(problem)).bytes)
        #expect(throws: EntitlementsAnswer.Problem.self) { try read.entitlements.get() }
        do { _ = try read.entitlements.get() } catch { #expect(error.message == problem.message) }
    }

    @Test(arguments: [
        ("", "1"), ("[]", "no version"), ("{\"version\":1}", "no version"), ("{\"version\":\"1\"}", "no entitlements"),
        ("{\"version\":\"1\",\"entitlements\":7}", "must be a dictionary"),
        ("{\"version\":\"1\",\"entitlements\":{\"com.apple.security.app-sandbox\":1}}", "must be true or false"),
        ("{\"version\":\"1\",\"entitlements\":{}}", "app-sandbox: must be true"),
    ])
    func anythingElseIsRefused(_ text: String, _ part: String) {
        let said = refusal(text)
        #expect(said != "accepted" && (text.isEmpty || said.contains(part)), "\(said)")
    }
}
