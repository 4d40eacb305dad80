import ACLFormats
import Authorization
import Commands
import LinuxSystem
import Testing

@Suite("ls (docs/reference/authorization.md 7.2)")
struct LsTests {
    let files = FakeFiles()

    @Test("the mark behind the mode: attributes, entries, nothing")
    func marks() throws {
        for name in ["none", "empty", "entries", "attribute", "both"] { files.add(name) }
        try files.setACL("entries", "bob allow read")
        try files.setACL("both", "bob allow read")
        files.objects["empty"]?.attributes["system.aclfs.acl"] = []
        files.objects["attribute"]?.attributes["user.note"] = [1, 2]
        files.objects["both"]?.attributes["user.note"] = [1]
        files.objects["none"]?.attributes["security.selinux"] = [1]
        #expect(
            files.ls("-l", "none", "empty", "entries", "attribute", "both").lines.map { String($0.prefix(11)) } == [
                "-rw-r--r--@", "-rw-r--r--@", "-rw-r--r-- ", "-rw-r--r--+", "-rw-r--r-- ",
            ])
        #expect(
            files.ls("-l@", "attribute").lines == [
                "-rw-r--r--@ 1 alice  staff  5 Jan  1 00:00 attribute", "\tuser.note\t2 ",
            ])
    }

    @Test("the long form in columns")
    func columns() throws {
        files.add("d", .directory, mode: 0o1777)
        files.add("d/a")
        files.add("d/long", mode: 0o4755)
        files.objects["d/long"]?.status.uid = 7777
        files.objects["d/long"]?.status.size = 12345
        files.objects["d/long"]?.status.modified.sec = 900_000_000
        files.objects["d/a"]?.attributes["system.aclfs.flags"] = Array("uchg,hidden".utf8)
        files.add("d/l", .symlink, mode: 0o777, target: "a")
        try files.setACL("d/a", "bob allow read,file_inherit\neng deny write,inherited")
        #expect(
            files.ls("-leO", "d").lines == [
                "total 0", "-rw-r--r--+ 1 alice  staff  uchg,hidden     5 Jan  1 00:00 a", " 0: user:bob allow read",
                " 1: group:eng inherited deny write",
                "lrwxrwxrwx  1 alice  staff  -               5 Jan  1 00:00 l -> a",
                "-rwsr-xr-x  1 7777   staff  -           12345 Jul  9  1998 long",
            ])
        #expect(files.ls("-ldn", "d").lines == ["drwxrwxrwt  1 501  20  5 Jan  1 00:00 d"])
        #expect(files.ls("-lne", "d/a").lines[1] == " 0: FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6 allow read")
    }

    @Test("names are sorted by their bytes and shown safely; dots only when asked for")
    func names() {
        files.add("d", .directory)
        for name in ["b", "B", "a\n", ".h", "\u{E9}"] { files.add("d/\(name)") }
        #expect(files.ls("d").lines == ["B", "a\\x0a", "b", "\u{E9}"])
        #expect(files.ls("-a", "d").lines == [".", "..", ".h", "B", "a\\x0a", "b", "\u{E9}"])
        #expect(files.ls("-A", "d").lines.first == ".h")
        #expect(files.ls("-d", "d").lines == ["d"])
    }

    @Test("-t, -S and -r order names, also those that -R descends to")
    func orders() {
        files.add("d", .directory)
        for (name, size, time) in [("a", 10, 30), ("b", 30, 10), ("c", 20, 20), ("same", 20, 20)] {
            files.add("d/\(name)", .directory)
            files.objects["d/\(name)"]?.status.size = UInt64(size)
            files.objects["d/\(name)"]?.status.modified.sec = Int64(time)
        }
        files.objects["d/c"]?.status.modified.nsec = 1
        #expect(files.ls("-t", "d").lines == ["a", "c", "same", "b"])
        #expect(files.ls("-S", "d").lines == ["b", "c", "same", "a"])
        #expect(files.ls("-St", "d").lines == ["a", "c", "same", "b"])
        #expect(files.ls("-tr", "d").lines == ["b", "same", "c", "a"])
        #expect(files.ls("--reverse", "d").lines == ["same", "c", "b", "a"])
        #expect(files.ls("-dt", "d/b", "d/a").lines == ["d/a", "d/b"])
        #expect(files.ls("-t", "d/b", "d/a").lines == ["d/a:", "", "d/b:"])
        #expect(files.ls("-tR", "d").lines.filter { $0.hasSuffix(":") } == ["d:", "d/a:", "d/c:", "d/same:", "d/b:"])
    }

    @Test(
        "-h shows sizes with a unit",
        arguments: [
            (0, "0B"), (999, "999B"), (1000, "1.0K"), (1024, "1.0K"), (1536, "1.5K"), (10_188, "9.9K"), (10_189, "10K"), (102_400, "100K"),
            (1_023_487, "999K"), (1_023_488, "1.0M"), (1 << 30, "1.0G"), (UInt64.max, "16E"),
        ])
    func human(size: UInt64, shown: String) {
        files.add("f")
        files.objects["f"]?.status.size = size
        #expect(files.ls("-lh", "f").lines == ["-rw-r--r--  1 alice  staff  \(shown) Jan  1 00:00 f"])
        #expect(files.ls("-l", "--human-readable", "f").lines == files.ls("-lh", "f").lines)
        #expect(files.ls("-h", "f").lines == ["f"])
    }

    @Test("files first, then each directory under its name, -R below")
    func several() {
        files.add("d", .directory)
        files.add("d/e", .directory)
        files.add("d/e/x")
        files.add("f")
        #expect(files.ls("f", "d").lines == ["f", "", "d:", "e"])
        #expect(files.ls("-R", "d").lines == ["d:", "e", "", "d/e:", "x"])
    }

    @Test("what is missing is said and the rest shown; other file systems are welcome")
    func failures() {
        files.add("f")
        files.supportsAttributes = false
        let result = files.ls("-leO", "f", "gone")
        #expect(result.status == 1 && result.error == "aclfs: gone: No such file or directory\n")
        #expect(result.lines == ["-rw-r--r--  1 alice  staff  - 5 Jan  1 00:00 f"])
        #expect(files.ls("-q").status == 1)
    }
}

@Suite("the real file tree")
struct LinuxFilesTests {
    @Test("modes, names and links of real objects, and the reason why there is no ACL")
    func real() throws {
        let captured = Captured()
        #expect(runLs(arguments: bytes(["-ld", "/", "/dev/null"]), sink: captured.sink) == 0)
        #expect(captured.lines.count == 2 && captured.lines[0].hasPrefix("drwx"))
        #expect(runChmod(arguments: bytes(["+a", "everyone allow read", "/proc"]), sink: captured.sink) == 1)
        #expect(captured.error == "aclfs: /proc: not on an aclfs mount, or ACLs are disabled there\n")
        #expect(SystemNames().identity(named: "root", kind: .user) != nil)
        #expect(SystemNames().identity(named: "no such user", kind: nil) == nil)
    }
}
