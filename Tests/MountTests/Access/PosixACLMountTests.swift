import Glibc
import TestSupport
import Testing

/// POSIX ACLs that objects of the backing directory carry by themselves are what is asked in place of the mode's group bits
/// (docs/reference/authorization.md Q22).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct PosixACLMountTests {
    private let fixture: MountFixture
    /// A directory that the file system alone judges.
    private let native: String

    init() throws {
        fixture = try MountFixture(options: nil)
        native = fixture.top + "/native"
        mkdir(native, 0o755)
    }

    private func setfacl(_ arguments: String...) throws {
        let result = try Spawn.run(["setfacl"] + arguments)
        guard result.status == 0 else { throw FixtureError("setfacl \(arguments): \(result)") }
    }

    /// The same object in the backing directory and in the native one.
    private func make(_ name: String, _ mode: mode_t, isDirectory: Bool = false, acl: String) throws {
        for top in [fixture.backing, native] {
            let path = "\(top)/\(name)"
            if isDirectory { mkdir(path, 0o700) } else { close(open(path, O_CREAT | O_WRONLY, 0o600)) }
            chmod(path, mode)
            chown(path, 501, 20)
            try setfacl("-m", acl, path)
        }
    }

    private static let users = [
        TestUser.alice, .bob, .carol, TestUser(uid: 504, gid: 21, groups: [21]), TestUser(uid: 505, gid: 21, groups: [21, 601]),
        TestUser(uid: 506, gid: 20, groups: [20, 600, 601]), .root,
    ]

    /// alice owns, 20 is the group of bob, carol and 506.
    private static let lists: [(mode: mode_t, acl: String)] = [
        (0o600, "u:503:rw"), (0o640, "u:503:---"), (0o604, "u:503:r,g:601:---"), (0o660, "g::---,g:601:rw"),
        (0o644, "u:502:rw,m::r"), (0o600, "g::rw,g:600:r,g:601:w"), (0o666, "g::---"), (0o604, "g::---,u:504:rw"),
    ]

    @Test func decidesAsTheFileSystemItselfDoes() throws {
        for (index, list) in Self.lists.enumerated() { try make("f\(index)", list.mode, acl: list.acl) }
        try fixture.mount()
        for user in Self.users {
            let process = try ActingProcess(user)
            for (index, list) in Self.lists.enumerated() {
                for flags in [O_RDONLY, O_WRONLY, O_RDWR] {
                    let expected = try process.call("open", "\(native)/f\(index)", String(flags))
                    let answer = try process.call("open", fixture.path("f\(index)"), String(flags))
                    #expect(answer == expected, "uid \(user.uid): \(list) opened with \(flags)")
                }
                let expected = try process.call("access", "\(native)/f\(index)", String(R_OK), "0")
                #expect(try process.call("access", fixture.path("f\(index)"), String(R_OK), "0") == expected, "\(user.uid): \(list)")
            }
        }
    }

    /// `chgrp staff pay; chmod 600 pay; setfacl -m u:carol:rw pay`, and what explain says of it.
    @Test func theMaskGivesTheGroupNothing() throws {
        try make("pay", 0o600, acl: "u:503:rw")
        let mounted = try fixture.mount()
        #expect(mounted.output.contains("1 object at its top has a POSIX ACL"), "\(mounted)")
        let path = fixture.path("pay")
        let (bob, carol) = (try ActingProcess(.bob), try ActingProcess(.carol))
        #expect(try bob.call("open", path, String(O_RDONLY)).word == "EACCES")
        #expect(try bob.call("truncate", path, "0").word == "EACCES")
        #expect(try carol.call("open", path, String(O_RDWR)).word == "ok")
        let aclfs = MountTesting.program("aclfs")
        let group = try Spawn.run([aclfs, "explain", "--as", "502", "open-read", path])
        #expect(group.output.contains("posix:group:object"), "\(group)")
        #expect(group.output.contains("POSIX ACL group::---, mask rw-"), "\(group)")
        let named = try Spawn.run([aclfs, "explain", "--as", "503", "open-write", path])
        #expect(named.output.contains("POSIX ACL user:503:rw-, mask rw-"), "\(named)")
    }

    /// chmod(2) sets the mask; the list's own entries stay.
    @Test func chmodMovesTheMask() throws {
        try make("pay", 0o600, acl: "u:503:rw")
        try fixture.mount()
        let path = fixture.path("pay")
        let (alice, bob, carol) = (try ActingProcess(.alice), try ActingProcess(.bob), try ActingProcess(.carol))
        #expect(try carol.call("open", path, String(O_RDWR)).word == "ok")
        for (mode, carols) in [("0600", ["EACCES", "EACCES"]), ("0640", ["ok", "EACCES"]), ("0660", ["ok", "ok"])] {
            try alice.must("chmod", path, mode)
            #expect(try carol.call("open", path, String(O_RDONLY)).word == carols[0], "\(mode)")
            #expect(try carol.call("open", path, String(O_WRONLY)).word == carols[1], "\(mode)")
            #expect(try bob.call("open", path, String(O_RDONLY)).word == "EACCES", "\(mode)")
        }
    }

    /// What the kernel keeps of a directory that one of them may not search is no answer to all.
    @Test(arguments: ["cache=auto", "cache=strict", "passthrough=off,cache=exclusive"])
    func namesBelowAreNotEverybodys(_ options: String) throws {
        try make("closed", 0o755, isDirectory: true, acl: "u:503:---")
        try make("group", 0o755, isDirectory: true, acl: "g::---,m::rwx")
        for top in [fixture.backing, native] {
            for name in ["closed", "group"] { close(open("\(top)/\(name)/f", O_CREAT | O_WRONLY, 0o644)) }
        }
        try fixture.mount(options)
        // Each warms the cache for the next.
        for user in Self.users + Self.users.reversed() {
            let process = try ActingProcess(user)
            for name in ["closed", "group"] {
                let expected = try process.call("stat", "\(native)/\(name)/f").word
                #expect(try process.call("stat", fixture.path("\(name)/f")).word == expected, "\(user.uid): \(name)")
                #expect(
                    try process.call("list", fixture.path(name)).word == process.call("list", "\(native)/\(name)").word,
                    "\(user.uid): \(name)")
            }
        }
    }

    /// A default ACL of a backing directory gives its entries to what is made below; the mode is what was asked for.
    @Test func newObjectsGetWhatADefaultListGives() throws {
        mkdir(fixture.backing + "/in", 0o777)
        chmod(fixture.backing + "/in", 0o777)
        chown(fixture.backing + "/in", 501, 20)
        try setfacl("-d", "-m", "u:503:rwx,g::---,m::rwx,o::---", fixture.backing + "/in")
        let mounted = try fixture.mount()
        #expect(mounted.output.contains("1 object at its top has a POSIX ACL"), "\(mounted)")
        let (alice, bob, carol) = (try ActingProcess(.alice), try ActingProcess(.bob), try ActingProcess(.carol))
        try alice.must("create", fixture.path("in/f"), "0660", "0")
        try alice.must("mkdir", fixture.path("in/d"), "0770", "0")
        try alice.must("mkfifo", fixture.path("in/p"), "0660", "0")
        for name in ["f", "d", "p"] {
            var status = stat()
            #expect(lstat(fixture.backing + "/in/" + name, &status) == 0)
            #expect(status.st_mode & 0o7777 == (name == "d" ? 0o770 : 0o660), "\(name)")
        }
        #expect(try bob.call("open", fixture.path("in/f"), String(O_RDONLY)).word == "EACCES")
        #expect(try carol.call("open", fixture.path("in/f"), String(O_RDWR)).word == "ok")
        #expect(try bob.call("list", fixture.path("in/d")).word == "EACCES")
        #expect(try carol.call("create", fixture.path("in/d/g"), "0600", "0").word == "ok")
        // The new directory gives it on.
        try alice.must("create", fixture.path("in/d/h"), "0660", "0")
        #expect(try bob.call("open", fixture.path("in/d/h"), String(O_RDONLY)).word == "EACCES")
        #expect(try carol.call("open", fixture.path("in/d/h"), String(O_RDWR)).word == "ok")
        // The gate asks the same.
        #expect(try bob.call("stat", fixture.path("in/p")).word == "EACCES")
        #expect(try carol.call("stat", fixture.path("in/p")).word == "ok")
    }

    /// Whether a directory gives one is kept, and asked again when it was changed on the backing directory.
    @Test func aDefaultListThatComesLaterCounts() throws {
        try fixture.mount("cache=strict")
        let (root, alice, bob, carol) = (
            try ActingProcess(.root), try ActingProcess(.alice), try ActingProcess(.bob), try ActingProcess(.carol)
        )
        try root.must("mkdir", fixture.path("in"), "0777", "0")
        try root.must("chown", fixture.path("in"), "-1", "20")
        try alice.must("mkdir", fixture.path("in/d"), "0770", "0")
        for (name, list) in [("a", ""), ("b", "u:503:rwx,g::---,m::rwx,o::---"), ("c", "")] {
            for directory in ["in", "in/d"] {
                let place = fixture.backing + "/" + directory
                if list.isEmpty { try setfacl("-k", place) } else { try setfacl("-d", "-m", list, place) }
                let path = fixture.path("\(directory)/\(name)")
                try alice.must("create", path, "0660", "0")
                try alice.must("create", path + "2", "0600", "0")
                try alice.must("chmod", path + "2", "0660")
                for path in [path, path + "2"] {
                    #expect(try bob.call("open", path, String(O_RDONLY)).word == (list.isEmpty ? "ok" : "EACCES"), "\(path)")
                    #expect(try carol.call("open", path, String(O_RDWR)).word == "ok", "\(path)")
                }
            }
        }
    }

    /// What is changed on the backing directory counts at the next request.
    @Test func aListThatIsRemovedCountsNoMore() throws {
        try make("pay", 0o600, acl: "u:503:rw")
        try fixture.mount("cache=strict")
        let (bob, carol) = (try ActingProcess(.bob), try ActingProcess(.carol))
        #expect(try carol.call("open", fixture.path("pay"), String(O_RDONLY)).word == "ok")
        try setfacl("-b", fixture.backing + "/pay")
        #expect(try carol.call("open", fixture.path("pay"), String(O_RDONLY)).word == "EACCES")
        try setfacl("-m", "u:502:r", fixture.backing + "/pay")
        #expect(try bob.call("open", fixture.path("pay"), String(O_RDONLY)).word == "ok")
    }
}
