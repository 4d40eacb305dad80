import ACLFormats
import Authorization
import Commands
import Identity
import LinuxSystem
import Testing

/// `aclfs owner` (docs/reference/identity.md "Owners").
@Suite struct OwnerTests {
    private struct Accounts: AccountSource {
        var fails = false
        func user(named name: String) throws(Errno) -> AccountDatabase.User? {
            if fails { throw .timedout }
            return ExampleNames.users.first { $0.0 == name }.map { .init(name: $0.0, uid: $0.1, gid: 20) }
        }
        func user(uid: UInt32) throws(Errno) -> AccountDatabase.User? {
            ExampleNames.users.first { $0.1 == uid }.map { .init(name: $0.0, uid: uid, gid: 20) }
        }
        func group(named name: String) throws(Errno) -> AccountDatabase.Group? {
            ExampleNames.groups.first { $0.0 == name }.map { .init(name: $0.0, gid: $0.1) }
        }
        func group(gid: UInt32) throws(Errno) -> AccountDatabase.Group? {
            ExampleNames.groups.first { $0.1 == gid }.map { .init(name: $0.0, gid: gid) }
        }
        func groups(ofUser uid: UInt32) throws(Errno) -> [UInt32] { [] }
    }

    private let files = FakeFiles()
    private let imported = "01020304-0506-0708-090A-0B0C0D0E0F10"

    private func owner(_ arguments: String..., fails: Bool = false) -> (status: Int32, output: String, error: String) {
        let captured = Captured()
        let status = runOwner(arguments: bytes(arguments), sink: captured.sink, files: files, accounts: Accounts(fails: fails))
        return (status, captured.output, captured.error)
    }

    private func stored(_ path: String) -> String? {
        files.objects[path]?.attributes["system.aclfs.owner"].map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func anOwnerIsSetByNameNumberAndUUID() {
        for path in ["a", "b"] { files.add(path) }
        for (words, identity) in [
            (["--user", "alice"], GUID(user: 501)), (["--user=1500"], GUID(user: 1500)), (["--group", "staff"], GUID(group: 20)),
            (["--group=12"], GUID(group: 12)),
        ] {
            let captured = Captured()
            #expect(runOwner(arguments: bytes(words + ["a", "b"]), sink: captured.sink, files: files, accounts: Accounts()) == 0)
            #expect(captured.output == "" && captured.error == "")
            #expect(stored("a") == identity.uuidText && stored("b") == identity.uuidText)
        }
        #expect(owner("--uuid", imported.lowercased(), "a").status == 0)
        #expect(stored("a") == imported)
    }

    @Test func itIsShownWithItsKind() {
        for (path, identity) in [("u", GUID(user: 501).uuidText), ("g", GUID(group: 30).uuidText), ("x", imported)] {
            files.add(path)
            files.objects[path]?.attributes["system.aclfs.owner"] = Array(identity.utf8)
        }
        #expect(owner("u", "g", "x").output == "user:alice  u\ngroup:eng  g\n\(imported)  x\n")
        let json = owner("--json", "g", "x").output
        #expect(
            json == """
                [{"path":"g","uuid":"\(GUID(group: 30).uuidText)","group":30,"account":"eng"},{"path":"x","uuid":"\(imported)"}]

                """)
    }

    @Test func whatTheSystemRefusesIsSaidForEachPath() {
        files.add("a")
        files.add("b")
        files.objects["a"]?.refuses = .perm
        files.rules["a"] = "no_bsd_equivalent"
        let result = owner("--group", "staff", "a", "b", "missing")
        #expect(result.status == 1 && stored("b") == GUID(group: 20).uuidText)
        #expect(
            result.error == """
                aclfs: a: Operation not permitted: chown: no_bsd_equivalent
                aclfs: missing: No such file or directory

                """)
        files.supportsAttributes = false
        #expect(owner("a") == (1, "", "aclfs: a: not on an aclfs mount\n"))
    }

    @Test(arguments: [
        (["--user", "alice"], "no path is given"), (["--user", "nosuch", "a"], "no user 'nosuch'"),
        (["--group", "alice", "a"], "no group 'alice'"),
        (["--group", "everyone", "a"], "everyone is not a group that can own"), (["--uuid", "alice", "a"], "'alice' is not a UUID"),
        (["--uuid", "ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000A", "a"], "stands for no single user or group"),
        (["--uuid", "FFFFEEEE-DDDD-CCCC-BBBB-AAAAFFFFFFFF", "a"], "stands for neither a user nor a group"),
        (["--user", "alice", "--group", "staff", "a"], "give only one of --user, --group and --uuid"), (["--user"], "--user needs a value"),
        (["--user=", "a"], "--user needs a value"), (["--usr", "alice", "a"], "did you mean '--user'?"),
        (["--json", "--user", "alice", "a"], "--json shows owners and changes none"), ([], "no path is given"),
    ])
    func wrongUseChangesNothing(_ words: [String], _ message: String) {
        files.add("a")
        let captured = Captured()
        #expect(runOwner(arguments: bytes(words), sink: captured.sink, files: files, accounts: Accounts()) == 2)
        #expect(captured.error.contains(message), "\(captured.error)")
        #expect(files.changes.isEmpty)
    }

    @Test func aDatabaseThatDoesNotAnswerIsNoMissingUser() {
        files.add("a")
        let result = owner("--user", "alice", "a", fails: true)
        #expect(result.status == 2 && result.error.contains("the account databases do not answer") && files.changes.isEmpty)
    }

    /// A link's own owner only with -h.
    @Test func links() {
        files.add("a")
        files.add("l", .symlink, target: "a")
        #expect(owner("--user", "bob", "l").status == 0)
        #expect(stored("a") == GUID(user: 502).uuidText && stored("l") == nil)
        #expect(owner("-h", "--user", "alice", "--", "l").status == 0)
        #expect(stored("l") == GUID(user: 501).uuidText)
        #expect(owner("-h").output.hasPrefix("usage: aclfs owner [-h] [--user USER"))
    }
}
