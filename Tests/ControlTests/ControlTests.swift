import ACLFormats
import Foundation
import LinuxSystem
import TestSupport
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
        #expect(all.output.contains("nobody     open-read") && all.output.contains("uid 12345  open-read"))
        let own = mount.aclfs("explain", "--last", mount.share, asNobody: true)
        #expect(own.output.contains("nobody  open-read") && !own.output.contains("uid 12345"))
    }

    private func asNobody(_ mount: LiveMount, _ script: String) -> CommandResult {
        let user = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        return LiveMount.run(user + ["/bin/sh", "-c", "cd \(mount.share); \(script)"])
    }

    /// An ordinary user is shown paths that he could find by listing, also where the object was moved to since, and of what
    /// was moved to where he sees nothing, or was removed, no more than the inode's number.
    @Test func theLastDenialsHavePaths() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let share = mount.share
        for (name, mode) in [("dir", 0o755), ("door", 0o700), ("in", 0o755), ("gone", 0o755)] {
            mkdir("\(share)/\(name)", mode_t(mode))
        }
        for name in ["closed", "dir/a b\u{1B}", "in/first", "in/second", "in/third", "door/inside", "gone/file"] {
            try mount.file(name, mode: 0o600)
        }
        #expect(asNobody(mount, "! cat closed && ! mkdir dir/new && ! cat door/inside && ! rm -f in/first").status == 0)
        #expect(asNobody(mount, "! cat in/second && ! cat in/third && ! cat gone/file && ! chmod 777 dir/*").status == 0)
        func lines(_ asNobody: Bool) -> [String] {
            mount.aclfs("explain", "--last", "30", share, asNobody: asNobody).output.split(separator: "\n").map(String.init)
        }
        func has(_ lines: [String], _ operation: String, _ path: String) -> Bool {
            lines.contains { $0.contains("  \(operation) ") && $0.contains("  \(path) ") }
        }
        for asked in [lines(true), lines(false)] {
            for (operation, path) in [
                ("open-read", "\(share)/closed"), ("mkdir", "\(share)/dir/new"), ("search", "\(share)/door/inside"),
                ("unlink", "\(share)/in/first"), ("open-read", "\(share)/in/second"), ("chmod", "\(share)/dir/a b\\x1b"),
            ] { #expect(has(asked, operation, path), "\(operation) \(path): \(asked)") }
        }
        rename("\(share)/in/second", "\(share)/dir/moved")
        rename("\(share)/in/third", "\(share)/door/hidden")
        try FileManager.default.removeItem(atPath: "\(share)/gone/file")
        let (own, all) = (lines(true), lines(false))
        #expect(has(own, "open-read", "\(share)/dir/moved"), "\(own)")
        #expect(!own.contains { $0.contains("hidden") }, "\(own)")
        #expect(own.contains { $0.contains("inode") }, "\(own)")
        #expect(has(all, "open-read", "\(share)/door/hidden"), "\(all)")
        #expect(all.contains { $0.contains("(no longer there)") }, "\(all)")
        #expect(!own.contains { $0.contains("(no longer there)") }, "\(own)")
        func denials(_ count: Int) throws -> [JSON] {
            let said = mount.aclfs("explain", "--json", "--last", String(count), share, asNobody: true).output
            return try #require(try JSONText.parse(Array(said.dropLast().utf8)).array)
        }
        let json = try denials(30)
        #expect(json.contains { $0["operation"]?.string == "mkdir" && $0["path"]?.string == "\(share)/dir/new" })
        #expect(json.contains { $0.path() == Array("\(share)/dir/a b\u{1B}".utf8) && $0["path"] == nil })
        #expect(json.allSatisfy { $0["gone"] == nil })
        #expect(json.contains { $0["inode"]?.string != nil && $0.path() == nil })
        // More than one message holds, each once.
        let name = String(repeating: "x", count: 240)
        let many = "i=0; while [ $i -lt 420 ]; do read line <door/\(name); i=$((i + 1)); done 2>/dev/null; :"
        #expect(asNobody(mount, many).status == 0)
        #expect(try denials(40).count == 40)
        let numbers = mount.aclfs("explain", "--last", "400", share, asNobody: true).output.split(separator: "\n")
        #expect(numbers.count == 400 && numbers.allSatisfy { $0.contains("door/xxx") }, "\(numbers.prefix(2))")
    }

    /// What an ordinary user may not list he is told only as the name that he asked for himself.
    @Test func theLastDenialsTellNoNameThatCouldNotBeListed() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let share = mount.share
        for (name, mode) in [("pub", 0o755), ("hidden", 0o711), ("hidden/inner", 0o755)] { mkdir("\(share)/\(name)", mode_t(mode)) }
        for name in ["pub/x", "pub/y", "hidden/known"] { try mount.file(name, mode: 0o600) }
        func newest(asNobody: Bool = true) -> String { mount.aclfs("explain", "--last", "1", share, asNobody: asNobody).output }
        // A file that has another name, and loses the one that was used.
        #expect(link("\(share)/pub/x", "\(share)/hidden/s3cret") == 0)
        #expect(asNobody(mount, "! cat pub/x").status == 0)
        unlink("\(share)/pub/x")
        #expect(!newest().contains("hidden") && newest().contains("inode"), "\(newest())")
        // One that is moved while it is held open, and then refused through the descriptor: without a name.
        // That the directory has not changed since the refusal is no reason to tell either.
        let script = """
            cd \(share); exec 3<pub/y; mv pub/y hidden/renamed
            moved=$(date +%s); while [ $(date +%s) -le $((moved + 1)) ]; do sleep 0.05; done
            ! setpriv --reuid=65534 --regid=65534 --clear-groups chmod 777 /proc/self/fd/3
            """
        #expect(LiveMount.run(["/bin/sh", "-c", script]).status == 0)
        #expect(newest(asNobody: false).contains("  chmod ") && newest(asNobody: false).contains("hidden/renamed"))
        #expect(!newest().contains("renamed") && newest().contains("  chmod "), "\(newest())")
        // A name in such a directory: he gave it himself, but not the directory's.
        #expect(asNobody(mount, "! mkdir hidden/inner/new").status == 0)
        #expect(newest(asNobody: false).contains("hidden/inner/new"))
        #expect(!newest().contains("inner"), "\(newest())")
        #expect(asNobody(mount, "! mkdir hidden/new").status == 0)
        #expect(newest().contains("  \(share)/hidden/new "), "\(newest())")
        #expect(asNobody(mount, "! cat hidden/known").status == 0)
        #expect(newest(asNobody: false).contains("hidden/known"))
        #expect(!newest().contains("known"), "\(newest())")
    }

    /// The numbers of one's own denials do not tell how many others had between them; to page by they serve all the same.
    @Test func theNumbersOfDenialsTellNothingOfOthers() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let none = mount.aclfs("explain", "--last", mount.share, asNobody: true)
        #expect(none.status == 0 && none.output.contains("there are no denials"), "\(none)")
        try mount.file("closed", mode: 0o600)
        #expect(asNobody(mount, "i=0; while [ $i -lt 150 ]; do read line <closed; i=$((i + 1)); done 2>/dev/null; :").status == 0)
        func numbers(asNobody: Bool) throws -> [Int64] {
            let said = mount.aclfs("explain", "--json", "--last", "150", mount.share, asNobody: asNobody).output
            return try #require(try JSONText.parse(Array(said.dropLast().utf8)).array).compactMap { $0["number"]?.integer }
        }
        let (all, own) = (Set(try numbers(asNobody: false)), Set(try numbers(asNobody: true)))
        #expect(all.count == 150 && own.count == 150 && all.isDisjoint(with: own), "\(own)")
        #expect((own.max() ?? 0) - (own.min() ?? 0) > 1 << 32, "\(own)")
    }

    /// Through a bind mount of a directory, what was refused elsewhere is not called by names below it.
    @Test func refusalsOutsideOfABindMountAreSaidToBe() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        let (share, bound) = (mount.share, "\(mount.top)/bound")
        for name in ["top", "top/sub", "locked"] { mkdir("\(share)/\(name)", 0o755) }
        mkdir(bound, 0o755)
        for name in ["top/sub/q", "locked/q", "top/q"] { try mount.file(name, mode: 0o600) }
        #expect(LiveMount.run(["/bin/mount", "--bind", "\(share)/top/sub", bound]).status == 0)
        defer { _ = LiveMount.run(["/bin/umount", bound]) }
        func shown(_ name: String) -> String {
            #expect(asNobody(mount, "! cat \(name)").status == 0)
            return mount.aclfs("explain", "--last", "1", bound).output
        }
        #expect(shown("top/sub/q").contains("  \(bound)/q "), "\(shown("top/sub/q"))")
        #expect(shown("locked/q").contains("  (outside of the bind mount)/locked/q "), "\(shown("locked/q"))")
        #expect(shown("top/q").contains("  (outside of the bind mount)/top/q "), "\(shown("top/q"))")
    }

    /// `-R`: each object with the users by rule, and what cannot be listed as a failure of its own.
    @Test func whoCanInATree() throws {
        let mount = try LiveMount()
        defer { mount.end() }
        for (name, mode) in [("tree", 0o755), ("tree/open", 0o755), ("tree/closed", 0o711)] {
            mkdir("\(mount.share)/\(name)", mode_t(mode))
        }
        for name in ["tree/plans", "tree/open/a b", "tree/closed/x"] { try mount.file(name, mode: 0o600) }
        #expect(symlink("plans", "\(mount.share)/tree/link") == 0)
        let added = mount.aclfs("chmod", "+a", "user:nobody allow read", "\(mount.share)/tree/open/a b")
        #expect(added.status == 0, "\(added)")
        let all = mount.aclfs("explain", "-R", "--who-can", "open-read", "\(mount.share)/tree")
        #expect(all.status == 0, "\(all)")
        let lines = all.output.split(separator: "\n").map(String.init)
        let top = mount.share + "/tree"
        // The order is the file system's, but a directory comes before what is in it.
        #expect(Set(lines.map { $0.components(separatedBy: "  ")[0] }).count == 7, "\(all)")
        #expect(lines[0].hasPrefix(top + "  "))
        #expect(lines.contains("\(top)/open/a b  acl:object[0] (user:nobody allow read)  nobody"), "\(all)")
        #expect(lines.filter { $0.hasPrefix(top + "/plans  ") }.allSatisfy { $0.hasSuffix("  root") }, "\(all)")
        let place = { (name: String) in lines.firstIndex { $0.hasPrefix("\(top)/\(name)  ") } ?? -1 }
        #expect(place("open") < place("open/a b") && place("closed") < place("closed/x") && place("link") > 0)
        // One line of JSON for each object.
        let json = mount.aclfs("explain", "-R", "--json", "--who-can", "open-read", "\(mount.share)/tree/open")
        #expect(json.output.split(separator: "\n").count == 2 && json.output.hasPrefix("{\"path\":\"\(top)/open\",\"users\":["), "\(json)")
        // A user walks by its own rights, and is told where it may not look.
        let own = asNobody(mount, "\(LiveMount.program) explain -R --who-can open-read \(top)")
        #expect(own.status == 1 && own.output.contains("aclfs: \(top)/closed: Permission denied: list is denied"), "\(own)")
        #expect(!own.output.contains("closed/x") && own.output.contains("open/a b"), "\(own)")
        #expect(mount.aclfs("explain", "-R", "read", top).status == 2)
        let none = mount.aclfs("explain", "-R", "--who-can", "nothing", top)
        #expect(none.status == 2 && none.output.split(separator: "\n").count == 1, "\(none)")
    }

    /// Every word that does something says what it takes.
    @Test(arguments: [
        "mount", "unmount", "status", "chmod", "ls", "chflags", "backup", "backup exclude", "backup include", "backup status",
        "backup list", "sandbox", "sandbox check", "sandbox list", "sandbox run", "sandbox grant", "sandbox grant add",
        "sandbox grant list", "sandbox grant remove", "explain", "effective",
    ])
    func helpIsEverywhere(words: String) {
        for option in ["-h", "--help"] {
            let outcome = LiveMount.run([LiveMount.program] + words.split(separator: " ").map(String.init) + [option])
            #expect(outcome.status == 0, "\(option): \(outcome)")
            #expect(outcome.output.lowercased().contains("usage:") && outcome.output.contains("aclfs \(words)"), "\(outcome)")
        }
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
        #expect(eventually { mount.aclfs("mount", "-o", "remount,ro", back, mount.share).status == 0 })
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
        #expect(eventually { access(path, F_OK) != 0 })
    }
}
