import LinuxSystem
import Synchronization
import Testing

@testable import ACLFileSystem
@testable import BackingStore

/// What runs on spare threads, who waits for it and for how long (docs/decisions/0020-held-files.md).
@Suite struct HeldFilesTests {
    private let held = HeldFiles()
    private let key = ObjectKey(device: 1, inode: 2, handle: nil)
    private let other = ObjectKey(device: 1, inode: 3, handle: nil)
    /// Over as soon as the act has begun.
    private let none = HeldFiles.Deadlines(untilFree: 60_000_000_000, step: 1)

    /// Holds what it runs on until it is let go.
    private final class Holder: Sendable {
        private let isFree = Monitor(false)
        private let hasBegun = Monitor(false)

        func hold() {
            hasBegun.withLock { $0 = true }
            _ = isFree.wait(until: .max) { $0 ? true : nil }
        }
        func letGo() { isFree.withLock { $0 = true } }
        func awaitBegin() { _ = hasBegun.wait(until: .max) { $0 ? true : nil } }
    }

    /// One line for each held object, not more often than a holder could be pleased with.
    @Test func whatTheAdministratorIsTold() {
        var reports = HeldReports()
        let second: UInt64 = 1_000_000_000
        let line =
            "inode 2 is held: a read or write of the object has not ended, and changes of the object fail with EBUSY until it ends"
        #expect(reports.line(for: [key], at: second) == line)
        #expect(reports.line(for: [other], at: 2 * second) == nil)
        #expect(reports.line(for: [other], at: 10 * second) == nil)
        #expect(reports.line(for: [key, other], at: 11 * second) == line + "; 2 more since the last such line")
        #expect(reports.line(for: [key], at: 21 * second) == line)
        #expect(reports.line(for: [], at: 60 * second) == nil)
    }

    @Test func theResultIsHandedOver() throws {
        let isMarked = try held.run([key], for: 1, .change, changes: true) { _ throws(Errno) in ThreadMark.isSet }
        #expect(isMarked)
        #expect(!ThreadMark.isSet)
        #expect(!held.isChanging(key))
        #expect(throws: Errno.nospc) { try held.run([key], for: 1, .change, changes: true) { _ throws(Errno) -> Int in throw .nospc } }
    }

    /// Who waits no longer gets `held`; a late result is taken back; and the object is known to be held until then.
    @Test func aHeldObject() throws {
        let holder = Holder()
        let takenBack = Monitor<Int?>(nil)
        #expect(throws: Errno.held) {
            try held.run([key], for: 1, none, changes: true, discard: { value in takenBack.withLock { $0 = value } }) {
                _ throws(Errno) in
                holder.hold()
                return 7
            }
        }
        holder.awaitBegin()
        #expect(held.isChanging(key))
        #expect(held.heldCount == 1)
        #expect(held.threadCount == 1)
        // Nothing is begun any more, not even data.
        let isRun = Monitor(false)
        for changes in [true, false] {
            #expect(throws: Errno.held) {
                try held.run([key], for: 2, .data, changes: changes) { _ throws(Errno) in isRun.withLock { $0 = true } }
            }
        }
        #expect(!isRun.withLock { $0 })
        #expect(try held.run([other], for: 2, .change, changes: true) { _ throws(Errno) in 1 } == 1)
        holder.letGo()
        #expect(takenBack.wait(until: .max) { $0 } == 7)
        #expect(held.heldCount == 0)
        #expect(try held.run([key], for: 1, .change, changes: true) { _ throws(Errno) in 1 } == 1)
    }

    /// What was not begun when the caller went is not begun any more.
    @Test func nothingIsBegunForWhoHasGone() throws {
        let holder = Holder()
        let outcome = Monitor<Errno?>(nil)
        #expect(throws: Errno.held) {
            try held.run([key], for: 1, none, changes: true) { [key] _ throws(Errno) in
                holder.hold()
                do throws(Errno) {
                    try ActMark.current?.beginAct(on: key, isFile: true)
                    outcome.withLock { $0 = .already }
                } catch { outcome.withLock { $0 = error } }
            }
        }
        holder.letGo()
        #expect(outcome.wait(until: .max) { $0 } == .held)
    }

    /// Nor is anything done to another file than the one that was looked at.
    @Test func anotherFileIsNotActedOn() throws {
        #expect(throws: Errno.held) {
            try held.run([key], for: 1, .change, changes: true) { [other] _ throws(Errno) in
                try ActMark.current?.beginAct(on: other, isFile: true)
            }
        }
    }

    /// A user who has as many threads asleep as one may gets no further one, and others do.
    @Test func oneUserTakesNotAllThreads() throws {
        let holder = Holder()
        let begun = Monitor(0)
        for number: UInt64 in 0..<70 {
            let key = ObjectKey(device: 2, inode: number, handle: nil)
            #expect(throws: Errno.held) {
                try held.run([key], for: 1, none, changes: true) { _ throws(Errno) in
                    begun.withLock { $0 += 1 }
                    holder.hold()
                }
            }
        }
        #expect(begun.withLock { $0 } == 64)
        #expect(try held.run([key], for: 2, .change, changes: true) { _ throws(Errno) in 1 } == 1)
        holder.letGo()
    }

    /// Changes of an object come one after the other.
    @Test func changesTakeTurns() throws {
        let holder = Holder()
        let order = Monitor<[Int]>([])
        let (held, key) = (held, key)
        let first = try Thread.start(name: "first") {
            try? held.run([key], for: 1, .change, changes: true) { _ throws(Errno) in
                holder.hold()
                order.withLock { $0.append(1) }
            }
        }
        holder.awaitBegin()
        let second = try Thread.start(name: "second") {
            try? held.run([key], for: 1, .data, changes: true) { _ throws(Errno) in order.withLock { $0.append(2) } }
        }
        holder.letGo()
        first.join()
        second.join()
        #expect(order.withLock { $0 } == [1, 2])
    }

    @Test func aClosedGate() {
        let gates = NameGates()
        let now = SystemTime.monotonic()
        #expect(gates.close([.directory(key), .crossing], until: now))
        #expect(gates.isClosed(.directory(key)))
        #expect(!gates.isClosed(.directory(other)))
        #expect(!gates.close([.directory(other), .crossing], until: now))
        #expect(gates.close([.directory(other)], until: now))
        gates.open([.directory(key), .crossing])
        #expect(!gates.isClosed(.directory(key)))
        #expect(gates.isClosed(.directory(other)))
        gates.open([.directory(other)])
    }

    /// Changes of names one after the other do not keep a look-up waiting.
    @Test func aChangeWaitsForWhoWaited() throws {
        let gates = NameGates()
        let soon = SystemTime.monotonic() + 10_000_000_000
        #expect(gates.close([.directory(key)], until: soon))
        let openings = gates.openings
        let order = Lock<[String]>([])
        let isWaiting = Atomic<Bool>(false)
        let waiter = try Thread.start(name: "waiter") {
            isWaiting.store(true, ordering: .relaxed)
            guard gates.awaitOpening(since: openings, until: soon) else { return }
            SystemTime.sleep(nanoseconds: 5_000_000)
            order.withLock { $0.append("look-up") }
            gates.endTry()
        }
        while !isWaiting.load(ordering: .relaxed) { SystemTime.sleep(nanoseconds: 100_000) }
        SystemTime.sleep(nanoseconds: 5_000_000)
        gates.open([.directory(key)])
        #expect(gates.close([.directory(key)], until: soon))
        order.withLock { $0.append("change") }
        waiter.join()
        #expect(order.withLock { $0 } == ["look-up", "change"])
        // None waits for one that does not come back.
        let again = gates.openings
        gates.open([.directory(key)])
        #expect(gates.awaitOpening(since: again, until: soon))
        #expect(gates.close([.directory(key)], until: soon))
        #expect(!gates.awaitOpening(since: gates.openings, until: SystemTime.monotonic()))
    }

    /// No number of ours reaches a kernel.
    @Test func whatTheKernelIsTold() {
        for error in [Errno.held, .mayBeHeld, .nameHeld, .claimed] { #expect(error.answered == .busy) }
        #expect(Errno.acces.answered == .acces)
    }
}
