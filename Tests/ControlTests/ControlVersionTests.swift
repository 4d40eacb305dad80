import ACLFormats
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// A command and a daemon of different versions of the messages (docs/reference/control.md "Versions").
@Suite(.serialized, .enabled(if: LiveMount.unavailable == nil, "needs root, /dev/fuse and setpriv"))
struct ControlVersionTests {
    @Test func aDaemonDoesNothingForANewerCommand() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let socket = try ControlSocket.connect(to: mount.socketPath, milliseconds: 5000)
        try socket.setTimeout(milliseconds: 5000)
        try socket.send(Array(#"{"v":2,"command":"remount","options":"ro"}"#.utf8))
        let answer = try JSONText.parse(try #require(try socket.receive(limit: JSONText.maximumSize)))
        #expect(answer["v"]?.integer == 1 && answer["ok"]?.bool == false && answer["error"]?.string == "EINVAL")
        #expect(
            answer["message"]?.string
                == "the mount's daemon speaks version 1 of the control messages and the command version 2; the daemon is the older one: "
                + "unmount, and mount again with the command's aclfs")
        // It is not read-only.
        #expect(mount.aclfs("explain", "--as", "root", "create", "\(mount.share)/new").status == 0)
    }

    /// Whatever such a daemon says, and be it that all is done.
    @Test(arguments: [#""ok":true,"result":{}"#, #""ok":false,"error":"EINVAL","message":"something else""#])
    func aCommandBelievesNoNewerDaemon(_ said: String) throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let path = mount.socketPath
        // The daemon's own stays beside it, for the mount's end.
        try #require(rename(path, path + ".kept") == 0)
        defer { rename(path + ".kept", path) }
        let listener = try ControlSocket.listen(at: path)
        defer { listener.shutdown() }
        Foundation.Thread.detachNewThread {
            while let client = try? listener.accept() {
                while let message = try? client.receive(limit: JSONText.maximumSize), !message.isEmpty {
                    try? client.send(Array("{\"v\":2,\(said)}".utf8))
                }
            }
        }
        let expected =
            "the mount's daemon speaks version 2 of the control messages and the command version 1; the command is the older one: "
            + "use the aclfs that mounted, or unmount and mount again with the command's\n"
        for words in [["status", mount.share], ["explain", "stat", "\(mount.share)/."]] {
            let outcome = LiveMount.run([LiveMount.program] + words)
            #expect(outcome.status == 2 && outcome.output.hasSuffix(expected), "\(words): \(outcome)")
        }
        let remount = mount.aclfs("mount", "-o", "remount,ro", "\(mount.top)/back/share", mount.share)
        #expect(remount.status != 0 && remount.output.hasSuffix(expected), "\(remount)")
    }
}
