import Glibc
import LinuxSystem
import TestSupport
import Testing

/// A file with capabilities is changed in place as natively: the change succeeds, and they are gone (docs/reference/security.md). Whether set-id
/// bits go with them is a matter of who writes (docs/reference/authorization.md 6.7).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct FileCapabilitiesTests {
    /// cap_net_raw, permitted and effective.
    private static let value: [UInt8] = [1, 0, 0, 2, 0, 0x20, 0, 0] + [UInt8](repeating: 0, count: 12)

    /// false: the file system keeps none.
    private func give(_ path: String) -> Bool {
        path.withCString { (try? Syscall.setxattr(.path($0), "security.capability", Self.value)) != nil }
    }

    private func fill(_ path: String, owner: uid_t) {
        let file = open(path, O_CREAT | O_WRONLY, 0o600)
        _ = "0123456789abcdef".withCString { write(file, $0, 16) }
        close(file)
        chown(path, owner, 20)
    }

    /// What a call left behind.
    private func state(_ path: String) -> String {
        var status = stat()
        guard lstat(path, &status) == 0 else { return "gone" }
        let hasThem = path.withCString { (try? Syscall.getxattr(.path($0), "security.capability")) != nil }
        return "\(String(status.st_mode & 0o7777, radix: 8)) \(status.st_gid)\(hasThem ? " capable" : "")"
    }

    private static let calls = [
        "write", "append", "truncated", "ftruncate", "fallocate", "truncate", "copy", "chgrp", "chgrp elsewhere", "chown to oneself",
        "chmod", "read",
    ]

    private func make(_ call: String, _ path: String, _ source: String, by process: ActingProcess, _ user: TestUser) throws -> [String] {
        func held(_ flags: Int32, _ words: String...) throws -> [String] {
            let opened = try process.call("hold", "1", path, String(flags), "0")
            guard opened.isOK else { return [opened.word] }
            let result = words.isEmpty ? opened : try process.call([words[0], "1"] + words.dropFirst())
            return [result.word, try process.call("close", "1").word]
        }
        switch call {
        case "write": return try held(O_WRONLY, "pwrite", "3", "x")
        case "append": return try held(O_WRONLY | O_APPEND, "write", "x")
        case "truncated": return try held(O_WRONLY | O_TRUNC)
        case "ftruncate": return try held(O_RDWR, "ftruncate", "3")
        case "fallocate": return try held(O_WRONLY, "fallocate", "0", "0", "8192")
        case "truncate": return [try process.call("truncate", path, "2").word]
        case "copy": return [try process.call("copy", source, path).word]
        case "chgrp": return [try process.call("chown", path, "-1", "600").word]
        case "chgrp elsewhere": return [try process.call("chown", path, "-1", "777").word]
        case "chown to oneself": return [try process.call("chown", path, String(user.uid), "-1").word]
        case "chmod": return [try process.call("chmod", path, "0755").word]
        default: return try held(O_RDONLY)
        }
    }

    /// That a new file has none is remembered, and so is what was asked once: until somebody sets them.
    @Test(arguments: ["cache=auto", "cache=strict"]) func theyAreSeenWhereverTheyAreSet(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        let (path, behind) = (fixture.path("f"), fixture.backing + "/f")
        func areSeen() -> Bool { path.withCString { (try? Syscall.getxattr(.path($0), "security.capability")) != nil } }
        fill(path, owner: 0)
        #expect(!areSeen() && !areSeen())
        guard give(behind) else { return }
        #expect(areSeen(), "set on the backing directory")
        #expect(behind.withCString { (try? Syscall.removexattr(.path($0), "security.capability")) } != nil)
        #expect(!areSeen() && !areSeen())
        #expect(give(path) && areSeen(), "set through the mount")
        #expect(chmod(path, 0o755) == 0 && areSeen())
        fill(path, owner: 0)
        #expect(!areSeen(), "the file was written to")
    }

    @Test(arguments: ["cache=auto", "passthrough=off", "transport=dev,cache=strict", "kernel_features=-killpriv2"])
    func changesAsTheFileSystemItselfDoes(_ options: String) throws {
        let fixture = try MountFixture(options: nil)
        let native = fixture.top + "/native"
        mkdir(native, 0o755)
        for top in [fixture.backing, native] {
            fill(top + "/source", owner: 0)
            chmod(top + "/source", 0o644)
        }
        try fixture.mount("suid," + options)
        for user in [TestUser.root, .alice, .bob, TestUser(uid: 504, gid: 21, groups: [21])] {
            let process = try ActingProcess(user)
            for mode in [mode_t(0o662), 0o640, 0o6775] {
                for call in Self.calls {
                    // Each on a file of its own: what is open still counts.
                    let name = "\(call)-\(String(mode, radix: 8))-\(user.uid)"
                    var outcomes: [[String]] = []
                    for (shown, place) in [(native, native), (fixture.mountpoint, fixture.backing)] {
                        fill("\(place)/\(name)", owner: 501)
                        chmod("\(place)/\(name)", mode)
                        guard give("\(place)/\(name)") else { return }
                        let result = try make(call, "\(shown)/\(name)", "\(shown)/source", by: process, user)
                        outcomes.append(result + [state("\(place)/\(name)")])
                    }
                    #expect(outcomes[0] == outcomes[1], "uid \(user.uid): \(call) of a file with mode \(String(mode, radix: 8))")
                }
            }
        }
    }

    @Test func explainNamesTheCallThatWasRefused() throws {
        let fixture = try MountFixture()
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        try root.must("create", fixture.path("f"), "0644", "0")
        guard give(fixture.backing + "/f") else { return }
        #expect(try bob.call("truncate", fixture.path("f"), "0").word == "EACCES")
        let last = try TestUser.bob.run(MountTesting.program("aclfs"), "explain", "--last", fixture.mountpoint)
        #expect(last.output.contains("truncate") && !last.output.contains("xattr"), "\(last)")
        #expect(try bob.call("chown", fixture.path("f"), "-1", "20").word == "EPERM")
        let next = try TestUser.bob.run(MountTesting.program("aclfs"), "explain", "--last", fixture.mountpoint)
        #expect(next.output.contains("chown") && !next.output.contains("xattr"), "\(next)")
        #expect(state(fixture.backing + "/f") == "644 0 capable")
    }

    /// Only root takes them away without changing the file, and a change of nothing takes nothing.
    @Test func theyGoWithAChangeOnly() throws {
        let fixture = try MountFixture()
        let (root, alice) = (try ActingProcess(.root), try ActingProcess(.alice))
        try root.must("create", fixture.path("f"), "0644", "0")
        try root.must("chown", fixture.path("f"), "501", "20")
        guard give(fixture.backing + "/f") else { return }
        #expect(try alice.call("removexattr", fixture.path("f"), "security.capability").word == "EPERM")
        #expect(try alice.call("chown", fixture.path("f"), "-1", "-1").word == "ok")
        #expect(state(fixture.backing + "/f") == "644 20 capable")
        try root.must("removexattr", fixture.path("f"), "security.capability")
        #expect(state(fixture.backing + "/f") == "644 20")
        // While root has it open for writing there is no error: the kernel's RELEASE of the handle that made it may still be on its way.
        #expect(try eventually { try root.call("removexattr", fixture.path("f"), "security.capability").word == "ENODATA" })
    }

    /// Where a change of the owner is discarded they go as they do elsewhere.
    @Test func ignoredOwnershipKeepsNone() throws {
        let fixture = try MountFixture(options: "noowners")
        let (root, bob) = (try ActingProcess(.root), try ActingProcess(.bob))
        for (name, uid, gid) in [("f", "-1", "20"), ("g", "502", "-1")] {
            try root.must("create", fixture.path(name), "0755", "0")
            guard give(fixture.backing + "/" + name) else { return }
            #expect(try bob.call("chown", fixture.path(name), uid, gid).word == "ok")
            #expect(state(fixture.backing + "/" + name) == "755 0")
        }
    }

    /// The kernel asks for the removal of what two writers saw, twice.
    @Test(arguments: ["cache=auto", "passthrough=off"])
    func writersAtTheSameTimeAllWrite(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        let root = try ActingProcess(.root)
        try root.must("create", fixture.path("f"), "0666", "0")
        try root.must("chmod", fixture.path("f"), "0666")
        let writers = try [TestUser.root, .root, .alice, .bob].map { try ActingProcess($0) }
        for writer in writers { try writer.must("hold", "1", fixture.path("f"), String(O_WRONLY), "0") }
        for _ in 0..<20 {
            guard give(fixture.backing + "/f") else { return }
            for (index, writer) in writers.enumerated() { try writer.begin(["pwrite", "1", String(index), "x"]) }
            for writer in writers { #expect(try writer.end().word == "ok") }
            #expect(state(fixture.backing + "/f") == "666 0")
        }
    }
}
