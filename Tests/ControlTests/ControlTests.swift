import ACLFormats
import Foundation
import LinuxSystem
import Testing

@Suite(.serialized, .enabled(if: LiveMount.unavailable == nil, "needs root, /dev/fuse and setpriv"))
struct ControlTests {
    @Test func explainsWhatDecides() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        try mount.file("notes", mode: 0o644, acl: "user:nobody deny read")
        try mount.file("plans", mode: 0o600, acl: "user:nobody allow read")
        try mount.file("ledger", mode: 0o644, flags: "uchg")
        try mount.file("closed", mode: 0o600)

        let deny = mount.aclfs("explain", "--as", "nobody", "open-read", "\(mount.share)/notes")
        #expect(deny.status == 1)
        #expect(deny.output.contains("acl:object[0]") && deny.output.contains("user:nobody deny read"))
        #expect(deny.output.hasSuffix("denied: EACCES\n"))

        let allow = mount.aclfs("explain", "--as", "nobody", "open-read", "\(mount.share)/plans")
        #expect(allow.status == 0)
        #expect(allow.output.contains("user:nobody allow read") && allow.output.hasSuffix("allowed\n"))

        let flag = mount.aclfs("explain", "--as", "root", "unlink", "\(mount.share)/ledger")
        #expect(flag.status == 1)
        #expect(flag.output.contains("flags:object") && flag.output.hasSuffix("denied: EPERM\n"))

        let mode = mount.aclfs("explain", "--as", "nobody", "open-read", "\(mount.share)/closed")
        #expect(mode.status == 1)
        #expect(mode.output.contains("posix:other:object"))

        let rename = mount.aclfs("explain", "--as", "root", "rename", "\(mount.share)/notes", "\(mount.share)/new")
        #expect(rename.status == 0, "\(rename.output)")
        #expect(mount.aclfs("explain", "--as", "root", "create", "\(mount.share)/new").status == 0)

        let unknown = mount.aclfs("explain", "--as", "nobody", "open-reed", "\(mount.share)/notes")
        #expect(unknown.status == 2)
        #expect(unknown.output.contains("did you mean 'open-read'"))
        let elsewhere = mount.aclfs("explain", "--as", "nobody", "open-read", "/etc/passwd")
        #expect(elsewhere.status == 2)
        #expect(elsewhere.output.contains("not on an aclfs mount"))
        #expect(mount.aclfs("explain", "--as", "root", "stat", "\(mount.share)/missing").status == 2)
        let who = mount.aclfs("explain", "--who-can", "read", "\(mount.share)/plans")
        #expect(who.output.contains("nobody") && !who.output.contains("daemon"))
        let effective = mount.aclfs("effective", "--as", "nobody", "\(mount.share)/plans")
        #expect(effective.status == 0)
        #expect(effective.output.split(separator: "\n").count == RightName.all.count)
        let status = mount.aclfs("status", "--json", mount.share)
        #expect(status.status == 0)
        #expect(try JSONText.parse(Array(status.output.dropLast().utf8)).array?.count == 1)
    }

    @Test func aStrangerLearnsNothingOfOthersBehindAClosedDoor() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        mkdir("\(mount.share)/door", 0o700)
        try mount.file("door/inside", mode: 0o644)
        try mount.file("open", mode: 0o644)
        let there = mount.aclfs("explain", "--as", "daemon", "stat", "\(mount.share)/door/inside", asNobody: true)
        let missing = mount.aclfs("explain", "--as", "daemon", "stat", "\(mount.share)/door/nothing", asNobody: true)
        #expect(there.status == 2)
        #expect(there.output.contains("No such file or directory"))
        #expect(there.output.replacingOccurrences(of: "inside", with: "nothing") == missing.output)
        // Of himself he learns where the way ends, and no more.
        let own = mount.aclfs("explain", "stat", "\(mount.share)/door/nothing", asNobody: true)
        #expect(own.status == 1)
        #expect(own.output.contains("/door  search  denied"))
        // Where he sees permissions himself he may ask about others.
        #expect(mount.aclfs("explain", "--as", "daemon", "open-read", "\(mount.share)/open", asNobody: true).status == 0)
        #expect(mount.aclfs("status", mount.share, asNobody: true).status == 2)
    }

    @Test func theLastDenialsAreTheAskersOwn() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        try mount.file("closed", mode: 0o600)
        for uid in ["65534", "12345"] {
            let words = ["/usr/bin/setpriv", "--reuid=\(uid)", "--regid=\(uid)", "--clear-groups", "/bin/cat"]
            #expect(LiveMount.run(words + ["\(mount.share)/closed"]).status != 0)
        }
        let all = mount.aclfs("explain", "--last", mount.share)
        #expect(all.output.contains("uid 65534  open-read") && all.output.contains("uid 12345  open-read"))
        let own = mount.aclfs("explain", "--last", mount.share, asNobody: true)
        #expect(own.output.contains("uid 65534") && !own.output.contains("uid 12345"))
    }

    @Test func malformedMessagesAreAnsweredAndHarmless() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let messages: [[UInt8]] = [
            Array("{".utf8), Array("[]".utf8), [0], [0xFF, 0xFE], Array("{\"v\":2,\"command\":\"version\"}".utf8),
            Array("{\"v\":1}".utf8), Array("{\"v\":1,\"command\":7}".utf8),
            Array("{\"v\":1,\"command\":\"explain\",\"operation\":\"stat\",\"path\":\"../../etc/passwd\"}".utf8),
            Array("{\"v\":1,\"command\":\"explain\",\"operation\":\"stat\",\"path\":\"a\\u0000b\"}".utf8),
            Array("{\"v\":1,\"command\":\"explain\",\"operation\":\"stat\",\"path_b64\":\"!!!!\"}".utf8),
            Array("{\"v\":1,\"command\":\"remount\",\"options\":\"noacl\"}".utf8),
            Array("{\"v\":1,\"command\":\"last\",\"count\":-9223372036854775808}".utf8),
            Array(String(repeating: "[", count: 60000).utf8), [UInt8](repeating: 0x20, count: 100_000),
        ]
        for message in messages {
            let socket = try ControlSocket.connect(to: mount.socketPath, milliseconds: 5000)
            try socket.setTimeout(milliseconds: 5000)
            try socket.send(message)
            let answer = try JSONText.parse(try #require(try socket.receive(limit: 65536)))
            #expect(answer["ok"]?.bool == false, "\(String(decoding: message.prefix(80), as: UTF8.self))")
            #expect(answer["error"]?.string?.isEmpty == false)
        }
        let socket = try ControlSocket.connect(to: mount.socketPath, milliseconds: 5000)
        try socket.send(Array("{\"v\":1,\"command\":\"version\"}".utf8))
        #expect(try JSONText.parse(try #require(try socket.receive(limit: 65536)))["ok"]?.bool == true)
    }

    @Test func oneUserHasEightClients() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        var sockets: [ControlSocket] = []
        for _ in 0..<8 { sockets.append(try ControlSocket.connect(to: mount.socketPath, milliseconds: 5000)) }
        let ninth = try ControlSocket.connect(to: mount.socketPath, milliseconds: 5000)
        try ninth.setTimeout(milliseconds: 5000)
        let answer = try JSONText.parse(try #require(try ninth.receive(limit: 65536)))
        #expect(answer["error"]?.string == "EAGAIN")
        // Silence is answered with the end after a second.
        try sockets[0].setTimeout(milliseconds: 5000)
        #expect(try sockets[0].receive(limit: 65536) == nil)
    }

    @Test func remountReachesTheDaemonAndSecurelevelOnlyRises() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        try mount.file("file", mode: 0o644)
        let back = "\(mount.top)/back/share"
        // Another test's child may hold a copy of the descriptor by which the file was made, until it is a program.
        var status: Int32 = -1
        for _ in 0..<50 where status != 0 {
            status = mount.aclfs("mount", "-o", "remount,ro", back, mount.share).status
            if status != 0 { usleep(100_000) }
        }
        #expect(status == 0)
        let refused = mount.aclfs("explain", "--as", "root", "open-write", "\(mount.share)/file")
        #expect(refused.status == 1)
        #expect(refused.output.hasSuffix("denied: EROFS\n"))
        #expect(mount.aclfs("mount", "-o", "remount,rw,securelevel=2", back, mount.share).status == 0)
        #expect(mount.aclfs("explain", "--as", "root", "open-write", "\(mount.share)/file").status == 0)
        #expect(mount.aclfs("mount", "-o", "remount,rw,securelevel=1", back, mount.share).status != 0)
        #expect(mount.aclfs("status", mount.share).output.contains("securelevel=2"))
        let path = mount.socketPath
        #expect(access(path, F_OK) == 0)
        #expect(mount.aclfs("unmount", mount.share).status == 0)
        for _ in 0..<50 where access(path, F_OK) == 0 { usleep(100_000) }
        #expect(access(path, F_OK) != 0)
    }
}
