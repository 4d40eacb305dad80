import Foundation
import Glibc
import TestSupport
import Testing

/// docs/internals/coherence.md "Changes elsewhere": the kernel answers about objects at rest without the daemon, until they change behind the mount.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ChangesElsewhereTests {
    /// Whether the mounts of this run watch for changes: some runs hide what it needs.
    static let mayWatch = !["-fanotify", "-epoch", "cache="].contains { MountTesting.standingOptions.contains($0) }

    /// One change behind the mount.
    struct Change: Sendable, CustomTestStringConvertible {
        var name: String
        /// Makes it, in the backing directory.
        var script: String
        /// The object that shows it.
        var place: String

        var testDescription: String { name }
    }

    static let map = "import mmap,os,sys; f=os.open(sys.argv[1],os.O_RDWR); m=mmap.mmap(f,4096); m[0]=65; m.flush()"

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

    @Test(.enabled(if: mayWatch))
    func areSeenAtOnce() throws {
        let fixture = try MountFixture()
        try WatchedMount.must(Self.prepare, in: fixture)
        // The daemon may have it open.
        defer { _ = try? Spawn.run(["umount", "-ql", fixture.backing + "/mount/dir"]) }
        let places = Self.changes.map { "\(Self.directory(of: $0))/\($0.place)" }
        try WatchedMount.settle(places, fixture)
        #expect(try WatchedMount.number("watched_objects", fixture) > places.count)
        #expect(try WatchedMount.number("watched_bytes", fixture) > 0)
        var (longest, slowest) = (0, "")
        var late: [String] = []
        for (change, place) in zip(Self.changes, places) {
            #expect(
                WatchedMount.seen(fixture.path(place)).dropLast() == WatchedMount.seen(fixture.backing + "/" + place).dropLast(),
                "\(change.name) before")
            try WatchedMount.must("cd \(Self.directory(of: change)); \(change.script)", in: fixture)
            let from = ContinuousClock.now
            let now = WatchedMount.seen(fixture.backing + "/" + place)
            while WatchedMount.seen(fixture.path(place)).dropLast() != now.dropLast(), ContinuousClock.now - from < .seconds(3) {
                usleep(200)
            }
            let took = Int((ContinuousClock.now - from) / .milliseconds(1))
            #expect(took < 900, "\(change.name) was seen after \(took) ms, as without events")
            if took > 50 { late.append("\(change.name) \(took) ms") }
            if took > longest { (longest, slowest) = (took, change.name) }
        }
        // A thread may have to wait for a processor.
        #expect(late.count <= places.count / 2, "seen later than 50 ms: \(late)")
        print(
            "changes elsewhere: \(Self.changes.count) kinds; an old answer was seen for \(longest) ms at most after the change (\(slowest))"
        )
    }

    /// What decides about names in a busy directory is not read anew for each of them (docs/decisions/0040-directories-between-names.md). A change through
    /// a mount counts for the next call, one behind the mounts a moment later.
    @Test(arguments: [false, true])
    func aChangeOfABusyDirectoryCounts(_ isThroughAnotherMount: Bool) throws {
        let fixture = try MountFixture()
        var changed = fixture.path("d")
        if isThroughAnotherMount {
            let other = fixture.top + "/other"
            mkdir(other, 0o755)
            try fixture.mount(at: other)
            changed = other + "/d"
        }
        let root = try ActingProcess(.root)
        let (alice, bob) = (try ActingProcess(.alice), try ActingProcess(.bob))
        try root.must("mkdir", fixture.path("d"), "0777")
        try root.must("chmod", fixture.path("d"), "0777")
        func keepBusy() throws {
            for number in 0..<30 {
                for (process, name) in [(alice, "a"), (bob, "b")] {
                    try process.must("create", fixture.path("d/\(name)\(number)"), "0644")
                    // What is kept of the directory outlives it.
                    try process.must("chmod", fixture.path("d/\(name)\(number)"), "0600")
                    try process.must("unlink", fixture.path("d/\(name)\(number)"))
                }
            }
        }
        for round in 0..<(MountTesting.isLong ? 200 : 10) {
            for (index, change) in [
                ["chmod", changed, "0755"], ["setxattr", changed, "system.aclfs.acl", "user:#501 deny add_file"],
                ["setxattr", changed, "system.aclfs.flags", "uchg"],
            ].enumerated() {
                try keepBusy()
                try root.must(change)
                #expect(try !alice.call("create", fixture.path("d/refused"), "0644").isOK, "\(round) \(change)")
                let undone = [
                    ["chmod", changed, "0777"], ["removexattr", changed, "system.aclfs.acl"],
                    ["setxattr", changed, "system.aclfs.flags", ""],
                ]
                try root.must(undone[index])
                try alice.must("create", fixture.path("d/granted"), "0644")
                try alice.must("unlink", fixture.path("d/granted"))
            }
        }
        // Behind the mounts: by mode, and by record.
        try WatchedMount.must("mkdir closed", in: fixture)
        try root.must("setxattr", fixture.path("closed"), "system.aclfs.acl", "user:#501 deny add_file")
        for script in ["chmod 755 d", "getfattr -d -m trusted.aclfs -e hex closed | sed s/closed/d/ | setfattr --restore=-"] {
            try keepBusy()
            try WatchedMount.must(script, in: fixture)
            let from = ContinuousClock.now
            let isRefused = try eventually(within: 5) {
                if try alice.call("create", fixture.path("d/late"), "0644").isOK {
                    try root.must("unlink", fixture.path("d/late"))
                    return false
                }
                return true
            }
            #expect(isRefused, "\(script)")
            #expect(ContinuousClock.now - from < .milliseconds(1500), "\(script): a second is the bound where nothing tells of changes")
            try WatchedMount.must("chmod 777 d; setfattr -x trusted.aclfs d 2>/dev/null || true", in: fixture)
            #expect(eventually(within: 5) { (try? alice.call("create", fixture.path("d/again"), "0644").isOK) == true })
            try root.must("unlink", fixture.path("d/again"))
        }
    }

    /// Beside a mount that keeps what decides about names, one with `cache=strict` reads it for each of them.
    @Test func aStrictMountKeepsNothing() throws {
        let fixture = try MountFixture()
        let strict = fixture.top + "/strict"
        mkdir(strict, 0o755)
        try fixture.mount("cache=strict", at: strict)
        let (root, alice, bob) = (try ActingProcess(.root), try ActingProcess(.alice), try ActingProcess(.bob))
        try root.must("mkdir", fixture.path("d"), "0777")
        try root.must("chmod", fixture.path("d"), "0777")
        for round in 0..<8 {
            for number in 0..<(10 + round) { try alice.must("create", fixture.path("d/\(round)-\(number)"), "0644") }
            #expect(chmod(fixture.backing + "/d", 0o755) == 0)
            #expect(try !bob.call("create", strict + "/d/refused", "0644").isOK, "round \(round)")
            #expect(chmod(fixture.backing + "/d", 0o777) == 0)
            try bob.must("create", strict + "/d/granted", "0644")
            try root.must("unlink", strict + "/d/granted")
        }
    }

    /// A file that somebody has open for writing may change without an event.
    @Test(.enabled(if: mayWatch))
    func anOpenWriterKeepsAFileFromRest() throws {
        let fixture = try MountFixture()
        try WatchedMount.must("head -c 4096 /dev/zero >file", in: fixture)
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
            _ = WatchedMount.seen(fixture.path("file"))
            usleep(1_200_000)
        }
        input.fileHandleForWriting.write(Data("store\n".utf8))
        _ = output.fileHandleForReading.availableData
        let isSeen = eventually(within: 3) {
            WatchedMount.seen(fixture.path("file")).dropLast() == WatchedMount.seen(fixture.backing + "/file").dropLast()
        }
        #expect(isSeen)
    }

    /// Many at once, and more than the kernel keeps events of while the daemon does not read them.
    @Test(.enabled(if: mayWatch), arguments: [false, true])
    func manyAtOnce(_ stopsDaemon: Bool) throws {
        let fixture = try MountFixture()
        let count = MountTesting.isLong ? 10_000 : stopsDaemon ? 6000 : 1500
        try WatchedMount.must("mkdir d; cd d; for i in $(seq \(count)); do echo $i >$i; done", in: fixture)
        let paths = (1...count).map { "d/\($0)" }
        try WatchedMount.settle(paths, fixture)
        #expect(try WatchedMount.number("watched_objects", fixture) >= count)
        let daemons = MountFixture.daemons(of: fixture.mountpoint)
        #expect(!daemons.isEmpty)
        if stopsDaemon { for daemon in daemons { kill(daemon, SIGSTOP) } }
        try WatchedMount.must(
            "cd d; ls | awk 'NR % 3 == 0' | xargs chmod 640; ls | awk 'NR % 3 == 1' | xargs sh -c 'for f; do echo more >>$f; done' sh; "
                + "chown -R 501 .; touch -d 2002-02-02 *; rm 7 77 777", in: fixture)
        if stopsDaemon { for daemon in daemons { kill(daemon, SIGCONT) } }
        let from = ContinuousClock.now
        usleep(50_000)
        let stale = paths.filter {
            WatchedMount.seen(fixture.path($0)).dropLast() != WatchedMount.seen(fixture.backing + "/" + $0).dropLast()
        }
        let isRight = eventually(within: 3) {
            paths.allSatisfy { WatchedMount.seen(fixture.path($0)).dropLast() == WatchedMount.seen(fixture.backing + "/" + $0).dropLast() }
        }
        print("changes elsewhere: \(stale.count) of \(count) old answers after 50 ms, none after \(ContinuousClock.now - from)")
        #expect(isRight)
        // After a stop the daemon first has to read what the kernel kept for it.
        if !stopsDaemon { #expect(stale.count < count / 10) }
    }

    @Test func withoutEventsTheSecondCounts() throws {
        let fixture = try MountFixture(options: "kernel_features=-fanotify")
        try WatchedMount.must("echo 1 >file", in: fixture)
        for _ in 0..<4 {
            _ = WatchedMount.seen(fixture.path("file"))
            usleep(1_200_000)
        }
        #expect(try WatchedMount.number("watched_objects", fixture) == 0)
        let said = try Spawn.run([MountTesting.program("aclfs"), "status", fixture.mountpoint]).output
        #expect(said.contains("hidden by kernel_features"))
        _ = WatchedMount.seen(fixture.path("file"))
        try WatchedMount.must("echo more >>file", in: fixture)
        let isSeen = eventually(within: 3) {
            WatchedMount.seen(fixture.path("file")).dropLast() == WatchedMount.seen(fixture.backing + "/file").dropLast()
        }
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
        try WatchedMount.must("for i in 1 2 3; do head -c 10000000 /dev/zero >$i; done", in: fixture)
        let areWatched = try eventually(within: 15) {
            for name in ["1", "2", "3"] { _ = WatchedMount.seen(fixture.path(name)) }
            usleep(1_200_000)
            return try WatchedMount.number("watched_objects", fixture) > 3
        }
        #expect(areWatched)
        #expect(try Spawn.run(["sh", "-c", "rm $0/[123]", fixture.mountpoint]).status == 0)
        #expect(eventually(within: 5) { empty - free() < 1_000_000 }, "\(empty) \(free())")
        try fixture.unmount()
    }
}
