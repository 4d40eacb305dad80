import ACLFormats
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// A view is given only to who shows that he reaches the mount, and only for a profile that is whole.
@Suite(.serialized, .enabled(if: LiveMount.unavailable == nil, "needs root, /dev/fuse and setpriv"))
struct ViewRequestTests {
    private static let profile = #"""
        {"name":"closed","layout":"macos","home":"/","entitlements":{"com.apple.security.app-sandbox":true}}
        """#

    private func ask(
        _ mount: LiveMount, _ members: String, with descriptors: [Int32] = []
    ) throws -> (text: String, descriptors: [SharedDescriptor]) {
        let socket = try ControlSocket.connect(to: mount.socketPath, milliseconds: 10_000)
        let message = Array(#"{"v":1,\#(members)}"#.utf8)
        if descriptors.isEmpty {
            socket.takeDescriptors()
            try socket.send(message)
        } else {
            // It takes none before it has seen who asks.
            try socket.send(Array(#"{"v":1,"command":"version"}"#.utf8))
            _ = try socket.receive(limit: 65536)
            // Before the answer can come: who sends to one that takes none gets EPERM.
            socket.takeDescriptors()
            try socket.send(message, with: descriptors)
        }
        let answer = try #require(try socket.receiveWithDescriptors(limit: 65536))
        return (String(decoding: answer.message, as: UTF8.self), answer.descriptors)
    }

    /// Tables are built by recursion: what is too deep is refused, and the daemon lives on.
    @Test func whatIsTooDeepIsRefused() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let top = SharedDescriptor(try Syscall.open(mount.share, OpenFlag.path))
        let deep = String(repeating: "/a", count: 12_000)
        let key = "com.apple.security.temporary-exception.files.absolute-path.read-only"
        let start = #""command":"view","profile":{"name":"deep","layout":"macos","bundle":"a.b","home":"#
        let asked = [
            start + #""\#(deep)","entitlements":{"com.apple.security.app-sandbox":true}}"#,
            start + #""/","entitlements":{"com.apple.security.app-sandbox":true,"\#(key)":["\#(deep)/"]}}"#,
        ]
        for message in asked {
            #expect(try ask(mount, message, with: [top.rawValue]).text.contains("more than 256 names"))
        }
        #expect(try ask(mount, #""command":"version""#).text.contains("version"))
    }

    @Test func onlyForWhoReachesTheTop() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        mkdir("\(mount.share)/sub", 0o755)
        try mount.file("file", mode: 0o644)
        func opened(_ path: String, _ flags: Int32) throws -> SharedDescriptor { SharedDescriptor(try Syscall.open(path, flags)) }
        let top = try opened(mount.share, OpenFlag.path)
        let view = #""command":"view","profile":\#(Self.profile)"#
        let refused: [(String, [SharedDescriptor])] = [
            ("nothing", []), ("below", [try opened("\(mount.share)/sub", OpenFlag.path)]),
            ("a file", [try opened("\(mount.share)/file", OpenFlag.path)]),
            ("elsewhere", [try opened("/", OpenFlag.path)]), ("opened for reading", [try opened(mount.share, OpenFlag.readOnly)]),
            ("two", [top, top]),
        ]
        for (name, descriptors) in refused {
            let answer = try ask(mount, view, with: descriptors.map { $0.rawValue })
            #expect(answer.text.contains(#""ok":false"#) && answer.descriptors.isEmpty, "\(name): \(answer.text)")
        }
        for profile in ["{}", "3", #"{"name":"x","layout":"macos","home":"/","entitlements":{}}"#] {
            let answer = try ask(mount, #""command":"view","profile":\#(profile)"#, with: [top.rawValue])
            #expect(answer.text.contains(#""ok":false"#) && answer.descriptors.isEmpty, "\(profile): \(answer.text)")
        }
        let given = try ask(mount, view, with: [top.rawValue])
        #expect(given.text.contains(#""ok":true"#) && given.descriptors.count == 1, "\(given.text)")
        // It stands nowhere, and nobody else sees it.
        let device = try Syscall.statx(try #require(given.descriptors.first).rawValue, flags: AtFlag.dontSync).device
        let table = try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly)
        #expect(!(try MountInfo.read(table.rawValue).contains { $0.device == device }))
    }

    private static let python = "/usr/bin/python3"

    /// Where the backing directory lies is told to root, to whoever mounted, and to who reaches the mount.
    @Test(.enabled(if: access(python, X_OK) == 0, "needs python3")) func othersAreToldOnlyOfAMountThatTheyReach() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        mkdir("\(mount.share)/sub", 0o755)
        let script = """
            import os, socket, sys
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])
            shown = [os.open(p.removeprefix('read:'), os.O_RDONLY if p.startswith('read:') else os.O_PATH) for p in sys.argv[2:]]
            top = b',"top":%d' % shown[-1] if shown else b''
            s.send(b'{"v":1,' + os.environb.get(b'ASKED', b'"command":"places"') + top + b'}')
            print(s.recv(65536).decode())
            """
        func asked(_ shown: [String], by words: [String]) -> String {
            LiveMount.run(words + [Self.python, "-c", script, mount.socketPath] + shown).output
        }
        let nobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for shown in [[], ["/"], ["\(mount.share)/sub"], ["read:\(mount.share)"]] {
            let answer = asked(shown, by: nobody)
            #expect(answer.contains("EPERM") && !answer.contains("/back/share"), "\(shown): \(answer)")
        }
        #expect(asked([mount.share], by: nobody).contains("/back/share"))
        #expect(asked([], by: ["/usr/bin/env"]).contains("/back/share"))
        // Nor may others guess it: whether it shows what lies at a place is told to the same.
        let guess = #"{"backing":[{"device":"9999:1","path":"/","source":true}],"mounts":[{"device":"9999:2","same":true}]}"#
        let guessing = ["/usr/bin/env", #"ASKED="command":"shows","places":\#(guess)"#]
        for shown in [[], ["/"], ["\(mount.share)/sub"]] {
            let answer = asked(shown, by: guessing + nobody)
            #expect(answer.contains("EPERM") && !answer.contains("shows"), "\(shown): \(answer)")
        }
        #expect(asked([mount.share], by: guessing + nobody).contains(#""shows":false"#))
        #expect(asked([], by: guessing).contains(#""shows":false"#))
    }

    /// Whoever would have to close them again need not be able to: another user serves them, perhaps.
    @Test(.enabled(if: access(python, X_OK) == 0, "needs python3")) func othersSendNoDescriptors() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let script = """
            import os, socket, sys
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])
            s.send(b'{"v":1,"command":"version"}'); s.recv(65536)
            end, ours = os.pipe()
            try: socket.send_fds(s, [b'{"v":1,"command":"version"}'], [ours])
            except PermissionError: pass
            else: s.recv(65536)
            os.close(ours); print('closed' if os.read(end, 1) == b'' else 'held')
            """
        let nobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        let outcome = LiveMount.run(["/usr/bin/timeout", "20"] + nobody + [Self.python, "-c", script, mount.socketPath])
        #expect(outcome.output == "closed\n")
    }

    @Test func whatThereIsToCoverIsTold() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let answer = try ask(mount, #""command":"places""#)
        let result = try #require(try JSONText.parse(Array(answer.text.utf8))["result"])
        let backing = try #require(result["backing"]?.array?.first)
        #expect(backing["source"]?.bool == true)
        #expect(backing.path().map { String(decoding: $0, as: UTF8.self).hasSuffix("/back/share") } == true, "\(answer.text)")
        #expect(result["mounts"]?.array?.count == 1)
        // Its own places it shows; a file system that nobody has it does not.
        #expect(
            try ask(mount, #""command":"shows","places":\#(String(decoding: JSONText.write(result), as: UTF8.self))"#).text.contains(
                #""shows":true"#))
        let other = #"{"backing":[{"device":"9999:1","path":"/","source":true}],"mounts":[{"device":"9999:2","same":true}]}"#
        #expect(try ask(mount, #""command":"shows","places":\#(other)"#).text.contains(#""shows":false"#))
    }
}
