import ACLFormats
import Authorization
import Commands
import Foundation
import LinuxSystem
import TestSupport
import Testing
import ToolSupport

@Suite("chmod's command line (docs/reference/authorization.md 7.5)")
struct ChmodArgumentsTests {
    func parse(_ arguments: String...) throws -> ChmodArguments? { try ChmodArguments.parse(bytes(arguments)) }

    @Test("verbs")
    func verbs() throws {
        let text = Array("bob allow read".utf8)
        let entry = "bob allow read"
        #expect(try parse("+a", entry, "f")?.change == .add(text: text, index: nil, inherited: false))
        #expect(try parse("+ai", entry, "f")?.change == .add(text: text, index: nil, inherited: true))
        #expect(try parse("+a#", "3", entry, "f")?.change == .add(text: text, index: 3, inherited: false))
        #expect(try parse("+ai#", "0x10", entry, "f")?.change == .add(text: text, index: 16, inherited: true))
        #expect(try parse("-a", entry, "f")?.change == .subtract(text: text))
        #expect(try parse("-a#", "010", "f")?.change == .remove(index: 8))
        #expect(try parse("=a#", "128", entry, "f")?.change == .replace(text: text, index: 128))
        #expect(try parse("=a", entry, "f")?.change == .replace(text: text, index: nil))
        #expect(try parse("+aii", entry, "f")?.warnings.count == 1)
        for whole in ChmodArguments.Whole.allCases {
            #expect(try parse("-\(whole.rawValue)", "f")?.change == .whole(whole))
        }
    }

    @Test("options stand before, also several behind one dash")
    func options() throws {
        let parsed = try #require(try parse("-Rfv", "-L", "-v", "+a", "bob allow read", "a", "-b"))
        #expect(parsed.walk.isRecursive && parsed.walk.links == .all && parsed.isQuiet && parsed.verbosity == 2)
        #expect(parsed.paths == bytes(["a", "-b"]))
        #expect(try parse("-RN", "d")?.change == .whole(.removeList))
        #expect(try parse("-h", "-a", "bob allow read", "f")?.walk.actsOnLinks == true)
        #expect(try parse("-L", "-H", "-R", "644", "f")?.walk.links == .named)
        #expect(try parse("--help") == nil)
    }

    @Test("long options, and -- before or behind the change")
    func longOptions() throws {
        let parsed = try #require(try parse("--recursive", "--verbose", "--quiet", "+a", "bob allow read", "--", "-b"))
        #expect(parsed.walk.isRecursive && parsed.verbosity == 1 && parsed.isQuiet)
        #expect(parsed.paths == bytes(["-b"]))
        #expect(try parse("--no-dereference", "-N", "f")?.walk.actsOnLinks == true)
        for change in [["644"], ["+a#", "0", "bob allow read"], ["-a#", "0"], ["-a", "bob allow read"]] {
            #expect(try ChmodArguments.parse(bytes(change + ["--", "-R"]))?.paths == bytes(["-R"]))
            #expect(try ChmodArguments.parse(bytes(change + ["--", "--"]))?.paths == bytes(["--"]))
            #expect(try ChmodArguments.parse(bytes(["--"] + change + ["--"]))?.paths == bytes(["--"]))
        }
        #expect(try parse("-N", "--", "-R")?.paths == bytes(["-R"]))
        #expect(throws: UsageError("unknown option '--recursiv'; did you mean '--recursive'?")) {
            try parse("--recursiv", "644", "f")
        }
    }

    @Test("a mode may begin with a dash")
    func modes() throws {
        for mode in ["-w", "-rwx", "-x", "-u", "-X,g+w", "644", "u+x"] {
            #expect(try parse(mode, "f")?.change == ModeChange(Array(mode.utf8)).map { .mode($0) })
        }
        #expect(try parse("--", "-w", "f")?.change == ModeChange(Array("-w".utf8)).map { .mode($0) })
        #expect(try parse("--", "644", "--")?.paths == bytes(["--"]))
    }

    @Test(
        "wrong use is refused",
        arguments: [
            [], ["644"], ["-R"], ["+a"], ["+a", "bob allow read"], ["+a#", "x", "bob allow read", "f"],
            ["-a#", "129", "f"],
            ["-a#", "-1", "f"], ["-a#", "+1", "f"], ["-a#", "", "f"], ["-a#", "08", "f"], ["-a#", "0x", "f"],
            ["-a#", "1"],
            ["-R", "-h", "644", "f"], ["-E", "-N", "f"], ["-q", "644", "f"], ["--recursiv", "644", "f"], ["--recursive=1", "644", "f"],
            ["+b", "f"],
            ["-ai", "bob allow read", "f"], ["+ax", "bob allow read", "f"], ["rwx", "f"], ["-N"], ["*a", "x", "f"],
            ["+a", "bob allow read", "--"], ["-N", "--"], ["644", "--"],
        ])
    func refusals(arguments: [String]) {
        #expect(throws: UsageError.self) { try ChmodArguments.parse(bytes(arguments)) }
    }
}

@Suite("help (docs/man/aclfs.1)")
struct HelpTextTests {
    let files = FakeFiles()

    @Test("chmod --help has every verb, right, set and flag of an entry")
    func chmod() {
        let help = files.chmod("--help").output
        for name in RightName.all {
            for word in [name.fileWord, name.directoryWord].compactMap(\.self) {
                #expect(help.contains(" \(word) ") || help.contains(" \(word),"), "\(word)")
            }
        }
        for word in RightSet.all.map(\.word) + ACEFlagName.all.map(\.word) { #expect(help.contains("  \(word) "), "\(word)") }
        for verb in ["+a", "+ai", "+a#", "+ai#", "-a", "-a#", "=a#"] + ChmodArguments.Whole.allCases.map({ "-\($0.rawValue)" }) {
            #expect(help.contains("\n  \(verb) "), "\(verb)")
            #expect(
                verb == "-N" ? help.contains("aclfs chmod -RN") : help.contains("aclfs chmod \(verb)") || help.contains("-Cv"), "\(verb)")
        }
        // No right is left without an example.
        for line in help.split(separator: "\n") { #expect(!line.hasSuffix(" "), "\(line)") }
    }

    @Test("chflags --help has the first word of every flag that can be set")
    func chflags() {
        let help = files.chflags("--help").output
        for name in FileFlagName.all where !["restricted", "compressed", "datavault", "dataless"].contains(name.words[0]) {
            #expect(help.contains("  \(name.words[0]) "), "\(name.words[0])")
        }
    }

    @Test("explain --help has every operation")
    func explain() {
        for operation in OperationWord.allCases { #expect(OperationHelp.text.contains("  \(operation.rawValue) ")) }
    }

    @Test("lines are broken at blanks, below the second column")
    func wrapping() {
        func wrapped(_ text: String, _ columns: Int) -> String { TextWidth.wrapped(text, to: columns) }
        #expect(wrapped("one two three", 13) == "one two three")
        #expect(wrapped("one two three", 12) == "one two\n  three")
        #expect(wrapped("one two three", 7) == "one two\nthree")
        #expect(wrapped("  a   one two three four five", 20) == "  a   one two three\n      four five")
        #expect(wrapped("usage: aclfs x [--json] [--bundle ID] PATH", 30) == "usage: aclfs x [--json]\n           [--bundle ID] PATH")
        #expect(wrapped("averyveryverylongword and more", 12) == "averyveryverylongword\n  and more")
        #expect(wrapped("", 10) == "" && wrapped("a\n\nb", 10) == "a\n\nb")
    }
}

@Suite("chmod")
struct ChmodTests {
    let files = FakeFiles()

    @Test("every documented example, as ls shows it afterwards", arguments: try VectorFiles.vectors().textVectors)
    func vectors(vector: TextVector) throws {
        files.add("x", vector.objectType == "dir" ? .directory : .file)
        if let initial = vector.initialEntries { try files.setACL("x", initial.joined(separator: "\n")) }
        let result = files.chmod(vector.arguments + ["x"])
        #expect(result.status == vector.exitStatus, "\(result.error)")
        #expect(result.error.isEmpty == (vector.exitStatus == 0))
        #expect((try files.acl("x") != nil) == (vector.resultLines != nil))
        #expect(files.ls("-led", "x").lines.dropFirst().map(\.self) == vector.resultLines ?? [])
    }

    @Test("a wrong word changes no file and names the right one")
    func wrongWord() throws {
        files.add("a")
        let result = files.chmod("+a", "bob allow raed", "a")
        #expect(result.status == 1)
        #expect(
            result.error
                == "aclfs: chmod: 'bob allow raed': column 11: 'raed' is neither a right nor a flag; did you mean 'read'?\n"
        )
        #expect(files.changes.isEmpty)
    }

    @Test("identities are sent as UUIDs")
    func identities() {
        files.add("a")
        #expect(files.chmod("+a", "bob allow read", "a").status == 0)
        #expect(
            files.objects["a"]?.attributes["system.aclfs.acl"]
                == Array("FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6 allow read\n".utf8))
    }

    @Test("a fatal diagnostic stops, others go on with the next file")
    func stopping() throws {
        for name in ["a", "b"] { files.add(name) }
        try files.setACL("a", "bob allow read")
        try files.setACL("b", "bob allow read\neng allow read")
        #expect(files.chmod("+a#", "2", "carol allow read", "a", "b").status == 1)
        #expect(files.changes.isEmpty)
        #expect(files.chmod("-a#", "1", "a", "b").status == 1)
        #expect(try files.acl("b")?.entries.count == 1)
        #expect(files.chmod("=a#", "1", "carol allow read", "a", "b").status == 1)
        #expect(files.changes == ["b"])
    }

    @Test("-C: 1 if any is canonical, as coded (Q9)")
    func canonical() throws {
        for name in ["good", "bad", "none"] { files.add(name) }
        try files.setACL("good", "bob deny read\nbob allow read")
        try files.setACL("bad", "bob allow read\nbob deny read")
        #expect(files.chmod("-C", "good").status == 1)
        #expect(files.chmod("-C", "bad") == (0, "", ""))
        #expect(files.chmod("-C", "bad", "good").status == 1)
        let none = files.chmod("-C", "none")
        #expect(none.status == 1 && none.error == "aclfs: none: no ACL\n")
        #expect(files.changes.isEmpty)
    }

    @Test("-E replaces everything by what standard input says")
    func fromInput() throws {
        files.add("a")
        try files.setACL("a", "bob allow read")
        #expect(files.chmod("-E", "a", input: "eng allow read\nbob deny write\n").status == 0)
        #expect(try files.acl("a")?.entries.map(\.kind) == [.allow, .deny])
        #expect(files.chmod("-E", "a", input: "\n").status == 0)
        #expect(try files.acl("a") == ACL([]))
        for input in [nil, "", "eng allow raed\n"] { #expect(files.chmod("-E", "a", input: input).status == 1) }
        #expect(try files.acl("a") == ACL([]))
    }

    @Test("-E takes what ls -le prints, also with the object's own line")
    func fromListing() throws {
        for name in ["a", "b"] { files.add(name) }
        try files.setACL("a", "bob deny write\neng allow read,inherited\nmary jones:allow:execute")
        let listing = files.ls("-le", "a").lines
        #expect(listing.count == 4)
        #expect(files.chmod("-E", "b", input: listing.joined(separator: "\n") + "\n").status == 0)
        #expect(try files.acl("b") == files.acl("a"))
        #expect(files.chmod("-E", "b", input: listing.dropFirst(2).joined(separator: "\n")).status == 0)
        #expect(try files.acl("b")?.entries == Array(files.acl("a")?.entries.dropFirst() ?? []))
        #expect(files.chmod("-E", "b", input: listing[0]).status == 0)
        #expect(try files.acl("b") == ACL([]))
        let twice = files.chmod("-E", "b", input: (listing + listing).joined(separator: "\n"))
        #expect(twice.status == 1 && twice.error.contains("line 5, column 1"), "\(twice.error)")
        #expect(try files.acl("b") == ACL([]))
    }

    @Test("sets have the rights of each object's kind, and -a removes all of them")
    func sets() throws {
        files.add("d", .directory, mode: 0o755)
        files.add("d/f")
        #expect(files.chmod("-R", "+a", "bob allow full_control", "d").status == 0)
        #expect(try files.acl("d")?.entries[0].rights.contains(.deleteChild) == true)
        #expect(try files.acl("d/f")?.entries[0].rights.contains(.deleteChild) == false)
        #expect(files.chmod("-E", "d/f", input: "owner@ allow modify_set\n").status == 0)
        #expect(
            files.ls("-le", "d/f").lines[1]
                == " 0: ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000A allow read,write,execute,delete,append,readattr,writeattr,"
                + "readextattr,writeextattr,readsecurity")
        try files.setACL("d/f", "bob allow read,delete_child,chown")
        #expect(files.chmod("-R", "-a", "bob allow full_control", "d").status == 0)
        #expect(try files.acl("d/f")?.entries.isEmpty == true)
        #expect(try files.acl("d")?.entries.isEmpty == true)
    }

    @Test("-N removes, and having none is no error")
    func remove() throws {
        files.add("a")
        try files.setACL("a", "bob allow read")
        #expect(files.chmod("-N", "a") == (0, "", ""))
        #expect(try files.acl("a") == nil)
        #expect(files.chmod("-N", "a").status == 0)
    }

    @Test("=a without a position only where there is nothing to replace")
    func replaceWithoutPosition() throws {
        files.add("a")
        #expect(files.chmod("=a", "bob allow read", "a").status == 0)
        #expect(files.chmod("=a", "eng allow read", "a").status == 1)
        #expect(files.chmod("=a#", "0", "bob allow read\neng allow read", "a").status == 1)
        #expect(try files.acl("a")?.entries.map(\.guid) == [GUID(user: 502)])
    }

    @Test("-f silences what the system refuses, status included, and nothing else")
    func quiet() throws {
        files.add("a")
        files.objects["a"]?.refuses = .perm
        #expect(files.chmod("644", "a") == (1, "", "aclfs: a: Operation not permitted\n"))
        #expect(files.chmod("-f", "644", "a") == (0, "", ""))
        #expect(files.chmod("-f", "+a", "bob allow read", "a") == (0, "", ""))
        #expect(files.chmod("-f", "-a", "bob allow read", "a").status == 1)
        #expect(files.chmod("-f", "+a", "nobodyknows allow read", "a").status == 1)
    }

    @Test("a refusal names the rule of the mount, where there is one")
    func rules() throws {
        files.add("a")
        files.rules["a"] = "the rule"
        files.objects["a"]?.refuses = .perm
        #expect(files.chmod("644", "a").error == "aclfs: a: Operation not permitted: chmod: the rule\n")
        #expect(files.chmod("+a", "bob allow read", "a").error == "aclfs: a: Operation not permitted: setacl: the rule\n")
        #expect(files.chmod("-N", "a").error == "aclfs: a: Operation not permitted: setacl: the rule\n")
        #expect(files.chflags("uchg", "a").error == "aclfs: a: Operation not permitted: chflags: the rule\n")
        #expect(files.chmod("-f", "644", "a") == (0, "", ""))
        // Another error has no rule.
        files.objects["a"]?.refuses = .rofs
        #expect(files.chmod("644", "a").error == "aclfs: a: Read-only file system\n")
    }

    /// The owner may always change the list, and may be denied readattr.
    @Test("-N needs no stat of an operand, everything else does")
    func removingWithoutStat() throws {
        for path in ["a", "d"] {
            files.add(path, path == "d" ? .directory : .file)
            try files.setACL(path, "everyone deny readattr")
            files.objects[path]?.refusesStatus = .acces
        }
        for change in [["600"], ["+a", "bob allow read"], ["-I"], ["-a#", "0"]] {
            #expect(files.chmod(change + ["a"]).error == "aclfs: a: Permission denied\n")
        }
        #expect(files.chmod("-RN", "d").error == "aclfs: d: Permission denied\n")
        #expect(files.chmod("-Nv", "a", "d") == (0, "a\nd\n", ""))
        #expect(try files.acl("a") == nil && files.acl("d") == nil)
        // Another error than a refusal is one.
        files.objects["a"]?.refusesStatus = .io
        #expect(files.chmod("-N", "a").status == 1)
    }

    @Test("elsewhere than on aclfs the reason is said")
    func elsewhere() {
        files.add("a")
        files.supportsAttributes = false
        #expect(
            files.chmod("+a", "bob allow read", "a").error
                == "aclfs: a: not on an aclfs mount, or ACLs are disabled there\n")
        #expect(files.chmod("600", "a").status == 0)
    }

    @Test("-R visits a directory before its contents and passes links over")
    func recursive() {
        files.add("d", .directory, mode: 0o755)
        files.add("d/b")
        files.add("d/a", .directory, mode: 0o755)
        files.add("d/a/x")
        files.add("d/link", .symlink, target: "other")
        files.add("other")
        #expect(files.chmod("-R", "go-rwx", "d").status == 0)
        #expect(files.changes == ["d", "d/a", "d/a/x", "d/b"])
        #expect(files.chmod("-RLv", "u=rwX", "d").output == "d\nd/a\nd/a/x\nd/b\nd/link\n")
        #expect(files.changes.last == "other")
    }

    @Test("links among the operands: followed, unless -h or -R without -H")
    func operands() {
        files.add("f")
        files.add("l", .symlink, mode: 0o777, target: "f")
        files.add("dangling", .symlink, target: "nowhere")
        #expect(files.chmod("600", "l").status == 0)
        #expect(files.chmod("-h", "+a", "bob allow read", "l").status == 0)
        #expect(files.chmod("-R", "600", "l").status == 0)
        #expect(files.chmod("-RH", "600", "l").status == 0)
        #expect(files.changes == ["f", "l", "f"])
        #expect(files.chmod("600", "dangling").status == 1)
    }

    @Test("a circle of followed links ends")
    func circle() {
        files.add("d", .directory, mode: 0o755)
        files.add("d/up", .symlink, target: "d")
        let result = files.chmod("-RL", "700", "d")
        #expect(result.status == 1 && result.error == "aclfs: d/up: Too many levels of symbolic links\n")
        #expect(files.changes == ["d"])
    }

    @Test("what others do to the list meanwhile stays, and an end comes if they never stop")
    func others() throws {
        files.add("f")
        var left = 3
        files.meanwhile = { files in
            left -= 1
            if left >= 0 { try? files.setACL("f", "user:\(["alice", "root", "admin"][left]) deny write", "user:carol allow read") }
        }
        #expect(files.chmod("+a", "user:bob allow read", "f") == (0, "", ""))
        #expect(try files.acl("f")?.entries.count == 3)
        files.objects["f"]?.attributes["system.aclfs.acl"] = nil
        var number = 0
        files.meanwhile = { files in
            number += 1
            try? files.setACL("f", "user:\(["alice", "root", "admin"][number % 3]) allow read")
        }
        let result = files.chmod("+a", "user:bob allow read", "f")
        #expect(result.status == 1 && result.error.contains("other programs keep changing it: gave up after 300 tries"))
        #expect(try files.acl("f")?.entries.count == 1)
        files.meanwhile = { try? $0.setACL("f", "user:carol allow read") }
        files.objects["f"]?.attributes["system.aclfs.acl"] = nil
        #expect(files.chmod("=a", "user:bob allow read", "f").error.contains("there is an ACL"))
    }

    @Test("an earlier daemon takes a list as it is")
    func earlierDaemon() throws {
        files.add("f")
        files.knowsExchange = false
        #expect(files.chmod("+a", "bob allow read", "f") == (0, "", ""))
        #expect(files.chmod("+a", "carol deny read", "f") == (0, "", ""))
        #expect(files.chflags("hidden", "f") == (0, "", ""))
        #expect(try files.acl("f")?.entries.count == 2 && files.flags("f") == "hidden")
    }

    @Test("-vv shows both modes; hostile names are shown safely")
    func verbose() {
        files.add("a\u{1B}[2J")
        #expect(
            files.chmod("-vv", "u+x", "a\u{1B}[2J").output == "a\\x1b[2J: 00644 [-rw-r--r--] -> 00744 [-rwxr--r--]\n")
        #expect(files.chmod("644", "b\u{7}").error == "aclfs: b\\x07: No such file or directory\n")
    }
}
