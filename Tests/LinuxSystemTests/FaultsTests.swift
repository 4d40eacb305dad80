import Glibc
import Testing

@testable import LinuxSystem

/// The seam by which tests have system calls fail (docs/internals/testing.md "Calls that fail").
struct FaultsTests {
    @Test func theCallWithANumberFailsAndIsNotMade() throws {
        let directory = try TemporaryDirectory()
        let (result, faults) = Faults.with(.call(2, .nospc)) { () throws(Errno) in
            try Syscall.mkdirat(directory.descriptor, "first", mode: 0o700)
            try Syscall.mkdirat(directory.descriptor, "second", mode: 0o700)
        }
        #expect(throws: Errno.nospc) { try result.get() }
        #expect(faults.calls == ["mkdirat(_:_:mode:)", "mkdirat(_:_:mode:)"] && faults.failures == 1)
        _ = try Syscall.statxAt(directory.descriptor, "first")
        #expect(throws: Errno.noent) { try Syscall.statxAt(directory.descriptor, "second") }
        // Without the seam all is as before.
        try Syscall.mkdirat(directory.descriptor, "second", mode: 0o700)
    }

    @Test func allCallsFromANumberOnFail() throws {
        let directory = try TemporaryDirectory()
        let (result, faults) = Faults.with(.callsFrom(2, .io)) { () throws(Errno) -> Bool in
            _ = try Syscall.statx(directory.descriptor)
            do throws(Errno) { _ = try Syscall.statx(directory.descriptor) } catch {
                return (try? Syscall.dup(directory.descriptor)) == nil
            }
            return false
        }
        #expect(try result.get())
        #expect(faults.calls.count == 3 && faults.failures == 2)
    }

    /// As a signal that comes before a call: who repeats does not notice, and each attempt counts.
    @Test func whatASignalInterruptsIsRepeated() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("file", "text")
        let (result, faults) = Faults.with(.call(1, .intr)) { () throws(Errno) in try Syscall.statx(file.rawValue).size }
        #expect(try result.get() == 4 && faults.calls.count == 2)
        let once = Faults.with(.call(1, .intr)) { () throws(Errno) in
            try Syscall.fallocate(file.rawValue, mode: 0, offset: 0, length: 1)
        }
        #expect(throws: Errno.intr) { try once.result.get() }
    }

    @Test func otherThreadsAreNotConcerned() throws {
        let directory = try TemporaryDirectory()
        let descriptor = directory.descriptor
        let isDone = Monitor(false)
        let (_, faults) = Faults.with(.callsFrom(1, .io)) {
            let thread = try? Thread.start(name: "other") {
                let isRead = (try? Syscall.statx(descriptor)) != nil
                isDone.withLock { $0 = isRead }
            }
            thread?.join()
        }
        #expect(isDone.withLock { $0 })
        #expect(faults.calls.isEmpty)
    }

    /// Each value comes from a call that was made after the seam was asked, not before.
    @Test func aCallThatIsNotMadeHasNoEffect() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("file", "text")
        for error in [Errno.io, .nospc, .mfile] {
            func fails(_ body: () throws(Errno) -> Void) -> Bool {
                let (result, faults) = Faults.with(.call(1, error), body)
                guard faults.calls.count == 1, case .failure(error) = result else { return false }
                return true
            }
            #expect(fails { () throws(Errno) in try Syscall.ftruncate(file.rawValue, size: 0) })
            #expect(fails { () throws(Errno) in try Syscall.fchmod(file.rawValue, mode: 0) })
            #expect(fails { () throws(Errno) in try Syscall.unlinkat(directory.descriptor, "file") })
            #expect(fails { () throws(Errno) in try Syscall.lseek(file.rawValue, offset: 2, whence: Seek.set) })
            #expect(fails { () throws(Errno) in try Syscall.setxattr(.open(file.rawValue), "user.name", [1]) })
            #expect(fails { () throws(Errno) in _ = try Syscall.nameToHandle(file.rawValue) })
            #expect(fails { () throws(Errno) in _ = try Syscall.dup(file.rawValue) })
        }
        let status = try Syscall.statx(file.rawValue)
        #expect(status.size == 4 && status.mode & 0o7777 == 0o644 && status.nlink == 1)
        #expect(try Syscall.lseek(file.rawValue, offset: 0, whence: SEEK_CUR) == 0)
        #expect(try Syscall.listxattr(.open(file.rawValue)).isEmpty)
    }
}
