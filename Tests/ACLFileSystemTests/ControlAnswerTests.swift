import ACLFormats
import ControlProtocol
import Foundation
import LinuxSystem
import Testing

@testable import ACLFileSystem

/// What a control server answers, byte for byte (docs/reference/control.md), without a mount: on a socket of its own, to whoever mounted.
@Suite struct ControlAnswerTests {
    /// A server and one conversation with it.
    private final class Conversation {
        private let tree: ConfinedTree
        private let place: String
        private let server: ControlServer
        private let socket: ControlSocket

        init(daemon: (@Sendable (ReceivedRequest, [SharedDescriptor], ControlSocket.Peer) -> ControlServer.MountFacts.DaemonAnswer)? = nil)
            throws
        {
            tree = try ConfinedTree()
            var template = Array("/tmp/aclfs-answers.XXXXXX".utf8CString)
            guard let made = mkdtemp(&template) else { throw Errno.io }
            place = String(cString: made)
            var facts = ControlServer.MountFacts(
                source: "/srv", mountpoint: "/mnt", version: "9.9", paths: { [] }, sourceReach: { "root" }, kernelWords: { ["nodev"] })
            if let daemon { facts.daemon = daemon }
            server = try ControlServer(tree.free, at: "\(place)/test.sock", owner: geteuid(), facts: facts)
            try server.start()
            socket = try ControlSocket.connect(to: "\(place)/test.sock", milliseconds: 10_000)
            try socket.setTimeout(milliseconds: 10_000)
        }

        deinit {
            server.stop()
            try? FileManager.default.removeItem(atPath: place)
        }

        func answer(_ message: String) throws -> String {
            try socket.send(Array(message.utf8))
            return String(decoding: try #require(try socket.receive(limit: JSONText.maximumSize)), as: UTF8.self)
        }

        /// Of version 1.
        func ask(_ command: String, _ members: String = "") throws -> String {
            try answer(#"{"v":1,"command":"\#(command)"\#(members.isEmpty ? "" : ",")\#(members)}"#)
        }
    }

    private func refusal(_ error: String, _ message: String) -> String {
        #"{"v":1,"ok":false,"error":"\#(error)","message":"\#(message)"}"#
    }

    @Test func malformedMessages() throws {
        let daemon = try Conversation()
        for message in [#"{"v":1}"#, #"{"v":1,"command":7}"#, #"{"v":1,"command":"nothing"}"#] {
            #expect(try daemon.answer(message) == refusal("EINVAL", "unknown command"), "\(message)")
        }
        // Without a daemon around it the server knows no views and takes no mounts.
        for command in ["places", "shows", "view", "serves", "serve"] {
            #expect(try daemon.ask(command) == refusal("EINVAL", "unknown command"), "\(command)")
        }
        #expect(try daemon.answer("{") == refusal("EINVAL", "not understood at byte 1: expected the name of a member"))
        #expect(
            try daemon.answer(#"{"v":2,"command":"version"}"#)
                == refusal(
                    "EINVAL",
                    "the mount's daemon speaks version 1 of the control messages and the command version 2; the daemon is the older one: "
                        + "unmount, and mount again with the command's aclfs"))
        #expect(
            try daemon.answer(#"{"command":"version"}"#)
                == refusal("EINVAL", #"a message without a version of the control messages; this daemon speaks version 1 (\"v\":1)"#))
        #expect(try daemon.answer(String(repeating: " ", count: 65537)) == refusal("EMSGSIZE", "a message may have at most 65536 bytes"))
        #expect(try daemon.ask("version") == #"{"v":1,"ok":true,"result":{"version":"9.9","messages":1}}"#)
    }

    @Test func decisions() throws {
        let daemon = try Conversation()
        #expect(try daemon.ask("explain") == refusal("EINVAL", "no operation"))
        #expect(try daemon.ask("explain", #""operation":"stat""#) == refusal("EINVAL", "no path"))
        #expect(try daemon.ask("explain", #""operation":"stat","path":"no""#) == refusal("ENOENT", "No such file or directory"))
        #expect(
            try daemon.ask("explain", #""operation":"stat","path":"no","as":"nobody-is-called-so""#)
                == refusal("EINVAL", "no user 'nobody-is-called-so'"))
        let long = String(repeating: "/", count: 4097)
        #expect(try daemon.ask("effective", "\"path\":\"\(long)\"") == refusal("ENAMETOOLONG", "File name too long"))
        let brief = try daemon.ask("explain", #""operation":"readattr","path":"etc/file","brief":true"#)
        #expect(brief.hasPrefix(#"{"v":1,"ok":true,"result":{"allowed":true,"errno":null,"steps":[{"second":false,"depth":2,"#), "\(brief)")
        let whole = try daemon.ask("explain", #""operation":"readattr","path":"etc/file""#)
        #expect(whole.hasPrefix(#"{"v":1,"ok":true,"result":{"allowed":true,"errno":null,"steps":[{"second":false,"depth":0,"#), "\(whole)")
        let effective = try JSONText.parse(Array(try daemon.ask("effective", #""path":"etc/file""#).utf8))
        #expect(effective["result"]?.array?.count == RightName.all.count)
        #expect(try daemon.ask("last", #""count":0"#) == refusal("EINVAL", "count must be a positive number"))
        #expect(try daemon.ask("last") == #"{"v":1,"ok":true,"result":[]}"#)
    }

    @Test func statusAndChanges() throws {
        let daemon = try Conversation()
        let status = try daemon.ask("status")
        #expect(status.hasPrefix(#"{"v":1,"ok":true,"result":{"source":"/srv","mountpoint":"/mnt","version":"9.9","owner":\#(geteuid()),"#))
        guard case .object(let members)? = try JSONText.parse(Array(status.utf8))["result"] else {
            Issue.record("\(status)")
            return
        }
        #expect(
            members.map(\.name) == [
                "source", "mountpoint", "version", "owner", "metadata", "attribute_room", "shared", "options", "sandbox",
                "running_sandboxes",
                "running_containers",
                "source_reachable_by", "identities_problem", "daemon", "deaths", "longest_wait_ms", "upgrade_obstacle", "paths", "cache",
                "zerofill", "data",
                "counters",
            ])
        #expect(try daemon.ask("remount") == refusal("EINVAL", "no options"))
        #expect(try daemon.ask("remount", #""options":"ro","check":true"#) == #"{"v":1,"ok":true,"result":{"was":"rw"}}"#)
        #expect(try daemon.ask("remount", #""options":"ro""#) == #"{"v":1,"ok":true,"result":{"was":"rw"}}"#)
        #expect(try daemon.ask("remount", #""options":"rw""#) == #"{"v":1,"ok":true,"result":{"was":"ro"}}"#)
    }

    @Test func grants() throws {
        let daemon = try Conversation()
        let (access, bundle) = (#""access":"read-only""#, #""bundle":"a.b""#)
        #expect(try daemon.ask("grant-add") == refusal("EINVAL", "access must be read-only or read-write"))
        #expect(
            try daemon.ask("grant-add", "\(access),\(bundle),\"path\":\"etc\",\"expires\":1")
                == refusal("EINVAL", "the time at which it expires has passed"))
        #expect(try daemon.ask("grant-add", "\(access),\(bundle),\"path\":\"no\"") == refusal("ENOENT", "No such file or directory"))
        #expect(try daemon.ask("grant-add", "\(access),\(bundle),\"path\":\"etc\",\"check\":true") == #"{"v":1,"ok":true,"result":{}}"#)
        for (command, members) in [
            ("grant-add", "\(access),\(bundle),\"path\":\"etc\""), ("grant-remove", "\(bundle),\"path\":\"etc\""), ("grant-list", ""),
        ] { #expect(try daemon.ask(command, members) == refusal("EOPNOTSUPP", "this daemon keeps no grants"), "\(command)") }
        let noBundle = "no bundle, or not an identifier such as org.example.App"
        #expect(try daemon.ask("grant-list", #""bundle":7"#) == refusal("EINVAL", noBundle))
    }

    /// What concerns the process around it is asked there, with the message as it came.
    @Test func theRestIsTheDaemons() throws {
        let daemon = try Conversation { request, _, _ in
            switch request.command {
            case .serves: .done(ServesAnswer(serves: ServesMessage(reading: request).ancestors == ["1:2"]))
            case .shows: .failed(.perm, "not to you")
            case .places where request.top == 7: .done(DoneAnswer())
            default: .notMine
            }
        }
        #expect(try daemon.ask("serves", #""ancestors":["1:2"]"#) == #"{"v":1,"ok":true,"result":{"serves":true}}"#)
        #expect(try daemon.ask("shows") == refusal("EPERM", "not to you"))
        #expect(try daemon.ask("places", #""top":7"#) == #"{"v":1,"ok":true,"result":{}}"#)
        #expect(try daemon.ask("places", #""top":8"#) == refusal("EINVAL", "unknown command"))
    }
}
