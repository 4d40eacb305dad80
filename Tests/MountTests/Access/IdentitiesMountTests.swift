import ACLFormats
import Authorization
import Foundation
import Glibc
import TestSupport
import Testing

/// `identities=`: identities from elsewhere on a mount (docs/reference/identity.md "Identities from elsewhere").
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct IdentitiesMountTests {
    private let bobElsewhere = "6F0A11D2-33C4-45E6-8708-990ABBCCDDEE"
    private let teamElsewhere = "6F0A11D2-33C4-45E6-8708-990ABBCCDDEF"
    private let unknown = "01020304-0506-0708-090A-0B0C0D0E0F10"
    private var lines: String { "# of another system\n\(bobElsewhere) user:502\n\(teamElsewhere) group:600\n" }
    private let aclfs = MountTesting.program("aclfs")

    private let fixture: MountFixture
    private var file: String { fixture.top + "/ids" }

    init() throws {
        fixture = try MountFixture(options: nil)
        try Self.write(lines, to: file)
    }

    /// In place, as an editor that truncates does it.
    private static func write(_ text: String, to path: String, mode: mode_t = 0o644) throws {
        let opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        defer { close(opened) }
        let bytes = Array(text.utf8)
        guard opened >= 0, Glibc.write(opened, bytes, bytes.count) == bytes.count, fchmod(opened, mode) == 0 else {
            throw FixtureError("cannot write \(path): errno \(errno)")
        }
    }

    private func mount(_ options: String = "") throws -> (root: ActingProcess, alice: ActingProcess, bob: ActingProcess) {
        try fixture.mount("identities=\(file)" + options)
        let root = try ActingProcess(.root)
        try root.must("chmod", fixture.mountpoint, "0777")
        return (root, try ActingProcess(.alice), try ActingProcess(.bob))
    }

    private func make(_ name: String, _ mode: String, acl: String? = nil, by root: ActingProcess) throws -> String {
        let path = fixture.path(name)
        try root.must("create", path, mode, "0")
        try root.must("chmod", path, mode)
        if let acl { try root.must("setxattr", path, "system.aclfs.acl", acl) }
        return path
    }

    @Test func entriesReachTheUserAndTheGroup() throws {
        let (root, alice, bob) = try mount()
        let carol = try ActingProcess(.carol)
        let users = try make("users", "0600", acl: "\(bobElsewhere) allow read", by: root)
        let groups = try make("groups", "0600", acl: "\(teamElsewhere) allow read", by: root)
        let denied = try make("denied", "0644", acl: "\(bobElsewhere) deny read\n\(teamElsewhere) deny read", by: root)
        let strange = try make("strange", "0644", acl: "\(unknown) deny read", by: root)
        for (process, expected) in [
            (alice, ["EACCES", "ok", "EACCES", "ok"]), (bob, ["ok", "EACCES", "EACCES", "ok"]), (carol, ["EACCES", "EACCES", "ok", "ok"]),
        ] {
            #expect(try [users, groups, denied, strange].map { try process.call("open", $0, "0").word } == expected)
        }
    }

    @Test func theyMayOwnAndBeTheGroup() throws {
        let (root, alice, bob) = try mount()
        let path = try make("f", "0640", by: root)
        try root.must("setxattr", path, "system.aclfs.owner", bobElsewhere)
        #expect(try bob.call("chmod", path, "0600").word == "ok" && alice.call("chmod", path, "0644").word == "EPERM")
        #expect(try bob.call("open", path, "2").word == "ok" && alice.call("open", path, "0").word == "EACCES")
        try root.must("setxattr", path, "system.aclfs.owner", teamElsewhere)
        #expect(try alice.call("chmod", path, "0640").word == "ok" && bob.call("chmod", path, "0644").word == "EPERM")
        try root.must("chown", path, "0", "0")
        try root.must("setxattr", path, "system.aclfs.group", teamElsewhere)
        #expect(try alice.call("open", path, "0").word == "ok" && bob.call("open", path, "0").word == "EACCES")
        // A user is no group.
        try root.must("setxattr", path, "system.aclfs.group", bobElsewhere)
        #expect(try bob.call("open", path, "0").word == "EACCES")
    }

    /// Written back, every form is the same list; names are what people read.
    @Test func textsKeepTheIdentity() throws {
        let (root, _, _) = try mount()
        let list =
            "\(bobElsewhere) allow read\n\(teamElsewhere) deny write\n\(GUID(user: 502).uuidText) allow read\n\(unknown) allow read\n"
        let path = try make("f", "0600", acl: list, by: root)
        func get(_ name: String) throws -> [UInt8] { unescaped(try root.must("getxattr", path, name)) }
        #expect(String(decoding: try get("system.aclfs.acl"), as: UTF8.self) == list)
        for name in ["system.nfs4_acl", "com.apple.acl.text"] {
            // As it was printed: not all of it is text.
            try root.must("setxattr", path, name, try root.must("getxattr", path, name))
            #expect(String(decoding: try get("system.aclfs.acl"), as: UTF8.self) == list, "\(name)")
        }
        // What a host without the file can read: who it is by number.
        let portable = String(decoding: try get("com.apple.acl.text"), as: UTF8.self)
        #expect(portable.contains("user:\(bobElsewhere)::502:allow:read\n"), "\(portable)")
        #expect(portable.contains("group:\(teamElsewhere)::600:deny:write\n"), "\(portable)")
        #expect(portable.contains("user:\(unknown):::allow:read\n"), "\(portable)")
        #expect(try Spawn.run([aclfs, "ls", "-le", path]).output.contains(" 0: \(bobElsewhere) allow read"))
    }

    @Test func explanationsHaveTheNames() throws {
        let accounts = try PrivateAccounts(users: ["alice": 501, "bob": 502], groups: [600: .init(name: "team", members: ["alice"])])
        let inside = try MountFixture(options: nil, within: accounts.within)
        try inside.mount("identities=\(file)")
        let root = try ActingProcess(.root, within: accounts.within)
        try root.must("create", inside.path("f"), "0600", "0")
        try root.must("setxattr", inside.path("f"), "system.aclfs.acl", "\(teamElsewhere) deny write\n\(bobElsewhere) allow read")
        let read = try Spawn.run(accounts.within + [aclfs, "explain", "--as", "bob", "open-read", inside.path("f")])
        #expect(read.status == 0 && read.output.contains("user:bob allow read"), "\(read)")
        let write = try Spawn.run(accounts.within + [aclfs, "explain", "--as", "alice", "open-write", inside.path("f")])
        #expect(write.status == 1 && write.output.contains("group:team deny write"), "\(write)")
        // A name that is typed leads to the number: the list means the same on a mount without the file.
        let typed = try Spawn.run(accounts.within + [aclfs, "chmod", "+a", "bob allow write", inside.path("f")])
        #expect(typed.status == 0, "\(typed)")
        #expect(
            String(decoding: unescaped(try root.must("getxattr", inside.path("f"), "system.aclfs.acl")), as: UTF8.self).contains(
                "user:bob allow write\n"))
    }

    /// Whatever the kernel may answer by itself does not depend on the file: with every value of `cache` the next call is judged anew.
    @Test(arguments: ["", ",cache=exclusive", ",cache=strict"]) func aChangeHoldsAtOnce(_ options: String) throws {
        let (root, alice, bob) = try mount(options)
        let directory = fixture.path("d")
        try root.must("mkdir", directory, "0700", "0")
        try root.must("setxattr", directory, "system.aclfs.acl", "\(bobElsewhere) allow search,list")
        let path = try make("d/f", "0644", by: root)
        func words() throws -> [String] {
            try [alice, bob].flatMap {
                try [$0.call("stat", path).word, $0.call("names", directory).word, $0.call("open", path, "0").word]
            }
        }
        let (yes, no) = ([String](repeating: "ok", count: 3), [String](repeating: "EACCES", count: 3))
        #expect(try words() == no + yes)
        // In place, by rename, by another name.
        try Self.write("\(bobElsewhere) user:501\n", to: file)
        #expect(try eventually { try words() == yes + no })
        try Self.write(lines, to: file + ".new")
        #expect(rename(file + ".new", file) == 0)
        #expect(try eventually { try words() == no + yes })
        #expect(unlink(file) == 0)
        try Self.write("", to: file)
        #expect(try eventually { try words() == no + no })
    }

    @Test func aBrokenFileChangesNothingAndIsReported() throws {
        let log = fixture.top + "/log"
        let output = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(output) }
        let daemon = try Spawn.start(
            [aclfs, "mount", "-f", "-o", "identities=\(file)", fixture.backing, fixture.mountpoint], descriptors: [-1, output, output])
        defer {
            _ = try? Spawn.run(["umount", fixture.mountpoint])
            _ = Spawn.wait(daemon)
        }
        #expect(eventually { MountFixture.isMounted(fixture.mountpoint) })
        let root = try ActingProcess(.root)
        let bob = try ActingProcess(.bob)
        let path = try make("f", "0600", acl: "\(bobElsewhere) allow read", by: root)
        func said(_ text: String, times: Int = 1) -> Bool {
            eventually { ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").components(separatedBy: text).count == times + 1 }
        }
        let kept = "; what was read before stays in force"
        try Self.write("\(bobElsewhere) user:503\n\(bobElsewhere) user:502\n", to: file)
        #expect(said("identities=\(file): line 2: \(bobElsewhere) stands in line 1 already; remove one of the two\(kept)\n"))
        try Self.write(lines, to: file, mode: 0o666)
        #expect(said("identities=\(file) is writable for others (mode 666); chmod 644 it\(kept)\n"))
        #expect(unlink(file) == 0)
        #expect(said("identities=\(file): No such file or directory\(kept)\n"))
        #expect(symlink("/etc/passwd", file + ".link") == 0 && rename(file + ".link", file) == 0)
        #expect(said("identities=\(file) is a symbolic link; name the file that it leads to\(kept)\n"))
        #expect(try bob.call("open", path, "0").word == "ok")
        let status = try Spawn.run([aclfs, "status", fixture.mountpoint]).output
        #expect(status.contains("\n  identities: \(file) is a symbolic link; name the file that it leads to\(kept)\n"), "\(status)")
        // Mended, it holds again. A hangup reads it, too: where the kernel tells of nothing, as on a network file system.
        #expect(unlink(file) == 0)
        try Self.write("\(bobElsewhere) user:503\n", to: file)
        #expect(said("identities=\(file): read again; UUIDs in it: 1\n"))
        #expect(try bob.call("open", path, "0").word == "EACCES")
        let mended = try Spawn.run([aclfs, "status", fixture.mountpoint])
        #expect(mended.status == 0 && !mended.output.contains("  identities:"), "\(mended)")
        #expect(chmod(file, 0o600) == 0)
        #expect(kill(daemon, SIGHUP) == 0)
        usleep(100_000)
        #expect(chmod(file, 0o622) == 0)
        #expect(kill(daemon, SIGHUP) == 0)
        #expect(said("identities=\(file) is writable for others (mode 622); chmod 644 it\(kept)\n"))
    }

    @Test func whatIsRefusedAtTheMount() throws {
        let outside = fixture.top + "/dir"
        mkdir(outside, 0o755)
        func refusal(_ path: String, _ source: String? = nil) throws -> String {
            let result = try Spawn.run([aclfs, "mount", "-o", "identities=\(path)", source ?? fixture.backing, fixture.mountpoint])
            #expect(result.status == 32 && !MountFixture.isMounted(fixture.mountpoint), "\(path): \(result)")
            return result.output.split(separator: "\n").last.map(String.init) ?? ""
        }
        func place(_ name: String, _ text: String, mode: mode_t = 0o644) throws -> String {
            try Self.write(text, to: outside + "/" + name, mode: mode)
            return outside + "/" + name
        }
        let missing = outside + "/missing"
        #expect(try refusal(missing) == "aclfs: identities=\(missing): No such file or directory")
        let two = try place("two", "\(bobElsewhere) user:502\n\(teamElsewhere) user:502\n")
        #expect(try refusal(two) == "aclfs: identities=\(two): line 2: user 502 has another UUID in line 1 already; remove one of the two")
        let name = try place("name", "\n\(bobElsewhere) bob\n")
        #expect(
            try refusal(name) == "aclfs: identities=\(name): line 2: 'bob' is neither user:NUMBER nor group:NUMBER; "
                + "a line is UUID user:NUMBER or UUID group:NUMBER")
        let open = try place("open", lines, mode: 0o664)
        #expect(try refusal(open) == "aclfs: identities=\(open) is writable for others (mode 664); chmod 644 it")
        let foreign = try place("foreign", lines)
        #expect(chown(foreign, 501, 20) == 0)
        #expect(try refusal(foreign) == "aclfs: identities=\(foreign) belongs to user 501; it has to belong to root")
        let long = try place("long", String(repeating: "#", count: 1 << 20) + "\n")
        #expect(try refusal(long) == "aclfs: identities=\(long) has more than 1048576 bytes")
        let fifo = outside + "/fifo"
        #expect(mkfifo(fifo, 0o644) == 0)
        #expect(try refusal(fifo) == "aclfs: identities=\(fifo) is not a regular file")
        let link = outside + "/link"
        #expect(symlink(file, link) == 0)
        #expect(try refusal(link) == "aclfs: identities=\(link) is a symbolic link; name the file that it leads to")
        // Where callers could write it, and where the mount would hide it.
        let within = fixture.backing + "/ids"
        try Self.write(lines, to: within)
        #expect(try refusal(within).hasPrefix("aclfs: identities=\(within) lies in the source \(fixture.backing); keep it elsewhere"))
        let hidden = fixture.mountpoint + "/ids"
        try Self.write(lines, to: hidden)
        #expect(
            try refusal(hidden).hasPrefix("aclfs: identities=\(hidden) lies in the mount point \(fixture.mountpoint); keep it elsewhere"))
        #expect(chmod(outside, 0o777) == 0)
        #expect(try refusal(two).contains(" lies in a directory that others may write to; it has to belong to root"))
        #expect(chmod(outside, 0o1777) == 0)
        #expect(try refusal(open).contains("writable for others"))
        let other = fixture.top + "/other"
        mkdir(other, 0o755)
        let second = fixture.top + "/second"
        mkdir(second, 0o755)
        try fixture.mount(of: other, at: second)
        #expect(try refusal(second + "/ids").contains(" lies in the aclfs mount \(second); keep it elsewhere"))
    }

    /// The daemon of the first mount takes over the second, with a file of its own; a remount does not change it.
    @Test func eachMountHasItsOwn() throws {
        let (root, _, bob) = try mount()
        let path = try make("f", "0600", acl: "\(bobElsewhere) allow read", by: root)
        let (second, third) = (fixture.top + "/second", fixture.top + "/third")
        for place in [second, third] { mkdir(place, 0o755) }
        try Self.write("\(bobElsewhere) user:501\n", to: fixture.top + "/others")
        try fixture.mount("identities=\(fixture.top)/others", at: second)
        try fixture.mount(at: third)
        #expect(MountFixture.daemons(of: second).isEmpty && MountFixture.daemons(of: third).isEmpty)
        #expect(try [path, second + "/f", third + "/f"].map { try bob.call("open", $0, "0").word } == ["ok", "EACCES", "EACCES"])
        try Self.write("\(bobElsewhere) user:502\n", to: fixture.top + "/others")
        #expect(try eventually { try bob.call("open", second + "/f", "0").word == "ok" })
        try Self.write("", to: file)
        #expect(try eventually { try bob.call("open", path, "0").word == "EACCES" })
        #expect(try bob.call("open", second + "/f", "0").word == "ok")
        let status = try Spawn.run([aclfs, "status", second]).output
        #expect(status.contains("identities=\(fixture.top)/others"), "\(status)")
        let remount = try Spawn.run(["mount", "-i", "-o", "remount,ro", fixture.mountpoint])
        #expect(remount.status == 0, "\(remount)")
        let changed = try Spawn.run([aclfs, "mount", "-o", "remount,identities=\(fixture.top)/others", fixture.backing, fixture.mountpoint])
        #expect(changed.status != 0 && changed.output.contains("cannot change while mounted"), "\(changed)")
    }

    /// A command in a sandbox is judged by the file of the mount that it sees.
    @Test func aViewHasThatOfItsMount() throws {
        let result = try SandboxRunScript.run(
            #"""
            echo "6F0A11D2-33C4-45E6-8708-990ABBCCDDEE user:$ANN" >"$T/ids"
            "$A" mount -o identities="$T/ids" "$BACK" "$SHARE" >/dev/null 2>&1; treasures
            P=$T/downloads.entitlements; F=$SHARE/home/Downloads/f
            echo text >"$F"; chmod 600 "$F"
            setfattr -n system.aclfs.acl -v '6F0A11D2-33C4-45E6-8708-990ABBCCDDEE allow read' "$F"
            is 'translated' text "$(run ann -- cat "$F")"
            : >"$T/ids"
            await '! run ann -- cat "$F" >/dev/null 2>&1'
            settle 1
            """#)
        #expect(result.output == "done", "\(result)")
    }
}
