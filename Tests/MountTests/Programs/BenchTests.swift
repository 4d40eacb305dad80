import Foundation
import Glibc
import TestSupport
import Testing

private let hasPython = (try? Spawn.run(["python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))"]))?.status == 0

/// `make bench` itself: that its arithmetic is right, that a run gives figures for everything that it names, and that
/// nothing stays behind, whatever ends it. How large the figures are is nobody's concern here.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"), .enabled(if: hasPython, "needs python3"))
struct BenchTests {
    private static let sources = Repository.top.appendingPathComponent("Benchmarks").path

    /// A directory for one run, which must be empty at its end.
    private func withDirectory(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/aclfs-test.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw FixtureError("mkdtemp: errno \(errno)") }
        let directory = String(cString: made)
        chmod(directory, 0o755)
        // With what is mounted there, should the run have failed to take it away.
        defer {
            _ = try? Spawn.run([
                "python3", "-B", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import reaper; reaper.reap(sys.argv[2])", Self.sources,
                directory,
            ])
        }
        try body(directory)
    }

    private func arguments(_ directory: String, _ more: [String]) -> [String] {
        [
            "python3", "-B", "\(Self.sources)/bench.py", "--dir", directory, "--aclfs", MountTesting.program("aclfs"),
            "--load", MountTesting.program("aclfs-load"), "--built", "-", "--quick", "--tiny", "--data-mib", "1",
        ] + more
    }

    @Test("ratios, verdicts, texts and the removal of what a killed run left")
    func arithmetic() throws {
        let result = try Spawn.run(["python3", "-B", "\(Self.sources)/selftest.py"])
        #expect(result.status == 0, "\(result)")
    }

    @Test("a run measures what it names, as root and as a user, under all conditions")
    func tinyRun() throws {
        try withDirectory { directory in
            let json = directory + "/result.json"
            let document = directory + "/result.md"
            let loads = ["stat", "open", "create", "ls-l", "rand-read", "pwrite-1"]
            let tools = ["tar-x", "find", "grep", "rm-r"]
            let result = try Spawn.run(
                arguments(
                    directory,
                    [
                        "--rounds", "1", "--seconds", "0.02", "--only", (loads + tools).joined(separator: ","), "--starts", "1",
                        "--objects", "2000", "--json", json, "--markdown", document,
                    ]))
            try #require(result.status == 0, "\(result)")
            let data = try #require(FileManager.default.contents(atPath: json))
            let root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            let identities = try #require(root["identities"] as? [String: [String: Any]])
            #expect(Set(identities.keys) == ["root", "user 1000"])
            for (who, identity) in identities {
                #expect(identity["failures"] as? [String] == [], "\(who)")
                let samples = try #require(identity["samples"] as? [String: [String: [Double]]])
                #expect(Set(samples.keys) == Set(loads + tools), "\(who)")
                for (workload, places) in samples {
                    let isWalk = ["stat", "open", "create", "find"].contains(workload)
                    #expect(
                        Set(places.keys) == Set(["native", "aclfs", "aclfs+acl", "aclfs+again"] + (isWalk ? ["aclfs-home"] : [])),
                        "\(who) \(workload)")
                    #expect(places.values.allSatisfy { $0.count == 1 && $0[0] > 0 }, "\(who) \(workload) \(places)")
                }
                // Opening asks the daemon, on the mount and not on the file system below: the right place was measured.
                let decisions = try #require(identity["decisions"] as? [String: [String: Double]])
                #expect(decisions["open"]?["aclfs"].map { $0 >= 1 } == true, "\(who) \(decisions)")
                #expect(decisions["open"]?["native"] == nil, "\(who)")
            }
            let scale = try #require(root["scale"] as? [String: Any])
            #expect((scale["rows"] as? [String: Any])?.count == 5)
            #expect((root["start"] as? [Double])?.count == 1)
            #expect(result.output.contains("with 8 entries"))
            #expect(try String(contentsOfFile: document, encoding: .utf8).contains("<!-- bench:begin "))
            let files = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
            #expect(files == ["result.json", "result.md"])
        }
    }

    /// 1: a call was slower than the limit, which is nobody's concern here.
    @Test("an attack has a row with what the other user's calls took, alone and beside it")
    func attackRow() throws {
        try withDirectory { directory in
            let result = try Spawn.run([
                "python3", "-B", "\(Self.sources)/attack.py", "--dir", directory, "--aclfs", MountTesting.program("aclfs"),
                "--load", MountTesting.program("aclfs-load"), "--only", "setfacl", "--rounds", "1", "--seconds", "0.1",
            ])
            #expect(result.status == 0 || result.status == 1, "\(result)")
            let rows = result.output.split(separator: "\n").filter { $0.hasPrefix("| setfacl | aclfs |") }
            #expect(rows.count == 1 && rows.first?.contains("→") == true, "\(result)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
        }
    }

    @Test(
        "whole commands alone: a figure of each on each mount, the marked section and the plot, for the user first",
        .enabled(if: isInstalled("git"), "no git (apt install git)"))
    func wholeCommands() throws {
        try withDirectory { directory in
            let json = directory + "/result.json"
            let document = directory + "/result.md"
            let picture = directory + "/result.svg"
            try "# Title\n\n<!-- bench:begin whole commands -->\n\nNothing.\n\n<!-- bench:end whole commands -->\n\nThe end.\n"
                .write(toFile: document, atomically: false, encoding: .utf8)
            let more = [
                "--felt", "only", "--rounds", "1", "--rest", "0.1", "--files", "30", "--sources", "10", "--photos", "2", "--entries", "60",
                "--json", json, "--markdown", document, "--svg", picture,
            ]
            let result = try Spawn.run(arguments(directory, more))
            try #require(result.status == 0, "\(result)")
            let data = try #require(FileManager.default.contents(atPath: json))
            let root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            #expect((root["identities"] as? [String: Any])?.isEmpty == true)
            let whole = try #require(root["felt"] as? [String: Any])
            let identities = try #require(whole["identities"] as? [String: [String: Any]])
            #expect(Set(identities.keys) == ["root", "user 1000"])
            for (who, identity) in identities {
                #expect(identity["failures"] as? [String] == [], "\(who)")
                let samples = try #require(identity["samples"] as? [String: [String: [Double]]])
                #expect(samples.count == 15, "\(who) \(samples.keys)")
                for (command, places) in samples {
                    #expect(Set(places.keys) == ["native", "aclfs", "aclfs+exclusive"], "\(who) \(command)")
                    #expect(places.values.allSatisfy { $0.count == 1 && $0[0] > 0 }, "\(who) \(command) \(places)")
                }
            }
            let text = try String(contentsOfFile: document, encoding: .utf8)
            let user = try #require(text.range(of: "#### As user 1000"))
            let other = try #require(text.range(of: "#### As root"))
            #expect(user.lowerBound < other.lowerBound)
            #expect(text.contains("](result.svg)") && !text.contains("Nothing.") && text.hasSuffix("\nThe end.\n"))
            #expect(try String(contentsOfFile: picture, encoding: .utf8).hasSuffix("</svg>\n"))
            let files = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
            #expect(files == ["result.json", "result.md", "result.svg"])
        }
    }

    @Test("clients stay on the processor that is named, and the document says so")
    func clientsOnOneProcessor() throws {
        try withDirectory { directory in
            let loads = directory + "/loads"
            let words =
                "#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status >>\(loads).seen\nexec \(MountTesting.program("aclfs-load")) \"$@\"\n"
            try words.write(toFile: loads, atomically: false, encoding: .utf8)
            chmod(loads, 0o755)
            let document = directory + "/result.md"
            let more = [
                "--load", loads, "--rounds", "1", "--seconds", "0.02", "--only", "open", "--conditions", "-", "--as", "user", "--starts",
                "0",
                "--cpu", "0", "--markdown", document,
            ]
            let result = try Spawn.run(arguments(directory, more))
            try #require(result.status == 0, "\(result)")
            let seen = try String(contentsOfFile: loads + ".seen", encoding: .utf8).split(separator: "\n")
            #expect(!seen.isEmpty && seen.allSatisfy { $0.hasSuffix("\t0") }, "\(seen)")
            #expect(try String(contentsOfFile: document, encoding: .utf8).contains(", clients on one processor -->"))
            for file in [loads, loads + ".seen"] { unlink(file) }
        }
        let wrong = try Spawn.run(arguments("/tmp", ["--cpu", "9999"]))
        #expect(wrong.status == 2 && wrong.output.contains("--cpu 9999: must be one of"), "\(wrong)")
    }

    @Test("servers have a session of their own, or the clients'", arguments: ["apart", "together"])
    func sessionsOfServers(_ way: String) throws {
        try withDirectory { directory in
            let loads = directory + "/loads"
            let words = #"""
                #!/bin/sh
                session() { sed 's/.*) //' /proc/$1/stat | cut -d' ' -f4; }
                for server in $(grep -lzxF -- --foreground /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3); do
                    tr '\0' ' ' </proc/$server/cmdline | grep -qF "\#(directory)/" || continue
                    [ "$(session $server)" = "$(session $$)" ] && echo together || echo apart
                done >>"$0.seen"
                exec \#(MountTesting.program("aclfs-load")) "$@"

                """#
            try words.write(toFile: loads, atomically: false, encoding: .utf8)
            chmod(loads, 0o755)
            let more = [
                "--load", loads, "--rounds", "1", "--seconds", "0.02", "--only", "open", "--conditions", "-", "--as", "root", "--starts",
                "0",
                "--servers", way,
            ]
            let result = try Spawn.run(arguments(directory, more))
            try #require(result.status == 0, "\(result)")
            let seen = try String(contentsOfFile: loads + ".seen", encoding: .utf8).split(separator: "\n")
            #expect(!seen.isEmpty && seen.allSatisfy { $0 == way }, "\(seen)")
            for file in [loads, loads + ".seen"] { unlink(file) }
        }
    }

    @Test("a run that is killed leaves no mount, no process and no file behind", arguments: [SIGKILL, SIGTERM])
    func killed(signal: Int32) throws {
        try withDirectory { directory in
            let pid = try Spawn.start(arguments(directory, ["--rounds", "1000"]), descriptors: [-1, -1, -1])
            defer { _ = Spawn.wait(pid) }
            func inside() -> Bool { ProcFile.text("/proc/self/mounts").contains(" \(directory)/") }
            // Until it is at work on the mount: fixtures are made there first.
            #expect(eventually { inside() && self.processes(below: directory).contains("aclfs-load") })
            kill(pid, signal)
            // What it wrote is written back first.
            expectNothingIsLeft(of: pid, in: directory)
            #expect(!inside())
            #expect(eventually { self.processes(below: directory).isEmpty }, "\(processes(below: directory))")
        }
    }

    private func expectNothingIsLeft(of pid: pid_t, in directory: String) {
        let isEmpty = eventually(within: 150) { (try? FileManager.default.contentsOfDirectory(atPath: directory)) == [] }
        if !isEmpty { Issue.record(Comment(rawValue: whatIsLeft(of: pid, below: directory))) }
    }

    /// Who holds things up, and where in the kernel.
    private func whatIsLeft(of pid: pid_t, below directory: String) -> String {
        let mounts = ProcFile.text("/proc/self/mounts").split(separator: "\n").filter { $0.contains(" \(directory)/") }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let processes = names.compactMap { pid_t($0) }.compactMap { other -> String? in
            let line = ProcFile.text("/proc/\(other)/cmdline").replacing("\0", with: " ")
            guard line.contains(directory) || other == pid else { return nil }
            return "\(other) \(line): \(ProcFile.text("/proc/\(other)/stack"))"
        }
        return (mounts.map(String.init) + processes).joined(separator: "\n")
    }

    /// The programs that have something below a directory among their arguments.
    private func processes(below directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.compactMap { pid in
            let line = ProcFile.text("/proc/\(pid)/cmdline")
            let words = line.split(separator: "\0")
            return words.contains { $0.hasPrefix(directory + "/") } ? words.first.map { (String($0) as NSString).lastPathComponent } : nil
        }
    }
}
