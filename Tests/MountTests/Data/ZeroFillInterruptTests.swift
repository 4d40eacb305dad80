import Foundation
import Glibc
import TestSupport
import Testing

/// A program that waits in close(2) for the room of a large gap is not held there: a signal ends the wait, and what is
/// left is reserved without it (docs/internals/zerofill.md "Large gaps").
@Suite(.serialized, .enabled(if: LoopTesting.isPossible, "needs root, /dev/fuse, loop devices and mkfs.ext4"))
struct ZeroFillInterruptTests {
    /// A sparse file system large enough for many pieces, which can be made to stand still.
    private struct World {
        let fixture: ZeroFillFixture
        let daemon: pid_t
        static let size = 100 << 30

        init(_ options: String) throws {
            fixture = try ZeroFillFixture(.ext4, options, megabytes: 120 << 10)
            daemon = try #require(MountFixture.daemons(of: fixture.mount.mountpoint).first)
        }

        func freeze() throws { try must("fsfreeze", "-f", fixture.mount.backing) }
        func thaw() throws { try must("fsfreeze", "-u", fixture.mount.backing) }

        private func must(_ command: String...) throws {
            let result = try Spawn.run(command)
            guard result.status == 0 else { throw FixtureError("\(command): \(result)") }
        }

        /// Threads of the daemon that wait for the backing file system.
        func standing() throws -> Int {
            let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task")
            return tasks.filter { state("/proc/\(daemon)/task/\($0)/stat") == "D" }.count
        }
    }

    private static func await(_ what: String, _ condition: () throws -> Bool) throws {
        guard try eventually(condition) else { throw FixtureError("in vain: \(what)") }
    }

    /// A program that has made its gap and closes when told.
    private final class Closer {
        let pid: pid_t
        private let input: Int32
        private let output: Int32
        private(set) var hasEnded = false

        init(_ world: World, _ name: String, size: Int = World.size) throws {
            let (toProcess, fromProcess) = (try Spawn.pipe(), try Spawn.pipe())
            (input, output) = (toProcess.writing, fromProcess.reading)
            let words = TestUser.alice.arguments + ["--"]
            pid = try Spawn.start(
                words + [MountTesting.program("aclfs-gaps"), "close", String(size), world.fixture.path(name)],
                descriptors: [toProcess.reading, fromProcess.writing, 2])
            close(toProcess.reading)
            close(fromProcess.writing)
            guard try line() == "ready" else { throw FixtureError("no gap") }
        }

        deinit {
            if !hasEnded { kill(pid, SIGKILL) }
            close(input)
            close(output)
            if !hasEnded { _ = Spawn.wait(pid) }
        }

        func go() { _ = write(input, "\n", 1) }

        func line() throws -> String {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(output, &bytes, bytes.count)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).trimmingCharacters(in: .newlines)
        }

        var state: String { ZeroFillInterruptTests.state("/proc/\(pid)/stat") }

        func wait() -> Int32 {
            hasEnded = true
            return Spawn.wait(pid)
        }
    }

    fileprivate static func state(_ path: String) -> String {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: ")").last.flatMap { $0.split(separator: " ").first.map(String.init) } ?? ""
    }

    /// The rest is reserved, though nobody waits for it.
    private func expectReserved(_ world: World, _ name: String) throws {
        try Self.await("the rest is reserved") { try world.fixture.occupied(name) >= World.size }
        var status = try world.fixture.status(name)
        #expect(Int(status.st_size) == World.size)
        let file = open(world.fixture.path(name), O_RDONLY)
        defer { close(file) }
        var bytes = [UInt8](repeating: 1, count: 4096)
        for offset in [0, World.size / 2, World.size - 4096] {
            #expect(pread(file, &bytes, 4096, off_t(offset)) == 4096 && bytes.allSatisfy { $0 == 0 })
        }
        status = try world.fixture.status(name, onMount: true)
        #expect(Int(status.st_size) == World.size)
    }

    /// Sends a signal to who waits for room, and lets the file system go on when the kernel has told the daemon.
    private func interrupt(_ closer: Closer, _ world: World, by signal: Int32) throws {
        try world.freeze()
        closer.go()
        defer { try? world.thaw() }
        try Self.await("it is being reserved") { try world.standing() > 0 && closer.state == "S" }
        kill(closer.pid, signal)
        // It has told the kernel, and waits on for the answer.
        try Self.await("it is interrupted") { closer.state == "D" }
    }

    @Test(arguments: RingTesting.transports) func aSignalEndsTheWait(_ transport: String) throws {
        let world = try World("transport=\(transport)")
        let closer = try Closer(world, "f")
        try interrupt(closer, world, by: SIGUSR1)
        #expect(try closer.line() == "EINTR")
        #expect(closer.wait() == 0)
        try expectReserved(world, "f")
    }

    @Test(arguments: RingTesting.transports) func whoIsKilledIsGone(_ transport: String) throws {
        let world = try World("transport=\(transport)")
        let closer = try Closer(world, "f")
        try interrupt(closer, world, by: SIGKILL)
        #expect(closer.wait() == 128 + SIGKILL)
        try expectReserved(world, "f")
    }
}
