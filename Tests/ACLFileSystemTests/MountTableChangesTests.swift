import ACLFormats
import BackingStore
import ControlProtocol
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization
import Testing

@testable import ACLFileSystem

/// What was mounted a moment ago, and is not seen yet, is not detached by a bump that can wait (docs/internals/coherence.md "The price of
/// a bump").
struct MountTableChangesTests {
    private static let second: UInt64 = 1_000_000_000
    private let cache = KernelCache(.auto)
    private let directory: Node
    private let file: Node
    private let hasNews = Flag()

    private final class Flag: Sendable { let flag = Atomic<Bool>(false) }

    init() throws {
        let tree = try BackingTree(
            directory: Syscall.open("/etc", OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs",
            descriptorBudget: 64, report: { _ in })
        directory = Node(id: NodeID(2), object: tree.root)
        let descriptor = try tree.descriptor(of: tree.root)
        file = Node(id: NodeID(3), object: try tree.resolve("passwd", in: descriptor, Syscall.statx(descriptor.rawValue)).object)
        cache.begin(hasEpoch: true)
        cache.watchMountTable(MountTableChanges { [hasNews] in hasNews.flag.exchange(false, ordering: .relaxed) })
        look()
    }

    private func look() {
        cache.beginMountTableRead()
        cache.endMountTableRead()
    }

    private func mount() { hasNews.flag.store(true, ordering: .relaxed) }

    @discardableResult private func expose() -> Double {
        cache.expose("name", NamedChild(node: file, isOnOtherMount: false), below: directory, at: Timespec(sec: 7, nsec: 7)) {
            $0 == .ctime
        }
    }

    private var bumps: Int64? { JSON.object(cache.status)["epoch_bumps"]?.integer }

    private func tick(after seconds: UInt64 = 2, areUnchanged: Bool = false) {
        cache.tick(SystemTime.monotonic() + seconds * Self.second) { _ in areUnchanged ? .unchanged(read: 1) : .changed }
    }

    @Test func timeWaitsForTheLook() {
        expose()
        mount()
        tick()
        #expect(bumps == 0)
        #expect(cache.isMountTableReadDue)
        tick()
        #expect(bumps == 0, "still nobody has looked")
        cache.beginMountTableRead()
        tick()
        #expect(bumps == 0, "somebody is looking")
        cache.endMountTableRead()
        tick()
        #expect(bumps == 1)
    }

    /// Between the look at the directories and the bump there may be a while.
    @Test func alsoWhatIsMountedDuringALookAtTheDirectories() {
        expose()
        cache.tick(SystemTime.monotonic() + 2 * Self.second) { _ in
            mount()
            return .changed
        }
        #expect(bumps == 0)
        #expect(cache.nextDeadline != nil, "it is due still")
        look()
        tick()
        #expect(bumps == 1)
    }

    @Test func whatFollowsARevocationWaitsToo() {
        expose()
        cache.invalidateEntries(below: directory)
        #expect(bumps == 1)
        mount()
        tick()
        #expect(bumps == 1)
        look()
        tick()
        #expect(bumps == 2)
        expose()
        cache.requestBump()
        mount()
        tick(after: 0)
        #expect(bumps == 2)
    }

    /// The right that is taken counts for more.
    @Test func aRevocationDoesNot() {
        expose()
        mount()
        cache.invalidateEntries(below: directory)
        #expect(bumps == 1)
    }

    @Test func whatIsMountedAsTheLastOneGoesIsSeenFirst() throws {
        expose()
        let batch = try #require(cache.suspendForMountsBelow(unused: ExposedEntries()))
        cache.finish(batch.ticket)
        mount()
        cache.resume(.mountsBelow)
        #expect(bumps == 0)
        #expect(expose() == 0)
        look()
        cache.resume(.mountsBelow)
        #expect(bumps == 1)
        #expect(expose() > 0)
    }

    @Test func aDirectoryIsNotDroppedThen() {
        #expect(cache.confirmMayInvalidate())
        mount()
        #expect(!cache.confirmMayInvalidate())
        look()
        #expect(cache.confirmMayInvalidate())
        #expect(cache.suspendForMountsBelow(unused: ExposedEntries()) != nil)
        #expect(!cache.confirmMayInvalidate())
    }

    @Test func settledIsWhatWasSeenAndTakenBack() throws {
        #expect(cache.confirmInvalidated())
        expose()
        mount()
        #expect(!cache.confirmInvalidated())
        cache.beginMountTableRead()
        #expect(!cache.confirmInvalidated())
        let batch = try #require(cache.suspendForMountsBelow(unused: ExposedEntries()))
        cache.endMountTableRead()
        #expect(!cache.confirmInvalidated())
        cache.finish(batch.ticket)
        #expect(cache.confirmInvalidated())
    }

    @Test func theClockIsWokenToLook() {
        let rung = Atomic(0)
        cache.onEarlierDeadline { rung.add(1, ordering: .relaxed) }
        mount()
        _ = cache.confirmInvalidated()
        #expect(rung.load(ordering: .relaxed) == 1)
    }

    /// Whoever mounts and unmounts without end puts nothing off for longer than a moment.
    @Test func nobodyPutsABumpOffForLong() {
        var news = MountTableChanges { true }
        let begin = SystemTime.monotonic()
        var now = begin
        while !news.confirmRead(now), now < begin + Self.second {
            news.beginRead()
            news.endRead()
            now += 1_000_000
        }
        #expect(now == begin + MountTableChanges.longestDelay)
        // What was put off long ago does not count.
        now += Self.second
        let isRead = news.confirmRead(now)
        #expect(!isRead)
    }

    @Test func theKernelTells() throws {
        var news = try MountTableChanges.ofThisProcess { false }
        news.beginRead()
        news.endRead()
        // Others mount on the same machine: quiet at some moment is enough.
        var isQuiet = false
        for _ in 0..<1000 where !isQuiet {
            news.beginRead()
            news.endRead()
            isQuiet = news.confirmRead(SystemTime.monotonic())
        }
        #expect(isQuiet)
    }
}
