import Foundation
import Glibc
import TestSupport
import Testing

/// docs/internals/coherence.md "Changes elsewhere": when an object rests, how long, and what ends it. Each test waits most of the time, on a mount of its
/// own, so they run side by side.
@Suite(.enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ObjectsAtRestTests {
    /// Nothing that is kept has to be asked for again, whatever the time.
    @Test(.enabled(if: ChangesElsewhereTests.mayWatch))
    func anObjectAtRestIsNotAskedAbout() throws {
        let fixture = try MountFixture()
        try WatchedMount.must("mkdir -p a/b; for i in $(seq 200); do echo $i >a/b/$i; done", in: fixture)
        let paths = (1...200).map { "a/b/\($0)" }
        try WatchedMount.settle(paths, fixture)
        usleep(3_000_000)
        let before = try WatchedMount.number("allowed", fixture)
        for path in paths { _ = WatchedMount.seen(fixture.path(path)) }
        #expect(try WatchedMount.number("allowed", fixture) - before <= 3)
    }

    /// A program that changes names through the mount does not make the rest of the tree forgotten.
    @Test(.enabled(if: ChangesElsewhereTests.mayWatch))
    func ownChangesLeaveTheOthersAlone() throws {
        let fixture = try MountFixture()
        try WatchedMount.must("mkdir -p a/b .git; echo 1 >.git/index; for i in $(seq 200); do echo $i >a/b/$i; done", in: fixture)
        let paths = (1...200).map { "a/b/\($0)" } + [".git/index", ".git/none"]
        try WatchedMount.settle(paths, fixture)
        let before = try WatchedMount.number("allowed", fixture)
        for _ in 0..<3 {
            #expect(try Spawn.run(["sh", "-c", "cd $0/.git && echo 2 >lock && mv lock index", fixture.mountpoint]).status == 0)
            for path in paths { _ = WatchedMount.seen(fixture.path(path)) }
            usleep(1_500_000)
        }
        #expect(try WatchedMount.number("allowed", fixture) - before < 100)
    }

    /// Callers who read a file through the mount cause events as well. A writer comes and goes between two of them.
    @Test(.enabled(if: ChangesElsewhereTests.mayWatch))
    func aShortWriterBetweenReadersIsSeen() throws {
        let fixture = try MountFixture()
        let names = (1...12).map { "file\($0)" }
        try WatchedMount.must("for i in $(seq 12); do head -c 8192 /dev/zero >file$i; done", in: fixture)
        try WatchedMount.settle(names, fixture)
        for name in names {
            for _ in 0..<3 { #expect(try Spawn.run(["cat", fixture.path(name)]).status == 0) }
            try WatchedMount.must("python3 -c '\(ChangesElsewhereTests.map)' \(name)", in: fixture)
            let isSeen = eventually(within: 3) {
                WatchedMount.seen(fixture.path(name)).dropLast() == WatchedMount.seen(fixture.backing + "/" + name).dropLast()
            }
            #expect(isSeen, "\(name)")
        }
    }

    /// An object that changed through the mount rests again three seconds later, not when its first timeout is over.
    @Test(.enabled(if: ChangesElsewhereTests.mayWatch))
    func whatChangedThroughTheMountRestsAgain() throws {
        let fixture = try MountFixture()
        try WatchedMount.must("mkdir -p d1 d2 d3; echo 1 >file; touch d1/a $(seq 8)", in: fixture)
        let paths = ["d1", "d2", "d3", "file"]
        try WatchedMount.settle(paths + (1...8).map { "\($0)" }, fixture)
        let changes = "cd $0; touch d1/new; mv d1/a d2/a; mkdir d3/in; setfattr -n user.x -v 1 file; ln file d3/link"
        #expect(try Spawn.run(["sh", "-ec", changes, fixture.mountpoint]).status == 0)
        usleep(3_200_000)
        for _ in 0..<2 {
            for path in paths { _ = WatchedMount.seen(fixture.path(path)) }
            usleep(1_300_000)
        }
        let before = try WatchedMount.number("allowed", fixture)
        for path in paths {
            #expect(WatchedMount.seen(fixture.path(path)).dropLast() == WatchedMount.seen(fixture.backing + "/" + path).dropLast())
        }
        #expect(try WatchedMount.number("allowed", fixture) - before <= 3)
    }

    /// The kernel keeps the listing of a directory at rest. Another mount may change its names, and set its times back.
    @Test(.enabled(if: ChangesElsewhereTests.mayWatch))
    func aListingDoesNotOutliveAChangeThroughAnotherMount() throws {
        let fixture = try MountFixture()
        let names = (10...40).map { "\($0)" }
        try WatchedMount.must("mkdir d; touch $(seq -f d/%g 10 40); touch -d 2001-02-03 d", in: fixture)
        func list(_ place: String) throws -> String { try Spawn.run(["ls", "\(place)/d"]).output }
        try WatchedMount.settle(names.map { "d/" + $0 } + ["d"], fixture)
        for _ in 0..<3 { _ = try list(fixture.mountpoint) }
        // The kernel has it.
        let before = try WatchedMount.number("allowed", fixture)
        _ = try list(fixture.mountpoint)
        #expect(try WatchedMount.number("allowed", fixture) - before < 20)
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
    @Test(.enabled(if: ChangesElsewhereTests.mayWatch && BackingKind.reserving.contains(.btrfs), "needs Btrfs"))
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
    @Test(
        .enabled(if: ChangesElsewhereTests.mayWatch && !MountTesting.standingOptions.contains("uring"), "delays replies through the device")
    )
    func aReplyInFlightDoesNotLast() throws {
        let fixture = try MountFixture(options: "transport=dev")
        try WatchedMount.must("touch file $(seq 8)", in: fixture)
        try WatchedMount.settle(["file"] + (1...8).map { "\($0)" }, fixture)
        // All entries are stale now, so the kernel forgets the object when it is next looked up. It stays watched.
        try WatchedMount.must("touch another", in: fixture)
        usleep(200_000)
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
}
