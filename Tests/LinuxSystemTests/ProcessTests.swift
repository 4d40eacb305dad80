import Glibc
import Testing

@testable import LinuxSystem

@Suite("threads and processes")
struct ProcessTests {
    @Test("the status of the calling thread shows its own ids")
    func own() throws {
        let status = try ThreadIdentity.read(tid: Syscall.threadID)
        #expect(status.fsuid == geteuid() && status.fsgid == getegid() && status.startTime > 0)
        var groups = [gid_t](repeating: 0, count: 65536)
        let count = getgroups(Int32(groups.count), &groups)
        #expect(Set(status.groups ?? []) == Set(groups.prefix(Int(count))))
    }

    @Test("a thread that does not exist has no status")
    func absent() {
        #expect(throws: Errno.noent) { _ = try ThreadIdentity.read(tid: Int32.max) }
    }

    @Test("the fourth numbers count, and a hostile name confuses nothing")
    func parsing() {
        let text = "Name:\tx\\nUid:\t0 0 0 0\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \nVmPeak:\t 1 kB\n"
        let status = ThreadIdentity(status: Array(text.utf8), startTime: 1)
        #expect(status?.fsuid == 4 && status?.fsgid == 8 && status?.groups == [9, 10])
        #expect(ThreadIdentity(status: Array("Uid:\t1 2 3 4\nGroups:\t\n".utf8), startTime: 1) == nil)
        // Capabilities that are not there, or no number, are none.
        #expect(status?.effective == 0 && status?.permitted == 0)
        let capable = ThreadIdentity(status: Array((text + "CapPrm:\t000000000000000g\nCapEff:\t0000000080000004\n").utf8), startTime: 1)
        #expect(capable?.effective == 0x8000_0004 && capable?.permitted == 0)
        let bad = "Uid:\t1 2 3 4\nGid:\t1 2 3 x\nGroups:\t\n"
        #expect(ThreadIdentity(status: Array(bad.utf8), startTime: 1) == nil)
        let stat = "7 (a) 1 2 (b) S" + (4...21).map { " \($0)" }.joined() + " 4711 23\n"
        #expect(ThreadIdentity.startTime(stat: Array(stat.utf8)) == 4711)
        #expect(ThreadIdentity.startTime(stat: Array("7 (a) S 1".utf8)) == nil)
    }

    @Test("a signal counts if it was sent to the thread or to its process and is not held back")
    func pendingSignals() {
        func exist(_ own: String, _ shared: String, _ held: String) -> Bool {
            let text = "Name:\tSigPnd:\nSigQ:\t1/2\nSigPnd:\t\(own)\nShdPnd:\t\(shared)\nSigBlk:\t\(held)\nSigIgn:\t0\n"
            return PendingSignals.exist(status: Array(text.utf8))
        }
        let (none, one, all) = ("0000000000000000", "0000000000000200", "ffffffffffffffff")
        #expect(!exist(none, none, none))
        #expect(exist(one, none, none) && exist(none, one, none))
        #expect(!exist(one, one, one) && !exist(one, one, all))
        #expect(!PendingSignals.exist(status: []) && !PendingSignals.exist(for: 0))
        #expect(!PendingSignals.exist(for: Syscall.threadID) && !PendingSignals.exist(for: Int32.max))
    }

    @Test("who runs or waits is awake, whatever its name; who is not there is not")
    func awake() throws {
        #expect(ProcessState.letter(stat: Array("7 (a) T (b) S 1".utf8)) == UInt8(ascii: "S"))
        #expect(ProcessState.letter(stat: Array("7 (a)".utf8)) == nil)
        #expect(try ProcessState.isAwake(getpid()))
        #expect(try !ProcessState.isAwake(Int32.max))
    }

    @Test("a thread runs under its name and is joined")
    func threads() throws {
        let seen = Lock<[UInt8]>([])
        let thread = try Thread.start(name: "a-rather-long-name", stackSize: 1 << 20) {
            let text = try? Syscall.readAll(path: "/proc/self/task/\(Syscall.threadID)/comm")
            seen.withLock { $0 = text ?? [] }
        }
        thread.join()
        #expect(seen.withLock { String(decoding: $0, as: UTF8.self) } == "a-rather-long-n\n")
        #expect(throws: Errno.inval) { _ = try Thread.start(name: "x", stackSize: 1) {} }
    }

    @Test("writers exclude each other and readers")
    func lock() throws {
        final class Counter: @unchecked Sendable { var value = 0 }
        let (lock, counter) = (ReadWriteLock(), Counter())
        let work: @Sendable () -> Void = {
            for _ in 0..<20000 {
                lock.withWriteLock { counter.value += 1 }
                lock.withReadLock { _ = counter.value }
            }
        }
        let first = try Thread.start(name: "first", work)
        let second = try Thread.start(name: "second", work)
        first.join()
        second.join()
        #expect(lock.withReadLock { counter.value } == 40000)
    }

    /// In a process of its own: a thread of this one may hold a lock of Swift's runtime just when it is forked, and in the child nobody
    /// would ever give that back.
    @Test("the command learns how its daemon fared")
    func daemon() async {
        await #expect(processExitsWith: .success) {
            let served = try Self.report { try $0.ready() }
            let failed = try Self.report { try $0.fail(status: 3, message: "no such directory") }
            let died = try Self.report { _ in }
            #expect(served == .ready)
            #expect(failed == .failed(status: 3, message: "no such directory"))
            #expect(died == .died)
        }
    }

    private static func report(_ serve: (consuming Daemon.Readiness) throws -> Void) throws -> Daemon.Outcome {
        switch try Daemon.detach() {
        case .command(let outcome): return outcome
        case .daemon(let readiness):
            try? serve(readiness)
            _exit(0)
        }
    }

    @Test("the descriptor limit is known and the clocks go on")
    func limits() throws {
        let limit = try Syscall.descriptorLimit()
        #expect(limit.soft > 0 && limit.soft <= limit.hard)
        try Syscall.setDescriptorLimit(soft: limit.soft, hard: limit.hard)
        let start = SystemTime.monotonic()
        #expect(SystemTime.monotonic() >= start)
        #expect(SystemTime.now().sec > 1_700_000_000)
    }
}

@Suite("mounts", .enabled(if: isRoot, "needs root"))
struct MountCallTests {
    @Test("a tmpfs is mounted and unmounted")
    func tmpfs() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let flags = MountFlag.noSetID | MountFlag.noDevices
        guard (try? Syscall.mount(source: "test", target: path, type: "tmpfs", flags: flags, data: "size=64k")) != nil
        else { return }
        let root = try Syscall.open(path, OpenFlag.path)
        let mounted = try Syscall.fileSystemType(root.rawValue)
        close(root.release())
        #expect(mounted == FileSystemType.tmpfs)
        try Syscall.unmount(path, flags: UnmountFlag.noFollow)
        let below = SharedDescriptor(try Syscall.open(path, OpenFlag.path))
        let (after, before) = (try Syscall.statx(below.rawValue), try Syscall.statx(directory.descriptor))
        #expect(after.mountID == before.mountID && after.inode == before.inode)
    }
}

/// The call in which a thread waits, by the text of /proc.
@Suite struct CallInProgressTests {
    @Test(arguments: [
        ("0x3 0x7ffd10 0x1 0x0 0x0 0x10 0x7ffd00 0x7f20", true), ("0x3 0x7ffd10 0x1 0x0 0x0 0x12 0x7ffd00 0x7f20", true),
        ("0x3 0x7ffd10 0x1 0x0 0x0 0x2 0x7ffd00 0x7f20", false), ("0x3 0x7ffd10", false), ("", false),
    ]) func saysWhetherItAppends(_ arguments: String, _ expected: Bool) {
        #if arch(x86_64)
            let number = 328
        #else
            let number = 287
        #endif
        #expect(CallInProgress.appends(call: Array("\(number) \(arguments)\n".utf8)) == expected)
        #expect(!CallInProgress.appends(call: Array("1 \(arguments)\n".utf8)))
    }

    @Test func ofAThreadThatIsNotThere() {
        #expect(!CallInProgress.appends(tid: 0))
        #expect(!CallInProgress.appends(tid: .max))
        #expect(!CallInProgress.appends(call: Array("running\n".utf8)))
    }
}
