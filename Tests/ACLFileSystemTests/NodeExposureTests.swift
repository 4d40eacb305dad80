import LinuxSystem
import Testing

@testable import ACLFileSystem

/// What a node keeps of its exposures, without a kernel.
@Suite struct NodeExposureTests {
    @Test func anEpochHasOneFirstExposure() {
        let exposure = NodeExposure()
        let before = [exposure.mayHaveEntries(of: 3), exposure.needsBump(in: 3)]
        #expect(before == [false, false])
        let areFirst = [3, 3, 4].map { exposure.noteExposure(in: $0) }
        #expect(areFirst == [true, false, true])
        let after = [4, 5].flatMap { [exposure.mayHaveEntries(of: $0), exposure.needsBump(in: $0)] }
        #expect(after == [true, true, false, false])
    }

    @Test func anUnusedListingCountsUntilOneBumpWasEnough() {
        let exposure = NodeExposure()
        func state() -> [Bool] { [exposure.hasUnusedListing, exposure.mayHaveEntries(of: 1), exposure.needsBump(in: 1)] }
        exposure.beginListing()
        #expect(state() == [true, true, true])
        exposure.noteListingsInvalidated()
        #expect(state() == [true, true, false])
        exposure.noteListedObject()
        #expect(state() == [true, true, true])
        exposure.markListingUsed()
        #expect(state() == [false, false, false])
    }

    @Test func aCtimeIsComparedToTheNanosecond() {
        let exposure = NodeExposure()
        exposure.noteCtime(Timespec(sec: 7, nsec: 8))
        let isKnown = [(7, 8), (7, 9), (8, 8)].map { exposure.hadCtime(Timespec(sec: $0.0, nsec: $0.1)) }
        #expect(isKnown == [true, false, false])
    }

    @Test func anEntryIsThatOfTheLastBump() {
        let exposure = NodeExposure()
        func state(_ bumps: UInt64) -> [Bool] {
            [exposure.mayHaveTimeout, exposure.isLookupUnexpected(bumps: bumps), exposure.wasUncacheable(bumps: bumps)]
        }
        #expect(state(0) == [false, false, false])
        exposure.noteCacheableEntry(bumps: 2)
        exposure.noteUncacheableEntry(bumps: 3)
        #expect(state(2) == [true, true, true])
        #expect(state(3) == [true, false, true])
        #expect(state(4) == [true, false, false])
        let taken = [exposure.takeTimeout(), exposure.takeTimeout()]
        #expect(taken == [true, false])
        #expect(state(2) == [false, false, true])
    }

    @Test func aListingIsAtRestUntilAChange() {
        let exposure = NodeExposure()
        func state() -> [Bool] { [exposure.wasListed, exposure.wasListedAtRest] }
        #expect(state() == [false, false])
        exposure.noteListing(at: 5)
        exposure.noteListedAtRest(true)
        #expect(state() == [true, true])
        exposure.endRest()
        #expect(state() == [true, false])
        let age = exposure.timeSinceListing(at: 9)
        #expect(age == 4)
    }

    /// Every node that a kernel knows has one.
    @Test func itIsSmall() {
        #expect(MemoryLayout<NodeExposure>.size <= 72)
    }
}
