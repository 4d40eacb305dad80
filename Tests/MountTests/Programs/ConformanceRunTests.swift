import Conformance
import Foundation
import Glibc
import TestSupport
import Testing

/// `aclfs conformance` on mounts that do what is documented, and on places that do not.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ConformanceRunTests {
    private static let program = MountTesting.program("aclfs")

    /// What a run printed, by outcome: the names of the cases without number and source.
    private struct Output {
        var status: Int32
        var text: String
        var ok: [String] = []
        var notOK: [String] = []
        var skipped: [String] = []
        var plan = 0

        init(_ result: CommandResult) {
            (status, text) = (result.status, result.output)
            for line in result.output.split(separator: "\n") {
                if line.hasPrefix("1.."), let count = Int(line.dropFirst(3)) { plan = count }
                guard let dash = line.range(of: " - "), let end = line.range(of: " [docs/") else { continue }
                let name = String(line[dash.upperBound..<end.lowerBound])
                if line.hasPrefix("not ok ") {
                    notOK.append(name)
                } else if line.contains(" # SKIP ") {
                    skipped.append(name)
                } else if line.hasPrefix("ok ") {
                    ok.append(name)
                }
            }
        }

        /// Rules and vector of a name, without its title.
        static func key(_ name: String) -> String {
            let words = name.split(separator: " ")
            if let vector = words.first(where: { $0.hasPrefix("V") && Int($0.dropFirst()) != nil }) { return String(vector) }
            return words.prefix { $0.hasPrefix("S") && Int($0.dropFirst()) != nil }.joined(separator: " ")
        }
    }

    private func run(_ words: String...) throws -> Output {
        Output(try Spawn.run([Self.program, "conformance"] + words))
    }

    private func names(in directory: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? ["?"]).filter { $0 != "lost+found" }
    }

    // MARK: Mounts as documented

    /// As it is, and with options that change nothing that is documented; in the long run also each of them alone.
    @Test(
        arguments: ["", "cache=strict,groups=directory,suid,dev,special=open,metadata=trusted,passthrough=off"]
            + (MountTesting.isLong ? ["cache=strict", "cache=exclusive", "groups=directory", "passthrough=off", "zerofill=allocate"] : []))
    func aMountIsAsDocumented(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        // What all that is made there would inherit.
        let made = try Spawn.run([
            Self.program, "chmod", "+a", "everyone deny read,write,file_inherit,directory_inherit", fixture.mountpoint,
        ])
        #expect(made.status == 0, "\(made)")
        let output = try run(fixture.mountpoint)
        #expect(output.status == 0 && output.notOK.isEmpty, "\(output.text)")
        #expect(output.plan > 120 && output.ok.count + output.skipped.count == output.plan, "\(output.text)")
        // The vectors that need a read-only mount, and the rules that no call shows.
        #expect(
            Set(output.skipped.map(Output.key)) == [
                "V029", "V082", "S10", "S39", "S42", "S50", "S51", "S54", "S62", "S66", "S68", "S70", "S71", "S78", "S79", "S80",
            ], "\(output.skipped)")
        for line in output.text.split(separator: "\n") where line.contains(" - ") { #expect(line.contains(" [docs/"), "\(line)") }
        #expect(names(in: fixture.mountpoint).isEmpty && names(in: fixture.backing).isEmpty)
    }

    /// The commands and the output of docs/internals/conformance.md.
    @Test(.enabled(if: isInstalled("prove"), "no prove (apt install perl)"))
    func itWorksUnderProveAsDocumented() throws {
        let document = try String(contentsOf: Repository.top.appendingPathComponent("docs/internals/conformance.md"), encoding: .utf8)
        let examples = document.split(separator: "\n").filter { $0.hasPrefix("    ") }.map { String($0.dropFirst(4)) }
        let fixture = try MountFixture()
        let output = try run(fixture.mountpoint).text.split(separator: "\n").map(String.init)
        let shown = examples.filter { $0.hasPrefix("1..") || $0.hasPrefix("ok ") || $0.hasPrefix("# ok ") }
        #expect(shown.count == 5)
        for line in shown { #expect(output.contains(line), "\(line)") }
        let commands = examples.filter { $0.contains("conformance.t") }
        #expect(commands.count == 2)
        func prove(_ place: String) throws -> CommandResult {
            let script = commands.joined(separator: "\n").replacingOccurrences(of: "/srv/share", with: place)
                .replacingOccurrences(of: "exec aclfs", with: "exec \(Self.program)")
            return try Spawn.run(["sh", "-c", "cd \"$1\"\n" + script, "sh", fixture.top])
        }
        let good = try prove(fixture.mountpoint)
        #expect(good.status == 0 && good.output.contains("Result: PASS"), "\(good)")
        mkdir(fixture.top + "/plain", 0o755)
        let bad = try prove(fixture.top + "/plain")
        #expect(bad.status == 1 && bad.output.contains("Result: FAIL"), "\(bad)")
        let none = try prove(fixture.top + "/nothing")
        #expect(none.status != 0 && none.output.contains("Bailout called"), "\(none)")
    }

    /// A reader of its own pipe was started in the same directory, and disturbs nothing. Another process does; then a second mount is the way.
    @Test func inThePipeOfItsOwnShellAndBesideAUsedMount() throws {
        let fixture = try MountFixture()
        let second = fixture.top + "/second"
        mkdir(second, 0o755)
        try fixture.mount(at: second)
        func run(_ script: String) throws -> String {
            try Spawn.run(["bash", "-c", "cd \(fixture.mountpoint); \(script)"]).output
        }
        let good = "# ok 120, not ok 0, skipped 16"
        #expect(try run("'\(Self.program)' conformance . | tail -n 1 | cat") == good)
        #expect(try run("set -m; '\(Self.program)' conformance . | tail -n 1") == good)
        let used = try run(
            "setsid sleep 4 >/dev/null 2>&1 & sleep 0.2; '\(Self.program)' conformance . 2>&1 >/dev/null; cd /; '\(Self.program)' conformance \(second) | tail -n 1"
        )
        #expect(used.contains(": is in use: process "), "\(used)")
        #expect(used.contains("; end these and run again, or mount its source a second time and run there"), "\(used)")
        #expect(used.hasSuffix(good), "\(used)")
        // An open file counts in any process.
        let held = try run("sleep 2 >held 2>/dev/null & sleep 0.1; '\(Self.program)' conformance . | tail -n 1")
        #expect(held.contains("open file"), "\(held)")
    }

    /// On a mount on which entries are stored and do not count: the lines whose answers they change are not ok, in both forms.
    @Test func jsonSaysTheSameOfAMountWithoutLists() throws {
        let fixture = try MountFixture(options: "noacl")
        let tap = try run(fixture.mountpoint)
        #expect(
            tap.notOK.map(Output.key).sorted()
                == [
                    "V007", "V009", "V010", "V014", "V008", "V012", "V056", "V057", "V046", "S16", "S16", "V031", "V053", "V054", "S28",
                    "V059", "V060", "V023", "V050", "S33", "V043", "V076", "V077", "S40", "S41", "V033", "S52", "S53", "S63", "S63", "S74",
                    "S76", "S77", "S77",
                ].sorted(), "\(tap.text)")
        let json = try Spawn.run([Self.program, "conformance", "--json", fixture.mountpoint])
        #expect(json.status == tap.status && tap.status == 1)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect(object["ok"] as? Int == tap.ok.count)
        #expect(object["not_ok"] as? Int == tap.notOK.count)
        #expect(object["skipped"] as? Int == tap.skipped.count)
        let cases = try #require(object["cases"] as? [[String: Any]])
        #expect(cases.map { $0["number"] as? Int } == Array(1...tap.plan))
        func names(_ result: String) -> [String] {
            cases.filter { $0["result"] as? String == result }.map { item in
                ((item["rules"] as? [String] ?? []) + [item["vector"], item["title"]].compactMap { $0 as? String }).joined(separator: " ")
            }
        }
        #expect(names("ok") == tap.ok)
        #expect(names("not ok") == tap.notOK)
        #expect(names("skipped") == tap.skipped)
        for item in cases where item["result"] as? String == "skipped" { #expect(item["reason"] is String) }
        for item in cases where item["result"] as? String == "not ok" {
            #expect((item["differences"] as? [String])?.isEmpty == false && (item["source"] as? String)?.hasPrefix("docs/") == true)
        }
    }

    // MARK: Places that are not as documented

    /// The cases that need an attribute of aclfs: entries, flags, owners that are no uid, the forms of NFSv4 and of copies.
    private var needingAttributes: Set<String> {
        let attributes = ["system.aclfs.", "system.nfs4_acl", "com.apple.acl.text"]
        return Set(
            CaseList.all(Numbers(first: Numbers.usual)).filter { item in
                item.skipped == nil
                    && (item.setup + item.steps).contains { step in
                        let words = step.words.map { String(decoding: $0, as: UTF8.self) }
                        return words.contains { word in attributes.contains { word.hasPrefix($0) } }
                            && step.expected.difference(from: CallAnswer("EOPNOTSUPP")) != nil
                    }
            }.map(\.name))
    }

    /// What Linux does in another way: sticky refuses with EPERM, a new object has the caller's group,
    /// a set-gid bit is dropped silently, gaps stay holes, set-uid directories have no effect.
    private static let otherOnLinux: Set<String> = ["V019", "V078", "V075", "S49", "S59", "S60", "S67"]

    private func compare(_ output: Output, _ more: Set<String> = []) {
        let needing = needingAttributes
        #expect(needing.count > 60)
        #expect(output.status == 1, "\(output.text)")
        for name in output.notOK where !needing.contains(name) {
            #expect(Self.otherOnLinux.union(more).contains(Output.key(name)), "not ok: \(name)")
        }
        #expect(Set(output.notOK).isSuperset(of: needing), "\(needing.subtracting(output.notOK))")
        #expect(Set(output.notOK.map(Output.key)).isSuperset(of: Self.otherOnLinux.union(more)), "\(output.text)")
    }

    @Test func aPlainDirectoryFailsInTheRightLines() throws {
        let scratch = try ScratchDirectory("conformance")
        compare(try run(scratch.path))
        #expect(names(in: scratch.path).isEmpty)
    }

    @Test(.enabled(if: isInstalled("bindfs"), "no bindfs (apt install bindfs)"))
    func bindfsFailsInTheRightLines() throws {
        let scratch = try ScratchDirectory("conformance")
        let (source, mountpoint) = (scratch.directory("source"), scratch.directory("mnt"))
        let mounted = try Spawn.run(["bindfs", source, mountpoint])
        #expect(mounted.status == 0, "\(mounted)")
        defer { _ = try? Spawn.run(["umount", mountpoint]) }
        // It knows no fallocate; the kernel judges by its mode bits, and applies the umask.
        compare(try run(mountpoint), ["S61", "S76", "S77"])
        #expect(names(in: source).isEmpty)
    }

    /// Options that change a documented default, and exactly their lines.
    @Test(arguments: [("zerofill=off,nosuiddir,nogrpid", ["S58", "S59", "S60", "S67", "V075"])])
    func anOptionFailsInItsLines(_ option: String, _ keys: [String]) throws {
        let fixture = try MountFixture(options: option)
        let output = try run(fixture.mountpoint)
        #expect(output.notOK.map(Output.key).sorted() == keys, "\(output.text)")
    }

    @Test func whereNothingCanRunTheStatusIsTwo() throws {
        let fixture = try MountFixture()
        func refused(_ result: CommandResult, _ text: String) {
            #expect(result.status == 2 && result.output.contains("aclfs: ") && result.output.contains(text), "\(result)")
            #expect(result.output.contains("Bail out! "), "\(result)")
        }
        refused(try TestUser.alice.run(Self.program, "conformance", fixture.mountpoint), "needs root")
        refused(try Spawn.run([Self.program, "conformance", fixture.top + "/nothing"]), "No such file")
        refused(try Spawn.run([Self.program, "conformance", "/etc/passwd"]), "Not a directory")
        refused(try Spawn.run([Self.program, "conformance", "--users", "0", fixture.mountpoint]), "--users 0")
        // A process of another shell that has a file open, and one that only has its working directory there.
        for script in ["exec 3>\"$1/open\"; echo ready; read -r end", "cd \"$1\"; echo ready; read -r end"] {
            let said = try Spawn.pipe()
            let told = try Spawn.pipe()
            let holder = try Spawn.start(
                ["setsid", "sh", "-c", script, "sh", fixture.mountpoint], descriptors: [told.reading, said.writing, 2])
            var byte: UInt8 = 0
            #expect(read(said.reading, &byte, 1) == 1)
            refused(try Spawn.run([Self.program, "conformance", fixture.mountpoint]), "process \(holder) (sh")
            for end in [told.reading, told.writing, said.reading, said.writing] { close(end) }
            _ = Spawn.wait(holder)
        }
        unlink(fixture.path("open"))
        // The rest of a run that was killed.
        mkdir(fixture.path(".aclfs-conformance-1"), 0o755)
        refused(try Spawn.run([Self.program, "conformance", fixture.mountpoint]), "is of another run")
        rmdir(fixture.path(".aclfs-conformance-1"))
        #expect(try fixture.unmount().status == 0)
        try fixture.mount("ro")
        refused(try Spawn.run([Self.program, "conformance", fixture.mountpoint]), "read-only")
        #expect(names(in: fixture.backing).isEmpty)
    }

    /// Where a set flag could not be cleared again, none is set.
    @Test func aSecurelevelLeavesNothingBehind() throws {
        let fixture = try MountFixture(options: "securelevel=1")
        let output = try run(fixture.mountpoint)
        #expect(output.status == 0, "\(output.text)")
        #expect(Set(output.skipped.map(Output.key)).isSuperset(of: ["V066", "V074"]), "\(output.skipped)")
        #expect(output.text.contains("# SKIP needs securelevel=0"))
        #expect(names(in: fixture.mountpoint).isEmpty)
    }

    /// At any moment: everything is removed, and the shell sees the signal.
    @Test(arguments: [(SIGINT, 1), (SIGTERM, 60), (SIGHUP, 110)])
    func aSignalLeavesNothingBehind(_ signal: Int32, _ after: Int) throws {
        let fixture = try MountFixture()
        for lines in MountTesting.isLong ? [1, 20, 40, 60, 80, 100, 120] : [after] {
            let said = try Spawn.pipe()
            let process = try Spawn.start(
                [Self.program, "conformance", fixture.mountpoint], descriptors: [-1, said.writing, -1])
            close(said.writing)
            var (seen, text) = (0, "")
            var chunk = [UInt8](repeating: 0, count: 4096)
            var isSent = false
            while true {
                let size = chunk.count
                let count = read(said.reading, &chunk, size)
                if count <= 0 { break }
                text += String(decoding: chunk.prefix(count), as: UTF8.self)
                seen = text.split(separator: "\n").count
                if seen >= lines, !isSent {
                    isSent = true
                    kill(process, signal)
                }
            }
            close(said.reading)
            let status = Spawn.wait(process)
            // It may have ended before the signal came.
            #expect(status == 128 + signal || status == 0, "\(status): \(text)")
            if status != 0 { #expect(text.contains("Bail out! ")) }
            #expect(names(in: fixture.mountpoint).isEmpty && names(in: fixture.backing).isEmpty)
        }
    }

    /// A process that changes the directory of the run: what it made is left, and the results do not count.
    @Test func anotherProcessInTheDirectoryEndsTheRun() throws {
        let fixture = try MountFixture()
        let said = try Spawn.pipe()
        let process = try Spawn.start([Self.program, "conformance", fixture.mountpoint], descriptors: [-1, said.writing, -1])
        close(said.writing)
        var chunk = [UInt8](repeating: 0, count: 4096)
        // The first line is printed when the directory is there.
        #expect(read(said.reading, &chunk, 1) == 1)
        let name = try #require(names(in: fixture.mountpoint).first { $0.hasPrefix(".aclfs-conformance-") })
        close(open(fixture.path(name) + "/foreign", O_CREAT | O_WRONLY, 0o600))
        var text = ""
        while true {
            let size = chunk.count
            let count = read(said.reading, &chunk, size)
            if count <= 0 { break }
            text += String(decoding: chunk.prefix(count), as: UTF8.self)
        }
        close(said.reading)
        #expect(Spawn.wait(process) == 2)
        #expect(text.contains("Bail out! ") && text.contains("another process made \(name)/foreign"), "\(text)")
        #expect(names(in: fixture.path(name)) == ["foreign"])
    }

    /// Output that a reader no longer takes must not leave the directory of the run behind.
    @Test func aClosedPipeLeavesNothingBehind() throws {
        let fixture = try MountFixture()
        let result = try Spawn.run(["sh", "-c", "\"$1\" conformance \"$2\" | head -n 2", "sh", Self.program, fixture.mountpoint])
        #expect(result.output.hasPrefix("1.."), "\(result)")
        // The run goes on after the shell.
        #expect(try eventually { names(in: fixture.mountpoint).isEmpty })
    }
}
