import ACLFormats
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// Messages about profiles and grants that no command sends.
@Suite(.serialized, .enabled(if: LiveMount.unavailable == nil, "needs root, /dev/fuse and setpriv"))
struct SandboxControlTests {
    private func ask(_ mount: LiveMount, _ text: String, with descriptors: [Int32] = []) throws -> JSON {
        let socket = try ControlSocket.connect(to: mount.socketPath, milliseconds: 10_000)
        if descriptors.isEmpty {
            try socket.send(Array(text.utf8))
        } else {
            // It takes none before it has seen who asks.
            try socket.send(Array(#"{"v":1,"command":"version"}"#.utf8))
            _ = try socket.receive(limit: JSONText.maximumSize)
            try socket.send(Array(text.utf8), with: descriptors)
        }
        return try JSONText.parse(try #require(try socket.receive(limit: JSONText.maximumSize)))
    }

    /// Nothing is served unconfined that was to be confined, whatever is wrong with the message.
    @Test func aMountIsNeverTakenOverWithoutItsProfile() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let device = open("/dev/null", O_RDWR)
        let directory = open(mount.share, O_RDONLY | O_DIRECTORY)
        defer {
            close(device)
            close(directory)
        }
        func serve(_ options: String, _ profile: String) throws -> String? {
            let answer = try ask(
                mount,
                """
                {"v":1,"command":"serve","source":"/x","name":"/x","mountpoint":"/x","device":"0:1","metadata":"trusted.aclfs",
                "options":["\(options)"]\(profile)}
                """, with: [device, directory])
            #expect(answer["ok"]?.bool == false)
            return answer["message"]?.string
        }
        let sandboxed = #""entitlements":{"com.apple.security.app-sandbox":true}"#
        let good = #"{"name":"p","layout":"macos","bundle":"a.b","home":"/","# + sandboxed + "}"
        #expect(try serve("sandbox=p", "") == "an incomplete message: no profile")
        #expect(try serve("sandbox=p,bundle=a.b", ",\"profile\":null")?.hasPrefix("profile: ") == true)
        #expect(try serve("sandbox=p,bundle=a.b", ",\"profile\":{}")?.hasPrefix("profile: name") == true)
        #expect(try serve("sandbox=q,bundle=a.b", ",\"profile\":\(good)") == "the profile is not the one that the options name")
        #expect(try serve("sandbox=p,bundle=c.d", ",\"profile\":\(good)") == "the profile is not the one that the options name")
        #expect(try serve("rw", ",\"profile\":\(good)") == "the profile is not the one that the options name")
        let unconfined = good.replacingOccurrences(of: "true", with: "false")
        #expect(try serve("sandbox=p,bundle=a.b", ",\"profile\":\(unconfined)")?.contains("must be true") == true)
        let odd = good.replacingOccurrences(of: "macos", with: "other")
        #expect(try serve("sandbox=p,bundle=a.b", ",\"profile\":\(odd)")?.hasPrefix("profile: layout") == true)
    }

    /// Who asks by the path that he sees is told how it is called from the mount's top.
    @Test func aPathThroughTheMountPointIsPointedOut() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let profile = "\(mount.top)/p.entitlements"
        let keys = "<key>com.apple.security.app-sandbox</key><true/><key>com.apple.security.files.downloads.read-only</key><true/>"
        try "<plist><dict>\(keys)</dict></plist>".write(toFile: profile, atomically: true, encoding: .utf8)
        func said(_ path: String) -> String { mount.aclfs("sandbox", "check", "--bundle", "a.b", profile, path).output }
        let seen = said("\(mount.share)/Downloads/x")
        #expect(seen.contains("below the mount point \(mount.share) this is /Downloads/x"), "\(seen)")
        for path in ["/Downloads/x", "/Music", "\(mount.share)2/Downloads"] {
            #expect(!said(path).contains("mount point"), "\(said(path))")
        }
        // A home is taken as mounting takes it.
        func container(_ home: String) -> String { mount.aclfs("sandbox", "check", "--bundle", "a.b", "--home", home, profile).output }
        #expect(container("\(mount.share)/Users/ann") == container("/Users/ann"))
        #expect(container("/Users/ann").contains("\n/Users/ann/Library/Containers/a.b/Data"))
    }

    @Test func malformedGrantsAreRefused() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        try mount.file("file", mode: 0o644)
        func add(_ members: String) throws -> String? {
            let answer = try ask(mount, #"{"v":1,"command":"grant-add""# + (members.isEmpty ? "" : "," + members) + "}")
            #expect(answer["ok"]?.bool == false, "\(members)")
            return answer["message"]?.string
        }
        let access = #""access":"read-only""#
        #expect(try add("") == "access must be read-only or read-write")
        #expect(try add(#""access":"write""#) == "access must be read-only or read-write")
        #expect(try add(access) == "no path")
        #expect(try add(access + #","path":"file""#)?.hasPrefix("no bundle") == true)
        #expect(try add(access + #","path":"file","bundle":"../a""#)?.hasPrefix("no bundle") == true)
        #expect(try add(access + #","path":"../file","bundle":"a.b""#) == "a path may not contain . or ..")
        #expect(try add(access + #","path":"file","bundle":"a.b","expires":"soon""#) == "expires must be seconds since 1970")
        #expect(try add(access + #","path":"file","bundle":"a.b","expires":1"#) == "the time at which it expires has passed")
        #expect(try add(access + #","path":"file/below","bundle":"a.b""#)?.hasPrefix("Not a directory") == true)
        let listed = try ask(mount, #"{"v":1,"command":"grant-list","from":-5}"#)
        #expect(listed["result"]?["total"]?.integer == 0)
        let stranger = mount.aclfs("sandbox", "grant", "list", mount.share, asNobody: true)
        #expect(stranger.status == 2 && stranger.output.contains("only root and the user who mounted"))
    }
}
