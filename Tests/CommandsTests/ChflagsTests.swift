import Authorization
import Commands
import LinuxSystem
import Testing

@Suite("chflags (docs/reference/authorization.md 6.6)")
struct ChflagsTests {
    let files = FakeFiles()

    @Test("words set and clear, a number replaces")
    func change() {
        files.add("a")
        #expect(files.chflags("uchg,hidden", "a") == (0, "", ""))
        #expect(files.flags("a") == "uchg,hidden")
        #expect(files.chflags("-v", "nouchg,nodump", "a").output == "a\n")
        #expect(files.flags("a") == "nodump,hidden")
        #expect(files.chflags("-vv", "2", "a").output == "a: 0100001 -> 02\n")
        #expect(files.chflags("0", "a").status == 0)
        #expect(files.flags("a") == "-")
    }

    @Test("long options, and -- before or behind the flags")
    func longOptions() {
        files.add("d", .directory)
        files.add("d/f")
        files.add("-R")
        #expect(files.chflags("--recursive", "uchg", "d").status == 0)
        #expect(files.flags("d/f") == "uchg")
        #expect(files.chflags("hidden", "--", "-R").status == 0)
        #expect(files.chflags("--", "nodump", "-R").status == 0)
        #expect(files.flags("-R") == "nodump,hidden")
        #expect(files.chflags("hidden", "--").status == 1)
    }

    @Test("bits without a word stay as they are")
    func unknownBits() {
        files.add("a")
        files.objects["a"]?.attributes["system.aclfs.flags"] = Array("uchg,0x40".utf8)
        #expect(files.chflags("hidden", "a").status == 0)
        #expect(files.flags("a") == "uchg,hidden,0x40")
    }

    @Test("what changes nothing is not even asked")
    func nothing() {
        files.add("a")
        files.objects["a"]?.refuses = .perm
        #expect(files.chflags("nouchg", "a").status == 0)
        #expect(files.chflags("uchg", "a") == (1, "", "aclfs: a: Operation not permitted\n"))
        #expect(files.chflags("-f", "uchg", "a") == (0, "", ""))
    }

    @Test("-x stays on the file system")
    func device() {
        files.add("d", .directory)
        files.add("d/inside")
        files.add("d/mount", .directory, device: 2)
        files.add("d/mount/deep", device: 2)
        #expect(files.chflags("-Rx", "hidden", "d").status == 0)
        #expect(files.changes == ["d", "d/inside"])
    }

    @Test(
        "wrong use",
        arguments: [[], ["uchg"], ["uchgg", "a"], ["-Rh", "uchg", "a"], ["-z", "uchg", "a"], ["9", "a"]])
    func usage(arguments: [String]) {
        #expect(throws: UsageError.self) { try ChflagsArguments.parse(bytes(arguments)) }
    }

    @Test("a wrong word gets the nearest right one; elsewhere the reason is said")
    func messages() {
        files.add("a")
        #expect(files.chflags("uchgg", "a").error.contains("did you mean 'uchg'?"))
        #expect(files.chflags("nonodump", "a").error.contains("'nonodump' is not a flag; did you mean 'dump'?"))
        // Alone it is no option about links.
        #expect(files.chflags("-h").output.hasPrefix(ChflagsArguments.usage + "\n"))
        files.supportsAttributes = false
        #expect(files.chflags("uchg", "a").error == "aclfs: a: not on an aclfs mount\n")
    }
}
