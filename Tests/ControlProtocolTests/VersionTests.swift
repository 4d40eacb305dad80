import ACLFormats
import ControlProtocol
import Testing

/// Each side refuses what the other says in another version of the messages (docs/reference/control.md "Versions").
@Suite struct VersionTests {
    private func request(version: Int64) -> [UInt8] { StatusMessage().message(version: version) }

    private func refusal(of message: [UInt8], speaking spoken: Int64) -> String? {
        do throws(RequestProblem) { _ = try ReceivedRequest(message, speaking: spoken) } catch {
            if case .malformed(let message) = error { return message }
        }
        return nil
    }

    private func disbelief(of message: [UInt8], speaking spoken: Int64) -> String? {
        do throws(ReceivedReply.Problem) { _ = try ReceivedReply(message, speaking: spoken) } catch {
            if case .otherVersion(let mismatch) = error { return mismatch.description }
        }
        return nil
    }

    private let commandIsOlder =
        "the mount's daemon speaks version 2 of the control messages and the command version 1; the command is the older one: "
        + "use the aclfs that mounted, or unmount and mount again with the command's"
    private let daemonIsOlder =
        "the mount's daemon speaks version 1 of the control messages and the command version 2; the daemon is the older one: "
        + "unmount, and mount again with the command's aclfs"

    @Test func anOldCommandAsksANewerDaemon() {
        let asked = request(version: 1)
        #expect(refusal(of: asked, speaking: 2) == commandIsOlder)
        let answer = ControlReply.refusal(error: "EINVAL", message: "x").message(version: 2)
        #expect(disbelief(of: answer, speaking: 1) == commandIsOlder)
    }

    @Test func aNewerCommandAsksAnOldDaemon() {
        let asked = request(version: 2)
        #expect(refusal(of: asked, speaking: 1) == daemonIsOlder)
        let answer = ControlReply.refusal(error: "EINVAL", message: "x").message(version: 1)
        #expect(disbelief(of: answer, speaking: 2) == daemonIsOlder)
    }

    /// Nor is anything believed that says it was done.
    @Test func asItIsNoAnswerIsTaken() {
        let done = ControlReply.answer(DoneAnswer()).message(version: 2)
        #expect(disbelief(of: done, speaking: 1) == commandIsOlder)
        #expect(disbelief(of: done, speaking: 2) == nil)
    }

    @Test(arguments: [#"{"command":"status","ok":true,"result":{}}"#, #"{"v":"1"}"#, #"{"v":null}"#, "[]", "7"])
    func aMessageNamesItsVersion(_ text: String) {
        let message = Array(text.utf8)
        #expect(
            refusal(of: message, speaking: 1)
                == "a message without a version of the control messages; this daemon speaks version 1 (\"v\":1)")
        #expect(
            disbelief(of: message, speaking: 1)
                == "the mount's daemon answers without a version of the control messages; this command speaks version 1")
    }

    @Test func bothSpeakTheirOwn() throws {
        #expect(MessageVersion.current == 1)
        #expect(refusal(of: StatusMessage().message(), speaking: 1) == nil)
        #expect(disbelief(of: ControlReply.answer(DoneAnswer()).message(), speaking: 1) == nil)
    }
}
