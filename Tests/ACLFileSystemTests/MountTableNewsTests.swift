import BackingStore
import ControlProtocol
import FuseSession
import LinuxSystem
import MountOptions
import Synchronization
import Testing

@testable import ACLFileSystem

/// What was mounted a moment ago, and is not seen yet, is not detached by a bump that can wait (docs/coherence.md "The price of
/// a bump").
struct MountTableNewsTests {
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
        cache.watchMounts(MountTableNews { [hasNews] in hasNews.flag.exchange(false, ordering: .relaxed) })
        look()
    }

    private func look() {
        cache.beginLookAtMounts()
        cache.endLookAtMounts()
    }

    private func mount() { hasNews.flag.store(true, ordering: .relaxed) }

    @discardableResult private func expose() -> Double {
        cache.expose("name", NamedChild(node: file, isElsewhere: false), below: directory, at: Timespec(sec: 7, nsec: 7)) { true }
    }

    private var bumps: Int64? { Int64(exactly: cache.status.epochBumps) }

    private func tick(after seconds: UInt64 = 2, areUnchanged: Bool = false) {
        cache.tick(SystemTime.monotonic() + seconds * Self.second) { _ in areUnchanged }
    }

    @Test func timeWaitsForTheLook() {
        expose()
        mount()
        tick()
        #expect(bumps == 0)
        #expect(cache.isLookAtMountsDue)
        tick()
        #expect(bumps == 0, "still nobody has looked")
        cache.beginLookAtMounts()
        tick()
        #expect(bumps == 0, "somebody is looking")
        cache.endLookAtMounts()
        tick()
        #expect(bumps == 1)
    }

    /// Between the look at the directories and the bump there may be a while.
    @Test func alsoWhatIsMountedDuringALookAtTheDirectories() {
        expose()
        cache.tick(SystemTime.monotonic() + 2 * Self.second) { _ in
            mount()
            return false
        }
        #expect(bumps == 0)
        #expect(cache.nextDue != nil, "it is due still")
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
        cache.bumpSoon()
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
        #expect(cache.mayDropEntries)
        mount()
        #expect(!cache.mayDropEntries)
        look()
        #expect(cache.mayDropEntries)
        #expect(cache.suspendForMountsBelow(unused: ExposedEntries()) != nil)
        #expect(!cache.mayDropEntries)
    }

    @Test func settledIsWhatWasSeenAndTakenBack() throws {
        #expect(cache.isSettled)
        expose()
        mount()
        #expect(!cache.isSettled)
        cache.beginLookAtMounts()
        #expect(!cache.isSettled)
        let batch = try #require(cache.suspendForMountsBelow(unused: ExposedEntries()))
        cache.endLookAtMounts()
        #expect(!cache.isSettled)
        cache.finish(batch.ticket)
        #expect(cache.isSettled)
    }

    @Test func theClockIsWokenToLook() {
        let rung = Atomic(0)
        cache.onEarlierDeadline { rung.add(1, ordering: .relaxed) }
        mount()
        _ = cache.isSettled
        #expect(rung.load(ordering: .relaxed) == 1)
    }

    /// Whoever mounts and unmounts without end puts nothing off for longer than a moment.
    @Test func nobodyPutsABumpOffForLong() {
        var news = MountTableNews { true }
        let begin = SystemTime.monotonic()
        var now = begin
        while !news.isTableRead(now), now < begin + Self.second {
            news.beginLook()
            news.endLook()
            now += 1_000_000
        }
        #expect(now == begin + MountTableNews.longestDelay)
        // What was put off long ago does not count.
        now += Self.second
        let isRead = news.isTableRead(now)
        #expect(!isRead)
    }

    @Test func theKernelTells() throws {
        var news = try MountTableNews.ofThisProcess()
        news.beginLook()
        news.endLook()
        // Others mount on the same machine: quiet at some moment is enough.
        var isQuiet = false
        for _ in 0..<1000 where !isQuiet {
            news.beginLook()
            news.endLook()
            isQuiet = news.isTableRead(SystemTime.monotonic())
        }
        #expect(isQuiet)
    }
}
