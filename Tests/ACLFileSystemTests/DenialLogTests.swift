import Authorization
import Testing

@testable import ACLFileSystem

/// What a view is refused again and again takes no room from what others were refused.
struct DenialLogTests {
    private func deny(_ log: DenialLog, uid: UInt32, view: UInt64?, times: Int = 1) {
        let decision = Decision.deny(.EPERM, .precondition(.unmapped))
        for _ in 0..<times {
            log.add(DenialLog.Kept(view: view, time: 0, uid: uid, operation: .list, inode: nil, decision: decision))
        }
    }

    private func counts(_ log: DenialLog) -> [UInt32: Int] {
        log.last(.max, of: nil).reduce(into: [:]) { $0[$1.uid, default: 0] += 1 }
    }

    @Test func aFloodOfOneViewTakesNothingFromTheMountOrFromOtherViews() {
        let log = DenialLog()
        deny(log, uid: 1, view: nil, times: 700)
        deny(log, uid: 2, view: 20, times: 300)
        deny(log, uid: 3, view: 30, times: 100_000)
        #expect(counts(log) == [1: 700, 2: 300, 3: 700])
        // A third that comes late gets its part as well, from who has most.
        deny(log, uid: 4, view: 40, times: 10)
        #expect(counts(log) == [1: 700, 2: 300, 3: 690, 4: 10])
        deny(log, uid: 1, view: nil, times: 2000)
        #expect(counts(log) == [1: 1000, 2: 300, 3: 690, 4: 10])
    }

    @Test func memoryIsBoundedHoweverManyViewsThereWere() {
        let log = DenialLog()
        for view in 0..<5000 as Range<UInt64> { deny(log, uid: UInt32(view), view: view) }
        #expect(log.last(.max, of: nil).count == DenialLog.capacity)
    }

    @Test func theNewestComeFirstAcrossAllOfThem() {
        let log = DenialLog()
        for number in 0..<3000 as Range<UInt32> { deny(log, uid: number, view: number % 3 == 0 ? nil : UInt64(number % 3)) }
        let all = log.last(.max, of: nil)
        #expect(all.count == 2 * DenialLog.capacity)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.sequence > $1.sequence })
        #expect(log.last(3, of: nil).map(\.uid) == [2999, 2998, 2997])
        #expect(log.last(5, of: 2998).map(\.uid) == [2998])
    }

    @Test func whoAsksForAFewSeesThemOfAll() {
        let log = DenialLog()
        deny(log, uid: 1, view: nil, times: 50)
        deny(log, uid: 2, view: 20, times: 3)
        deny(log, uid: 3, view: 30, times: 5000)
        func last(_ count: Int) -> [UInt32: Int] { log.last(count, of: nil).reduce(into: [:]) { $0[$1.uid, default: 0] += 1 } }
        #expect(last(30) == [1: 10, 2: 3, 3: 17])
        #expect(last(3) == [1: 1, 2: 1, 3: 1])
        #expect(last(1) == [3: 1])
        #expect(log.last(30, of: 1).count == 30)
        // In parts the same ones.
        let all = log.last(30, of: nil).map(\.sequence)
        #expect(log.last(30, of: nil, before: all[9]).map(\.sequence) == Array(all[10...]))
    }
}
