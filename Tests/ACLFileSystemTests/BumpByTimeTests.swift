import ACLFormats
import BackingStore
import ControlProtocol
import FuseSession
import Glibc
import LinuxSystem
import MountOptions
import Synchronization
import Testing

@testable import ACLFileSystem

/// docs/internals/coherence.md "When time alone is no reason".
struct BumpByTimeTests {
    private static let second: UInt64 = 1_000_000_000
    private let cache = KernelCache(.auto)
    private let directory: Node
    private let file: Node
    private let ctime = Timespec(sec: 7, nsec: 7)

    init() throws {
        let tree = try BackingTree(
            directory: Syscall.open("/etc", OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs",
            descriptorBudget: 64, report: { _ in })
        directory = Node(id: NodeID(2), object: tree.root)
        let descriptor = try tree.descriptor(of: tree.root)
        file = Node(id: NodeID(3), object: try tree.resolve("passwd", in: descriptor, Syscall.statx(descriptor.rawValue)).object)
        cache.begin(hasEpoch: true)
    }

    private func expose(at ctime: Timespec? = nil, ctimeTells: Bool = true, isOnOtherMount: Bool = false) {
        let child = NamedChild(node: file, isOnOtherMount: isOnOtherMount)
        _ = cache.expose("name", child, below: directory, at: ctime ?? self.ctime) { $0 == .ctime && ctimeTells }
    }

    private var bumps: Int64? { JSON.object(cache.status)["epoch_bumps"]?.integer }

    @Test func isLeftOutWhileNothingChanges() {
        expose()
        var now = SystemTime.monotonic()
        for _ in 0..<50 {
            now += 2 * Self.second
            cache.tick(now) { $0.all.count == 1 && $0.all[0].ctime == ctime ? .unchanged(read: 1) : .changed }
            #expect(cache.nextDeadline == now + Self.second)
        }
        #expect(bumps == 0)
        cache.tick(now + 2 * Self.second) { _ in .changed }
        #expect(bumps == 1)
        #expect(cache.nextDeadline == nil)
    }

    /// The clock looks also when nothing is handed out.
    @Test func whatCameBeforeTheFirstNameIsNoDoubt() {
        cache.markEntriesUncertain()
        expose()
        cache.tick(SystemTime.monotonic() + 2 * Self.second) { _ in .unchanged(read: 1) }
        #expect(bumps == 0)
    }

    @Test func isNotLeftOutWhereNoLookCanTell() {
        func isBumped(_ prepare: () -> Void) -> Bool {
            let before = bumps ?? -1
            prepare()
            cache.tick(SystemTime.monotonic() + 2 * Self.second) { _ in .unchanged(read: 1) }
            return bumps == before + 1
        }
        #expect(isBumped { expose(ctimeTells: false) })
        #expect(
            isBumped {
                expose()
                expose(at: Timespec(sec: 7, nsec: 8))
            })
        #expect(
            isBumped {
                expose()
                cache.markEntriesUncertain()
            })
        #expect(isBumped { expose(isOnOtherMount: true) })
        #expect(
            isBumped {
                for number in 0..<120_000 { _ = cache.expose("name\(number)", nil, below: directory, at: ctime) { $0 == .ctime } }
            }, "so many are not taken back singly in a moment")
        #expect(
            isBumped {
                expose()
                cache.invalidateAllEntries()
                expose(ctimeTells: false)
            } == false, "two bumps")
        #expect(isBumped { expose() } == false)
    }

    private var names: [[CChar]] {
        var names: [[CChar]] = []
        cache.exposedEntries.forEach { names.append($0.bytes) }
        return names
    }

    /// The kernel stamps the names of a listing when it uses it, which may be in a later epoch.
    @Test func namesOfAListingThatIsUsedLateAreTakenBackAgain() {
        let listing = UnusedListing(of: directory, cache)
        listing.begin()
        listing.append("listed", NodeID(4))
        expose()
        cache.invalidateAllEntries()
        let due = cache.nextDeadline
        #expect(due != nil)
        // Somebody else looks a name up meanwhile; the listing's own handle is never used again.
        expose()
        cache.tick((due ?? 0) + 1) { _ in .unchanged(read: 1) }
        #expect(bumps == 2)
        #expect(names.isEmpty)
        listing.markUsed()
        #expect(names == [Array("listed".utf8CString)])
        cache.tick((due ?? 0) + 2 * Self.second) { _ in .unchanged(read: 1) }
        #expect(bumps == 3)
        #expect(cache.nextDeadline == nil)
    }

    /// Nothing was due, so the clock slept without end.
    @Test func theClockIsWokenForAListingThatABumpOvertook() {
        let rung = Atomic(0)
        cache.onEarlierDeadline { rung.add(1, ordering: .relaxed) }
        let listing = UnusedListing(of: directory, cache)
        listing.begin()
        #expect(cache.nextDeadline == nil)
        cache.invalidateAllEntries()
        #expect(cache.nextDeadline != nil)
        #expect(rung.load(ordering: .relaxed) == 1)
        // One that failed shows nothing: its directory is not one of which a name was handed out.
        listing.markUsed()
        cache.invalidateAllEntries()
        #expect(cache.nextDeadline == nil)
        let mayHaveEntries = directory.exposure.mayHaveEntries(of: 1)
        #expect(!mayHaveEntries)
    }

    /// What was looked up again and again, or is gone, needs no bump.
    @Test func repeatedEntriesAreLeftOut() {
        let big = ExposedEntries.shortSize / 30
        for _ in 0..<3 {
            for number in 0..<(big / 2) {
                _ = cache.expose("name\(number)", nil, below: directory, at: ctime) { $0 == .ctime }
            }
        }
        expose()
        let before = bumps
        #expect(cache.exposedEntries.isShort == false)
        var meanwhile = false
        cache.tick(SystemTime.monotonic() + 2 * Self.second) { _ in
            _ = cache.expose("meanwhile", nil, below: directory, at: ctime) { $0 == .ctime }
            meanwhile = true
            return .unchanged(read: 1)
        }
        #expect(meanwhile && bumps == before)
        #expect(cache.exposedEntries.isShort && names.count == big / 2 + 2 && names.contains(Array("meanwhile".utf8CString)))
    }

    /// The invalidation of an object is stronger than that of an absent name.
    @Test func whichEntriesRepeatOthers() {
        let kept = [
            ("created", nil, NodeID(7), ["created 7"]), ("removed", NodeID(7), nil, ["removed", "removed 7"]),
            ("replaced", NodeID(7), NodeID(8), ["replaced 7", "replaced 8"]), ("gone", nil, NodeID(9), ["gone"]),
            ("same", NodeID(7), NodeID(7), ["same 7"]), ("absent", nil, nil, ["absent"]),
        ]
        for (name, first, second, left) in kept {
            var entries = ExposedEntries()
            for child in [first, second] { entries.append(name, child, in: NodeID(3)) }
            entries.append(name, first, in: NodeID(10))
            let compacted = entries.compacted { $0 != NodeID(9) && $0 != NodeID(10) }
            var found: [String] = []
            compacted.forEach { entry in
                #expect(entry.parent == NodeID(3))
                let name = String(decoding: entry.bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
                found.append(entry.child.map { "\(name) \($0.rawValue)" } ?? name)
            }
            #expect(found.sorted() == left.sorted())
        }
    }

    /// A caller can let one name lead to any number of objects.
    @Test func oneNameOfManyObjectsCostsAsManyNames() {
        func duration(_ name: (Int) -> String) -> Duration {
            var entries = ExposedEntries()
            for number in 0..<10_000 { entries.append(name(number), NodeID(UInt64(100 + number)), in: NodeID(3)) }
            return ContinuousClock().measure {
                var count = 0
                entries.compacted { _ in true }.forEach { _ in count += 1 }
                #expect(count == 10_000)
            }
        }
        let others = duration { "name\($0)" }
        // Another process may take the processor meanwhile.
        #expect((0..<5).contains { _ in duration { _ in "name" } < others * 10 })
    }

    @Test func eachNameOfAnObjectIsKnown() {
        for name in ["a", "b", "a"] {
            _ = cache.expose(name, NamedChild(node: file, isOnOtherMount: false), below: directory, at: ctime) { $0 == .ctime }
        }
        #expect(names.count == 3)
    }

    /// Names that are asked about without a lock, those without a time, may be answered late: so before one has a time again,
    /// there is a bump.
    @Test func aSuspensionEndsWithABump() {
        expose()
        cache.suspend(.policyChange)
        cache.tick(SystemTime.monotonic() + 2 * Self.second) { _ in .unchanged(read: 1) }
        #expect(cache.nextDeadline == nil)
        cache.resume(.mountsBelow)
        #expect(bumps == 0)
        cache.suspend(.severalMounts)
        cache.resume(.severalMounts)
        #expect(bumps == 0)
        cache.resume(.policyChange)
        #expect(bumps == 1)
        #expect(names.isEmpty)
    }

    @Test func aFileThatWasAnsweredWithoutATimeHasOneBehindABump() {
        func time() -> Double {
            cache.expose("name", NamedChild(node: file, isOnOtherMount: false), below: directory, at: ctime) { $0 == .ctime }
        }
        #expect(time() > 0)
        cache.noteUncacheableEntry(file)
        #expect(time() > 0)
        #expect(bumps == 1)
        #expect(time() > 0)
        #expect(bumps == 1)
        // Whoever has a name in an open directory and one in a closed one bumps once in a second.
        cache.noteUncacheableEntry(file)
        #expect(time() == 0)
        #expect(bumps == 1)
        cache.invalidateAllEntries()
        #expect(time() > 0)
        #expect(bumps == 2)
    }

    /// Asked for again without need: by a walk that trusts nothing, and holds no lock.
    @Test func aDirectoryThatIsAskedForAgainIsMarked() throws {
        let child = Node(id: NodeID(5), object: directory.object)
        func isMarked() -> Bool { child.exposure.revalidation.isPossible }
        func time(isListed: Bool = false) -> Double {
            cache.expose("child", NamedChild(node: child, isOnOtherMount: false), below: directory, at: ctime, isListed: isListed) {
                $0 == .ctime
            }
        }
        #expect(time() > 0)
        #expect(time(isListed: true) > 0)
        #expect(!isMarked())
        cache.invalidateAllEntries()
        #expect(time() > 0)
        #expect(!isMarked())
        #expect(time() == 0)
        #expect(isMarked())
    }

    /// By the clock, once, and not where something may be mounted.
    @Test func whatIsKnownStillIsDroppedByABump() throws {
        expose()
        let before = try #require(bumps)
        cache.requestBump()
        #expect(bumps == before)
        let due = cache.nextDeadline ?? .max
        #expect(due <= SystemTime.monotonic())
        cache.tick(due) { _ in .unchanged(read: 1) }
        cache.tick(due) { _ in .unchanged(read: 1) }
        #expect(bumps == before + 1)
        cache.suspend(.mountsBelow)
        cache.requestBump()
        cache.tick(SystemTime.monotonic()) { _ in .unchanged(read: 1) }
        #expect(bumps == before + 1)
    }

    /// Only then is a FORGET waited for.
    @Test func aDirectoryIsAskedForAgainWithoutABump() {
        let child = Node(id: NodeID(5), object: directory.object)
        func isUnexpectedLookup() -> Bool { cache.isUnexpectedLookup(child) }
        func time() -> Double {
            cache.expose("child", NamedChild(node: child, isOnOtherMount: false), below: directory, at: ctime) { $0 == .ctime }
        }
        #expect(!isUnexpectedLookup())
        #expect(time() > 0)
        #expect(isUnexpectedLookup())
        cache.invalidateAllEntries()
        #expect(!isUnexpectedLookup())
        #expect(time() > 0)
        #expect(isUnexpectedLookup())
        cache.suspend(.mountsBelow)
        #expect(!isUnexpectedLookup())
    }

    /// Not even if nothing is handed out that would be known.
    @Test func revocationsAreFollowedByBumps() {
        expose()
        cache.invalidateEntries(below: directory)
        let now = SystemTime.monotonic()
        for (index, seconds) in [0.01, 0.1, 1, 10, 100].enumerated() {
            #expect(bumps == Int64(1 + index))
            cache.tick(now + UInt64(seconds * 1e9) + 1_000_000) { _ in .unchanged(read: 1) }
        }
        #expect(bumps == 6)
        #expect(cache.nextDeadline == nil)
    }

    /// Where the batch of a suspension had it, the kernel has used it before the batch was done.
    @Test func aListingThatWasTakenBackIsNoReasonForABump() throws {
        let listing = listing("listed")
        let batch = try #require(cache.suspendForMountsBelow(unused: listing.takeUnused()))
        cache.finish(batch.ticket)
        cache.invalidateEntries(below: directory)
        listing.markUsed()
        cache.invalidateEntries(below: directory)
        #expect(bumps == 0)
        #expect(cache.takeDeferredEntries() == nil)
    }

    @Test func notAllListingsShowObjects() {
        #expect(cache.mayShowObjects)
        let name = String(repeating: "n", count: 255)
        let listing = listing("first")
        while cache.mayShowObjects { listing.append(name, NodeID(4)) }
        #expect((60_000...70_000).contains(listing.takeUnused().size / 272))
        listing.markUsed()
        #expect(cache.mayShowObjects)
    }

    /// Mounting and unmounting again and again does not put off what is due.
    @Test func namesInFlightEndWithTheSuspension() throws {
        expose()
        let first = try #require(cache.suspendForMountsBelow(unused: ExposedEntries()))
        cache.resume(.mountsBelow)
        #expect(bumps == 1)
        #expect(!cache.isInFlight(first.ticket))
        let second = try #require(cache.suspendForMountsBelow(unused: ExposedEntries()))
        cache.finish(first.ticket)
        #expect(cache.isInFlight(second.ticket))
    }

    /// It is taken back under the name that it had, which may lead nowhere by then.
    @Test func whatMovesDuringASuspensionIsTakenBackUnderItsNewName() throws {
        expose()
        let batch = try #require(cache.suspendForMountsBelow(unused: ExposedEntries()))
        cache.move(file.id, from: directory, to: "moved", below: directory, watchedSince: nil)
        cache.finish(batch.ticket)
        cache.invalidateEntries(below: directory)
        #expect(bumps == 1, "not all are taken back")
        let late = try #require(cache.takeDeferredEntries())
        var moved: [[CChar]] = []
        late.names.forEach { moved.append($0.bytes) }
        #expect(moved == [Array("moved".utf8CString)])
        cache.finish(late.ticket)
        #expect(cache.nextDeadline == nil)
        // Nothing is believed now.
        cache.move(file.id, from: directory, to: "again", below: directory, watchedSince: nil)
        cache.invalidateAllEntries()
        #expect(cache.takeDeferredEntries() == nil && bumps == 1)
    }

    @Test func renamingHoldsNoMemory() {
        expose()
        let name = String(repeating: "n", count: 255)
        for _ in 0..<100_000 { cache.move(file.id, from: directory, to: name, below: directory, watchedSince: nil) }
        #expect(bumps == 1)
        #expect(!cache.exposedEntries.isFull)
    }

    /// A directory that somebody holds, with a listing that is not read to its end for one, keeps its names from being taken
    /// back one by one, and all the others behind them.
    @Test func whoIsInTheWayOfASuspensionWinsOnePeriod() {
        expose()
        let suspended = cache.suspendForMountsBelow(unused: ExposedEntries())
        #expect(suspended != nil)
        // The time of the names is no reason now.
        cache.tick(cache.nextDeadline ?? 0) { _ in .unchanged(read: 1) }
        let end = cache.nextDeadline ?? 0
        cache.tick(end - 1) { _ in .unchanged(read: 1) }
        #expect(bumps == 0)
        cache.tick(end) { _ in .unchanged(read: 1) }
        #expect(bumps == 1)
        #expect(names.isEmpty)
        // What the listing shows when it is used at last lives from then, and whoever takes names back is not there yet.
        #expect(cache.nextDeadline == end + Self.second)
        cache.tick(end + Self.second) { _ in .unchanged(read: 1) }
        #expect(bumps == 2)
        suspended.map { cache.finish($0.ticket) }
        #expect(cache.nextDeadline == nil)
        cache.resume(.mountsBelow)
        expose()
        #expect(cache.suspendForMountsBelow(unused: ExposedEntries()).map { cache.finish($0.ticket) } != nil)
        #expect(cache.nextDeadline == nil)
    }

    private func listing(_ name: String) -> UnusedListing {
        let listing = UnusedListing(of: directory, cache)
        listing.begin()
        listing.append(name, NodeID(4))
        return listing
    }

    /// No bump ends what a listing of an earlier epoch shows if it is used while something is mounted below.
    @Test func aListingThatIsUsedDuringASuspensionIsTakenBackByName() {
        func late() -> [[CChar]] {
            var late: [[CChar]] = []
            cache.takeDeferredEntries()?.names.forEach { late.append($0.bytes) }
            return late
        }
        let earlier = listing("earlier")
        listing("used before").markUsed()
        cache.invalidateAllEntries()
        let present = listing("present")
        expose()
        let rung = Atomic(0)
        cache.onEarlierDeadline { rung.add(1, ordering: .relaxed) }
        #expect(cache.suspendForMountsBelow(unused: ExposedEntries()) != nil)
        // Of this epoch: its names were noted when they were looked for, and are being taken back with the others.
        present.markUsed()
        #expect(late() == [])
        #expect(rung.exchange(0, ordering: .relaxed) == 1)
        earlier.markUsed()
        #expect(rung.load(ordering: .relaxed) == 1)
        #expect(cache.nextDeadline == 0)
        #expect(late() == [Array("earlier".utf8CString)])
        #expect(cache.nextDeadline != 0)
    }

    /// Whoever holds a directory can keep late names waiting too. Until they are taken back a revocation bumps, and after a
    /// period time does.
    @Test func lateNamesHaveOnePeriod() throws {
        let earlier = listing("earlier")
        cache.invalidateAllEntries()
        let suspended = try #require(cache.suspendForMountsBelow(unused: ExposedEntries()))
        earlier.markUsed()
        let late = try #require(cache.takeDeferredEntries())
        cache.finish(suspended.ticket)
        cache.invalidateEntries(below: directory)
        #expect(bumps == 2, "the names of the suspension are taken back, the late ones are not")
        cache.tick(SystemTime.monotonic() + Self.second) { _ in .unchanged(read: 1) }
        #expect(bumps == 3)
        cache.finish(late.ticket)
        cache.invalidateEntries(below: directory)
        #expect(bumps == 3)
        #expect(cache.nextDeadline == nil)
    }

    /// A revocation while the directories are looked at ends what they were looked at for.
    @Test func whatIsTakenBackMeanwhileStaysTakenBack() {
        expose()
        cache.tick(SystemTime.monotonic() + 2 * Self.second) { _ in
            cache.invalidateAllEntries()
            return .unchanged(read: 1)
        }
        #expect(bumps == 1)
        #expect(cache.nextDeadline == nil)
    }

    /// A mount that nobody uses rests, and no name outlives its time of two hours (R8).
    @Test func comesAfterAMinuteWithoutUseAndAfterAnHour() {
        expose()
        let begin = SystemTime.monotonic()
        var seconds: UInt64 = 0
        while bumps == 0, seconds < 100 {
            seconds += 1
            cache.tick(begin + seconds * 2 * Self.second) { _ in .unchanged(read: 1) }
        }
        #expect(seconds == 61)
        #expect(cache.nextDeadline == nil)
        expose()
        seconds = 0
        while bumps == 1, seconds < 4000 {
            seconds += 1
            expose()
            cache.tick(begin + seconds * Self.second + Self.second / 2) { _ in .unchanged(read: 1) }
        }
        #expect((3590...3600).contains(seconds))
    }
}
