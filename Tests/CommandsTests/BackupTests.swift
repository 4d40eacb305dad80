import ACLFormats
import Authorization
import Commands
import LinuxSystem
import Testing
import ToolSupport

extension FakeFiles: BackupFiles {
    func stored(_ name: String, of node: String) throws(Errno) -> [UInt8]? { try attribute(name, of: node) }
    func absolutePath(of node: String) throws(Errno) -> [UInt8] { Array(node.utf8) }
    var openLevels: Int { 2 }
    func listing(of directory: String, from position: Int64) throws(Errno) -> FakeListing {
        if let errno = objects[directory]?.refuses { throw errno }
        return FakeListing(
            try names(in: directory).sorted { $0.lexicographicallyPrecedes($1) }, from: position, { self.openListings += $0 })
    }

    func backup(_ arguments: String..., isTerminal: Bool = false) -> (status: Int32, output: String, error: String) {
        let captured = Captured()
        let status = runBackup(
            arguments: bytes(arguments), sink: captured.sink, files: self, workingDirectory: Array("/here".utf8),
            isTerminal: isTerminal)
        return (status, captured.output, captured.error)
    }
}

final class FakeListing: NameListing {
    private let names: [[UInt8]]
    private let count: (Int) -> Void
    private(set) var position: Int64

    init(_ names: [[UInt8]], from position: Int64, _ count: @escaping (Int) -> Void) {
        (self.names, self.position, self.count) = (names, position, count)
        count(1)
    }
    deinit { count(-1) }

    func next() -> [UInt8]? {
        guard position < names.count else { return nil }
        position += 1
        return names[Int(position) - 1]
    }
}

@Suite("aclfs backup")
struct BackupTests {
    let files = FakeFiles()

    @Test("excluding sets two keys, of which either is enough")
    func exclude() {
        files.add("a")
        #expect(files.backup("exclude", "a") == (0, "", ""))
        let attributes = files.objects["a"]?.attributes ?? [:]
        #expect(attributes["com.apple.metadata:com_apple_backup_excludeItem"] == BackupMark.excludeItem.value)
        #expect(attributes["user.xdg.robots.backup"] == Array("false".utf8))
    }

    @Test("what is excluded by the flag is left as it is")
    func alreadyExcluded() {
        files.add("a")
        files.objects["a"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        // Derived by the mount.
        files.objects["a"]?.attributes[BackupMark.excludeItem.plainName] = BackupMark.excludeItem.value
        files.objects["a"]?.refuses = .perm
        #expect(files.backup("exclude", "a").status == 0)
        #expect(files.backup("include", "a") == (1, "", "aclfs: a: Operation not permitted\n"))
    }

    @Test("what only its place excludes gets a mark to take along")
    func excludedByPlace() {
        files.add("cache")
        files.objects["cache"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        #expect(files.backup("status", "cache").output.contains("excluded by the layout of its container"))
        #expect(files.backup("status", "--json", "cache").output.contains(#""itself":false,"parents":[],"layout":true"#))
        #expect(files.backup("exclude", "cache") == (0, "", ""))
        #expect(files.objects["cache"]?.attributes[BackupMark.excludeItem.plainName] == BackupMark.excludeItem.value)
        #expect(files.backup("status", "cache").output.contains("excluded itself"))
        // Where that is refused, the flag that is shown already is no way.
        files.add("closed")
        files.objects["closed"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        files.objects["closed"]?.refuses = .acces
        #expect(files.backup("exclude", "closed") == (1, "", "aclfs: closed: Permission denied\n"))
    }

    /// `c` is a container with tmp and Documents.
    private func makeContainer() {
        for name in ["c", "c/tmp", "c/Documents"] { files.add(name, .directory) }
        for name in ["c/tmp/f", "c/Documents/f"] { files.add(name) }
    }

    @Test("a layout is declared for directories, and status names the one that excludes")
    func layout() {
        makeContainer()
        #expect(files.backup("layout", "ios", "c") == (0, "", ""))
        #expect(files.objects["c"]?.attributes["user.backup.layout"] == Array("ios".utf8))
        #expect(files.backup("status", "c").output == "[Included]    c\n    declares the layout ios for what is below it\n")
        // The mount says that it is excluded, and has no key.
        files.objects["c/tmp/f"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        #expect(files.backup("status", "c/tmp/f").output.hasPrefix("[Excluded]    c/tmp/f\n    excluded by the layout ios of c\n"))
        #expect(
            files.backup("status", "--json", "c/tmp/f").output.contains(
                #""layout":true,"layout_name":"ios","layout_directory":"c","honoured"#))
        #expect(files.backup("include", "c/tmp/f").error == "aclfs: c/tmp/f: still excluded by the layout ios of c\n")
        #expect(files.backup("layout", "container", "c/tmp/f") == (1, "", "aclfs: c/tmp/f: Not a directory\n"))
        #expect(files.backup("layout", "none", "c") == (0, "", ""))
        #expect(files.objects["c"]?.attributes["user.backup.layout"] == nil)
        #expect(files.backup("status", "c/tmp/f").output.contains("excluded by the layout of its container"))
    }

    @Test("offline, records, keys and layouts are read from the store")
    func offline() throws {
        makeContainer()
        for name in ["d", "d/flag", "d/key", "d/plain"] { files.add(name, name == "d" ? .directory : .file) }
        #expect(files.backup("layout", "container", "c").status == 0)
        files.objects["d/flag"]?.attributes["trusted.aclfs"] = try MetadataRecord(flags: [.noDump]).encoded()
        files.objects["d/plain"]?.attributes["trusted.aclfs"] = try MetadataRecord(flags: [.hidden]).encoded()
        files.objects["d/plain"]?.attributes["user.xdg.robots.backup"] = Array("true".utf8)
        files.objects["d/key"]?.attributes["user.com.apple.MobileBackup"] = [1]
        #expect(files.backup("list", "--offline", "d") == (0, "d/flag\nd/key\n", ""))
        #expect(files.backup("list", "--offline", "c") == (0, "c/tmp\n", ""))
        #expect(files.backup("list", "--offline", "c/tmp/f") == (0, "c/tmp/f\n", ""))
        #expect(files.backup("status", "--offline", "c/tmp/f").output.contains("excluded by its parent c/tmp\n"))
        // Of the mount only the flag counts, which the store has under another name.
        #expect(files.backup("list", "d") == (0, "", ""))
        files.objects["d/flag"]?.attributes["trusted.aclfs"] = [1, 2, 3]
        let damaged = files.backup("list", "--offline", "d")
        #expect(
            damaged.status == 1 && damaged.output == "d/key\n"
                && damaged.error.contains("d/flag: unexpected answer of the file system: the record"))
    }

    @Test("of what no program can ask for its mark, only lists leave it out")
    func symlink() {
        files.add("l", .symlink, target: "a")
        files.objects["l"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        files.objects["l"]?.attributes[BackupMark.excludeItem.plainName] = BackupMark.excludeItem.value
        #expect(
            files.backup("status", "l").output == """
                [Excluded]    l
                    excluded itself
                    honoured by no program without help: programs cannot read the mark of a symbolic link
                    by rsync, tar, restic and borg with the list of `aclfs backup list`

                """)
    }

    @Test("help is there behind each word", arguments: [["-h"], ["help"], ["list", "-h"], ["exclude", "--help"]])
    func help(arguments: [String]) {
        let captured = Captured()
        let status = runBackup(
            arguments: bytes(arguments), sink: captured.sink, files: files, workingDirectory: [], isTerminal: false)
        #expect(status == 0 && captured.output == BackupArguments.help + "\n" && captured.error.isEmpty)
    }

    @Test("the topmost excluded object stands for all below it")
    func list() {
        files.add("d", .directory)
        files.add("d/in", .directory)
        files.add("d/in/deep")
        files.add("d/out")
        files.objects["d/in"]?.attributes["system.aclfs.flags"] = Array("uchg,nodump".utf8)
        files.objects["d/in/deep"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        #expect(files.backup("list", "d") == (0, "d/in\n", ""))
        #expect(files.backup("list", "--format", "rsync", "d").output == "/in\n")
        #expect(files.backup("list", "-0", "--format=rsync", "d").output == "/in\0")
        #expect(files.backup("list", "--format=restic", "d").output == "/here/d/in\n")
        #expect(files.backup("list", "--format=tar", "d/out").status == 1)
    }

    @Test("status says why, and asks nothing above the file system")
    func status() {
        files.add("top", .directory, device: 2)
        files.add("top/d", .directory)
        files.add("top/d/f")
        files.objects["top"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        #expect(files.backup("status", "top/d/f") == (0, "[Included]    top/d/f\n", ""))
        files.objects["top/d"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        #expect(
            files.backup("status", "top/d/f").output == """
                [Excluded]    top/d/f
                    excluded by its parent top/d
                    honoured by borg 1 (--exclude-nodump), borg 2, bsdtar (--nodump) when they start at top/d or above
                    by rsync, tar, restic and borg with the list of `aclfs backup list`

                """)
        #expect(files.backup("include", "top/d/f").error == "aclfs: top/d/f: still excluded by its parent top/d\n")
        #expect(
            files.backup("status", "--json", "top/d/f").output.hasPrefix(
                "[{\"path\":\"top/d/f\",\"excluded\":true,\"itself\":false,\"parents\":[{\"path\":\"top/d\"}],"))
    }

    @Test("on a terminal no name acts")
    func terminal() {
        files.add("d", .directory)
        files.add("d/\u{1B}x")
        files.objects["d/\u{1B}x"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        #expect(files.backup("list", "d", isTerminal: true).output == "d/\\x1bx\n")
        #expect(files.backup("list", "d").output == "d/\u{1B}x\n")
    }

    @Test("a list whose reader is gone ends there, and fails")
    func closedOutput() {
        files.add("d", .directory)
        for number in 0..<1000 {
            let name = "d/\(number)-" + String(repeating: "x", count: 200)
            files.add(name)
            files.objects[name]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
        }
        var outputs = 0
        let sink = OutputSink(output: { _ in outputs += 1 }, error: { _ in outputs += 10 }, isOpen: { outputs == 0 })
        let status = runBackup(
            arguments: bytes(["list", "d", "d"]), sink: sink, files: files, workingDirectory: [], isTerminal: false)
        #expect((status, outputs) == (1, 1))
    }

    /// Ten levels, and in each an excluded file before and behind the next.
    private func makeDeepTree() -> [String] {
        var (path, before, behind) = ("d", [String](), [String]())
        for _ in 0..<10 {
            files.add(path, .directory)
            for name in ["a", "z"] {
                files.add("\(path)/\(name)")
                files.objects["\(path)/\(name)"]?.attributes["system.aclfs.flags"] = Array("nodump".utf8)
            }
            before.append(path + "/a\n")
            behind.append(path + "/z\n")
            path += "/m"
        }
        return before + behind.reversed()
    }

    @Test("only the deepest levels are held open, and the others found again", arguments: [true, false])
    func deepTree(leadsUp: Bool) {
        let expected = makeDeepTree()
        files.leadsUp = leadsUp
        #expect(files.backup("list", "d") == (0, expected.joined(), ""))
        #expect(files.openListings == 0 && files.mostListings == 2)
    }

    @Test("what has become another directory meanwhile is not listed for it, and is said")
    func movedTree() {
        let expected = makeDeepTree()
        // Shows another number when it is opened again.
        files.changes(at: "d/m/m/m", after: 1)
        let result = files.backup("list", "d")
        #expect(result.output == expected.filter { $0 != "d/m/m/m/z\n" }.joined())
        #expect(result.error == "aclfs: d/m/m/m: moved away during the walk; the rest of it was skipped\n" && result.status == 1)
    }

    @Test(
        "wrong use is 2, and nothing is done",
        arguments: [
            [], ["exclud", "a"], ["exclude"], ["exclude", "--json", "a"], ["status", "--format=null", "a"],
            ["list", "--format=zip", "a"], ["list", "-0", "--format=tar", "a"], ["list", "--format=rsync", "a", "b"],
            ["list", "--format"], ["layout"], ["layout", "ios"], ["layout", "watchos", "a"], ["layout", "--json", "ios", "a"],
            ["exclude", "--offline", "a"],
        ])
    func usage(arguments: [String]) {
        files.add("a")
        let captured = Captured()
        let status = runBackup(
            arguments: bytes(arguments), sink: captured.sink, files: files, workingDirectory: [], isTerminal: false)
        #expect(status == 2 && captured.output.isEmpty && captured.error.contains("usage:"))
        #expect(files.changes.isEmpty)
    }

    @Test("a wrong word gets the nearest right one; -- ends options; elsewhere the reason is said")
    func messages() {
        files.add("--json")
        #expect(files.backup("includ", "a").error.contains("did you mean 'include'?"))
        #expect(files.backup("exclude", "--", "--json").status == 0)
        files.supportsAttributes = false
        let refused = files.backup("status", "--", "--json")
        #expect(refused == (1, "", "aclfs: --json: not on an aclfs mount\n"))
    }
}
