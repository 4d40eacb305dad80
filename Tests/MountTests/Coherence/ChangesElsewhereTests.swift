import Foundation
import Glibc
import TestSupport
import Testing

/// docs/coherence.md "Changes elsewhere": the kernel answers about objects at rest without the daemon, until they change behind the mount.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ChangesElsewhereTests {
    /// Whether the mounts of this run watch for changes: some runs hide what it needs.
    private static let mayWatch = !["-fanotify", "-epoch", "cache="].contains { MountTesting.standingOptions.contains($0) }

    /// One change behind the mount.
    struct Change: Sendable, CustomTestStringConvertible {
        var name: String
        /// Makes it, in the backing directory.
        var script: String
        /// The object that shows it.
        var place: String

        var testDescription: String { name }
    }

    private static let map = "import mmap,os,sys; f=os.open(sys.argv[1],os.O_RDWR); m=mmap.mmap(f,4096); m[0]=65; m.flush()"

    // Each in a directory of its own: one that has just changed is busy, and the second counts there.
    private static let changes = [
        Change(name: "write", script: "printf 1 | dd of=file conv=notrunc status=none", place: "file"),
        Change(name: "append", script: "echo more >>file", place: "file"),
        Change(name: "store into a mapping", script: "python3 -c '\(map)' file", place: "file"),
        Change(name: "truncate", script: "truncate -s 9 file", place: "file"),
        Change(name: "chmod", script: "chmod 751 file", place: "file"),
        Change(name: "chown", script: "chown 501:501 file", place: "file"),
        Change(name: "times", script: "touch -m -d 2001-02-03 file", place: "file"),
        Change(name: "attribute", script: "setfattr -n user.x -v 1 file", place: "file"),
        Change(name: "chattr", script: "chattr +d file", place: "file"),
        Change(name: "link", script: "ln file ../aside/link", place: "file"),
        Change(name: "by another name", script: "echo more >>../aside/by-another-name", place: "file"),
        Change(name: "symlink", script: "chown -h 501 symlink", place: "symlink"),
        Change(name: "restored", script: "cp -a --remove-destination ../aside/saved file", place: "file"),
        Change(name: "unlink", script: "rm file", place: "file"),
        Change(name: "rename", script: "mv file away", place: "file"),
        Change(name: "rename over", script: "mv ../aside/new file", place: "file"),
        Change(name: "create", script: "echo new >none", place: "none"),
        Change(name: "mkdir", script: "mkdir dir/in", place: "dir"),
        Change(name: "directory moved", script: "mv dir away", place: "dir/file"),
        Change(name: "directory closed", script: "chmod 700 dir", place: "dir"),
        // The last one: below a mount inside the backing directory the second counts.
        Change(name: "mount", script: "mount --bind ../aside dir", place: "dir"),
    ]

    private static func directory(of change: Change) -> String { change.name.replacingOccurrences(of: " ", with: "-") }

    private static let prepare = """
        mkdir aside; touch aside/new; echo saved >aside/saved
        for d in \(changes.map { directory(of: $0) }.joined(separator: " ")); do
            mkdir -p $d/dir; head -c 5000 /dev/zero >$d/file; touch $d/dir/file; ln -s nowhere $d/symlink
        done
        ln by-another-name/file aside/by-another-name
        """

    /// What a caller sees of an object; its errno if there is none.
    private func seen(_ path: String) -> [Int] {
        var status = stat()
        guard lstat(path, &status) == 0 else { return [Int(errno)] }
        return [
            Int(status.st_mode), Int(status.st_nlink), Int(status.st_uid), Int(status.st_gid), Int(status.st_size), status.st_mtim.tv_sec,
            status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec, Int(truncatingIfNeeded: status.st_ino),
        ]
    }

    private func number(_ name: String, _ fixture: MountFixture) throws -> Int {
        let said = try Spawn.run([MountTesting.program("aclfs"), "status", "--json", fixture.mountpoint]).output
        let range = try #require(said.range(of: "\"\(name)\":"), "\(said)")
        return try #require(Int(said[range.upperBound...].prefix { $0.isNumber }))
    }

    private func must(_ script: String, in fixture: MountFixture) throws {
        let result = try Spawn.run(["bash", "-ec", "cd $0; \(script)", fixture.backing])
        #expect(result.status == 0, "\(script): \(result)")
    }

    /// Asks until the kernel answers by itself.
    /// - Parameter paths: more than a few, or the command's own requests count as much.
    private func settle(_ paths: [String], _ fixture: MountFixture) throws {
        let rests = try eventually(within: 30) {
            let before = try number("allowed", fixture)
            for path in paths { _ = seen(fixture.path(path)) }
            usleep(1_300_000)
            // The command looks at the mount point itself.
            return try number("allowed", fixture) - before <= 3
        }
        #expect(rests, "the kernel still asks")
    }

    @Test(.enabled(if: mayWatch))
    func areSeenAtOnce() throws {
        let fixture = try MountFixture()
        try must(Self.prepare, in: fixture)
        defer { _ = try? Spawn.run(["umount", "-q", fixture.backing + "/mount/dir"]) }
        let places = Self.changes.map { "\(Self.directory(of: $0))/\($0.place)" }
        try settle(places, fixture)
        #expect(try number("watched_objects", fixture) > places.count)
        #expect(try number("watched_bytes", fixture) > 0)
        var (longest, slowest) = (0, "")
        var late: [String] = []
        for (change, place) in zip(Self.changes, places) {
            #expect(seen(fixture.path(place)).dropLast() == seen(fixture.backing + "/" + place).dropLast(), "\(change.name) before")
            try must("cd \(Self.directory(of: change)); \(change.script)", in: fixture)
            let from = ContinuousClock.now
            let now = seen(fixture.backing + "/" + place)
            while seen(fixture.path(place)).dropLast() != now.dropLast(), ContinuousClock.now - from < .seconds(3) { usleep(200) }
            let took = Int((ContinuousClock.now - from) / .milliseconds(1))
            #expect(took < 900, "\(change.name) was seen after \(took) ms, as without events")
            if took > 50 { late.append("\(change.name) \(took) ms") }
            if took > longest { (longest, slowest) = (took, change.name) }
        }
        // A thread may have to wait for a processor.
        #expect(late.count <= 3, "seen later than 50 ms: \(late)")
        print(
            "changes elsewhere: \(Self.changes.count) kinds; an old answer was seen for \(longest) ms at most after the change (\(slowest))"
        )
    }

    /// Nothing that is kept has to be asked for again, whatever the time.
    @Test(.enabled(if: mayWatch))
    func anObjectAtRestIsNotAskedAbout() throws {
        let fixture = try MountFixture()
        try must("mkdir -p a/b; for i in $(seq 200); do echo $i >a/b/$i; done", in: fixture)
        let paths = (1...200).map { "a/b/\($0)" }
        try settle(paths, fixture)
        usleep(3_000_000)
        let before = try number("allowed", fixture)
        for path in paths { _ = seen(fixture.path(path)) }
        #expect(try number("allowed", fixture) - before <= 3)
    }

    /// A program that changes names through the mount does not make the rest of the tree forgotten.
    @Test(.enabled(if: mayWatch))
    func ownChangesLeaveTheOthersAlone() throws {
        let fixture = try MountFixture()
        try must("mkdir -p a/b .git; echo 1 >.git/index; for i in $(seq 200); do echo $i >a/b/$i; done", in: fixture)
        let paths = (1...200).map { "a/b/\($0)" } + [".git/index", ".git/none"]
        try settle(paths, fixture)
        let before = try number("allowed", fixture)
        for _ in 0..<3 {
            #expect(try Spawn.run(["sh", "-c", "cd $0/.git && echo 2 >lock && mv lock index", fixture.mountpoint]).status == 0)
            for path in paths { _ = seen(fixture.path(path)) }
            usleep(1_500_000)
        }
        #expect(try number("allowed", fixture) - before < 100)
    }

    /// A file that somebody has open for writing may change without an event.
    @Test(.enabled(if: mayWatch))
    func anOpenWriterKeepsAFileFromRest() throws {
        let fixture = try MountFixture()
        try must("head -c 4096 /dev/zero >file", in: fixture)
        usleep(3_100_000)
        let script = """
            import mmap, os, sys, time
            m = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096)
            print("open", flush=True)
            while sys.stdin.readline(): m[0] = (m[0] + 1) % 256; m.flush(); print("stored", flush=True)
            """
        let writer = Process()
        writer.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        writer.arguments = ["-c", script, fixture.backing + "/file"]
        let (input, output) = (Pipe(), Pipe())
        (writer.standardInput, writer.standardOutput) = (input, output)
        try writer.run()
        defer { writer.terminate() }
        _ = output.fileHandleForReading.availableData
        for _ in 0..<4 {
            _ = seen(fixture.path("file"))
            usleep(1_200_000)
        }
        input.fileHandleForWriting.write(Data("store\n".utf8))
        _ = output.fileHandleForReading.availableData
        let isSeen = eventually(within: 3) { seen(fixture.path("file")).dropLast() == seen(fixture.backing + "/file").dropLast() }
        #expect(isSeen)
    }

    /// Callers who read a file through the mount cause events as well. A writer comes and goes between two of them.
    @Test(.enabled(if: mayWatch))
    func aShortWriterBetweenReadersIsSeen() throws {
        let fixture = try MountFixture()
        let names = (1...12).map { "file\($0)" }
        try must("for i in $(seq 12); do head -c 8192 /dev/zero >file$i; done", in: fixture)
        try settle(names, fixture)
        for name in names {
            for _ in 0..<3 { #expect(try Spawn.run(["cat", fixture.path(name)]).status == 0) }
            try must("python3 -c '\(Self.map)' \(name)", in: fixture)
            let isSeen = eventually(within: 3) { seen(fixture.path(name)).dropLast() == seen(fixture.backing + "/" + name).dropLast() }
            #expect(isSeen, "\(name)")
        }
    }

    /// An object that changed through the mount rests again three seconds later, not when its first timeout is over.
    @Test(.enabled(if: mayWatch))
    func whatChangedThroughTheMountRestsAgain() throws {
        let fixture = try MountFixture()
        try must("mkdir -p d1 d2 d3; echo 1 >file; touch d1/a $(seq 8)", in: fixture)
        let paths = ["d1", "d2", "d3", "file"]
        try settle(paths + (1...8).map { "\($0)" }, fixture)
        let changes = "cd $0; touch d1/new; mv d1/a d2/a; mkdir d3/in; setfattr -n user.x -v 1 file; ln file d3/link"
        #expect(try Spawn.run(["sh", "-ec", changes, fixture.mountpoint]).status == 0)
        usleep(3_200_000)
        for _ in 0..<2 {
            for path in paths { _ = seen(fixture.path(path)) }
            usleep(1_300_000)
        }
        let before = try number("allowed", fixture)
        for path in paths { #expect(seen(fixture.path(path)).dropLast() == seen(fixture.backing + "/" + path).dropLast()) }
        #expect(try number("allowed", fixture) - before <= 3)
    }

    /// The kernel keeps the listing of a directory at rest. Another mount may change its names, and set its times back.
    @Test(.enabled(if: mayWatch))
    func aListingDoesNotOutliveAChangeThroughAnotherMount() throws {
        let fixture = try MountFixture()
        let names = (10...40).map { "\($0)" }
        try must("mkdir d; touch $(seq -f d/%g 10 40); touch -d 2001-02-03 d", in: fixture)
        func list(_ place: String) throws -> String { try Spawn.run(["ls", "\(place)/d"]).output }
        try settle(names.map { "d/" + $0 } + ["d"], fixture)
        for _ in 0..<3 { _ = try list(fixture.mountpoint) }
        // The kernel has it.
        let before = try number("allowed", fixture)
        _ = try list(fixture.mountpoint)
        #expect(try number("allowed", fixture) - before < 20)
        let other = fixture.mountpoint + ".other"
        mkdir(other, 0o755)
        defer { rmdir(other) }
        try fixture.mount(at: other)
        defer { _ = try? Spawn.run([MountTesting.program("aclfs"), "unmount", other]) }
        #expect(try Spawn.run(["sh", "-ec", "touch $0/d/c; touch -d 2001-02-03 $0/d", other]).status == 0)
        for _ in 0..<4 {
            #expect(try list(fixture.mountpoint).split(separator: "\n").map { String($0) } == names + ["c"])
            usleep(1_300_000)
        }
    }

    /// Btrfs lists the names of the moment when the position of the directory was last set.
    @Test(.enabled(if: mayWatch && BackingKind.reserving.contains(.btrfs), "needs Btrfs"))
    func aListingHasTheNamesOfItsMoment() throws {
        let fixture = try ZeroFillFixture(.btrfs, "")
        let script = """
            import os, sys
            d = os.open(sys.argv[1], os.O_RDONLY)
            open(sys.argv[2] + "/late", "w").close()
            print(*os.listdir(d))
            print(*os.listdir(sys.argv[1]))
            """
        let result = try Spawn.run(["python3", "-c", script, fixture.mount.mountpoint, fixture.mount.backing])
        #expect(result.output == "late\nlate", "\(result)")
    }

    /// A change while the reply that exposes the object is in flight: the kernel takes the attributes of that reply.
    @Test(.enabled(if: mayWatch && !MountTesting.standingOptions.contains("uring"), "delays replies through the device"))
    func aReplyInFlightDoesNotLast() throws {
        let fixture = try MountFixture(options: "transport=dev")
        try must("touch file $(seq 8)", in: fixture)
        try settle(["file"] + (1...8).map { "\($0)" }, fixture)
        // The kernel forgets the object; it stays watched.
        try "2".write(toFile: "/proc/sys/vm/drop_caches", atomically: false, encoding: .utf8)
        let daemon = try #require(MountFixture.daemons(of: fixture.mountpoint).first)
        let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task")
        let workers = tasks.filter { ProcFile.text("/proc/\(daemon)/task/\($0)/comm") == "aclfs-session\n" }
        #expect(!workers.isEmpty)
        let tracer = try Spawn.start(
            ["strace", "-qq", "-o", "/dev/null", "-e", "trace=writev", "-e", "inject=writev:delay_enter=300000"]
                + workers.flatMap { ["-p", $0] }, descriptors: [-1, -1, -1])
        defer {
            kill(tracer, SIGINT)
            waitpid(tracer, nil, 0)
        }
        let areTraced = eventually {
            workers.allSatisfy { ProcFile.text("/proc/\(daemon)/task/\($0)/status").contains("TracerPid:\t\(tracer)\n") }
        }
        #expect(areTraced)
        let script = """
            import os, subprocess, sys, threading, time
            name = "/file"
            change = threading.Timer(0.12, lambda: os.chmod(sys.argv[2] + name, 0o640))
            change.start()
            f = os.open(sys.argv[1] + name, os.O_RDONLY)
            change.join()
            time.sleep(3.5)
            print(oct(os.fstat(f).st_mode & 0o777))
            """
        let result = try Spawn.run(["python3", "-c", script, fixture.mountpoint, fixture.backing])
        #expect(result.output == "0o640", "\(result)")
    }

    /// Many at once, and more than the kernel keeps events of while the daemon does not read them.
    @Test(.enabled(if: mayWatch), arguments: [false, true])
    func manyAtOnce(_ stopsDaemon: Bool) throws {
        let fixture = try MountFixture()
        let count = MountTesting.isLong ? 10_000 : stopsDaemon ? 6000 : 1500
        try must("mkdir d; cd d; for i in $(seq \(count)); do echo $i >$i; done", in: fixture)
        let paths = (1...count).map { "d/\($0)" }
        try settle(paths, fixture)
        #expect(try number("watched_objects", fixture) >= count)
        let daemons = MountFixture.daemons(of: fixture.mountpoint)
        #expect(!daemons.isEmpty)
        if stopsDaemon { for daemon in daemons { kill(daemon, SIGSTOP) } }
        try must(
            "cd d; ls | awk 'NR % 3 == 0' | xargs chmod 640; ls | awk 'NR % 3 == 1' | xargs sh -c 'for f; do echo more >>$f; done' sh; "
                + "chown -R 501 .; touch -d 2002-02-02 *; rm 7 77 777", in: fixture)
        if stopsDaemon { for daemon in daemons { kill(daemon, SIGCONT) } }
        let from = ContinuousClock.now
        usleep(50_000)
        let stale = paths.filter { seen(fixture.path($0)).dropLast() != seen(fixture.backing + "/" + $0).dropLast() }
        let isRight = eventually(within: 3) {
            paths.allSatisfy { seen(fixture.path($0)).dropLast() == seen(fixture.backing + "/" + $0).dropLast() }
        }
        print("changes elsewhere: \(stale.count) of \(count) old answers after 50 ms, none after \(ContinuousClock.now - from)")
        #expect(isRight)
        // After a stop the daemon first has to read what the kernel kept for it.
        if !stopsDaemon { #expect(stale.count < count / 10) }
    }

    @Test func withoutEventsTheSecondCounts() throws {
        let fixture = try MountFixture(options: "kernel_features=-fanotify")
        try must("echo 1 >file", in: fixture)
        for _ in 0..<4 {
            _ = seen(fixture.path("file"))
            usleep(1_200_000)
        }
        #expect(try number("watched_objects", fixture) == 0)
        let said = try Spawn.run([MountTesting.program("aclfs"), "status", fixture.mountpoint]).output
        #expect(said.contains("hidden by kernel_features"))
        _ = seen(fixture.path("file"))
        try must("echo more >>file", in: fixture)
        let isSeen = eventually(within: 3) { seen(fixture.path("file")).dropLast() == seen(fixture.backing + "/file").dropLast() }
        #expect(isSeen)
    }

    /// A watch holds no space of a removed file, and no name.
    @Test(.enabled(if: mayWatch))
    func removedFilesGiveTheirSpaceBack() throws {
        let fixture = try MountFixture(options: nil)
        #expect(try Spawn.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", fixture.backing]).status == 0)
        defer { _ = try? Spawn.run(["umount", "-l", fixture.backing]) }
        try fixture.mount()
        func free() -> UInt {
            var status = statvfs()
            statvfs(fixture.backing, &status)
            return UInt(status.f_bavail) * UInt(status.f_frsize)
        }
        let empty = free()
        try must("for i in 1 2 3; do head -c 10000000 /dev/zero >$i; done", in: fixture)
        let areWatched = try eventually(within: 15) {
            for name in ["1", "2", "3"] { _ = seen(fixture.path(name)) }
            usleep(1_200_000)
            return try number("watched_objects", fixture) > 3
        }
        #expect(areWatched)
        #expect(try Spawn.run(["sh", "-c", "rm $0/[123]", fixture.mountpoint]).status == 0)
        #expect(eventually(within: 5) { empty - free() < 1_000_000 }, "\(empty) \(free())")
        try fixture.unmount()
    }
}
