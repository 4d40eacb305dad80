import Authorization
import Testing

@testable import ACLFileSystem

/// What a view is refused again and again takes no room from what others were refused.
struct DenialLogTests {
    private func deny(_ log: DenialLog, uid: UInt32, of payer: UInt32? = nil, view: UInt64?, times: Int = 1) {
        let decision = Decision.deny(.EPERM, .precondition(.unmapped))
        for _ in 0..<times {
            log.add(DenialLog.Kept(view: view, time: 0, uid: uid, payer: payer ?? uid, operation: .list, inode: nil, decision: decision))
        }
    }

    private func counts(_ log: DenialLog) -> [UInt32: Int] {
        log.last(.max, of: nil).reduce(into: [:]) { $0[$1.uid, default: 0] += 1 }
    }

    @Test func aUserWithManyUidsHasThePartOfOne() {
        let log = DenialLog()
        deny(log, uid: 1, view: nil, times: 400)
        for uid: UInt32 in 100_000..<102_000 { deny(log, uid: uid, of: 2, view: nil) }
        deny(log, uid: 3, view: nil)
        #expect(counts(log)[1] == 400 && counts(log)[3] == 1 && log.last(.max, of: 101_999).count == 1)
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

    @Test func aFloodOfOneUserPushesOutItsOwnAlone() {
        let log = DenialLog()
        for uid in 2..<12 as Range<UInt32> { deny(log, uid: uid, view: nil) }
        deny(log, uid: 1, view: nil, times: 1100)
        var parts = counts(log)
        #expect(parts[1] == 990 && (2..<12).allSatisfy { parts[$0] == 1 })
        // A second one who floods gets an equal part, from the first.
        deny(log, uid: 20, view: nil, times: 5000)
        parts = counts(log)
        #expect((2..<12).allSatisfy { parts[$0] == 1 } && parts.values.reduce(0, +) == DenialLog.capacity, "\(parts)")
        #expect(log.last(3, of: nil).map(\.uid) == [20, 20, 20] && log.last(1, of: 5).map(\.uid) == [5])
        // Of each the newest are kept, in their order.
        let ofFirst = log.last(.max, of: 1).map(\.sequence)
        #expect(ofFirst == ofFirst.sorted(by: >) && ofFirst.first == 1109)
        // More users than there is room for denials.
        for uid in 100..<3100 as Range<UInt32> { deny(log, uid: uid, view: nil) }
        #expect(log.last(.max, of: nil).count == DenialLog.capacity && log.last(1, of: nil).map(\.uid) == [3099])
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

    @Test func whoAsksForAFewGetsTheNewestOfAll() {
        let log = DenialLog()
        deny(log, uid: 3, view: 30, times: 5000)
        deny(log, uid: 1, view: nil, times: 50)
        deny(log, uid: 2, view: 20, times: 3)
        log.end(30)
        let all = log.last(.max, of: nil).map(\.sequence)
        for count in [1, 3, 12, 30, 300] { #expect(log.last(count, of: nil).map(\.sequence) == Array(all.prefix(count))) }
        #expect(log.last(12, of: nil).map(\.uid) == [2, 2, 2] + Array(repeating: 1, count: 9))
        #expect(log.last(30, of: 1).count == 30)
        // In parts the same ones.
        #expect(log.last(30, of: nil, before: all[9]).map(\.sequence) == Array(all[10..<30]))
    }

    @Test func thoseThatHaveEndedHaveOnePartTogether() {
        let log = DenialLog()
        deny(log, uid: 1, view: 10, times: 20)
        for view in 20..<29 as Range<UInt64> {
            deny(log, uid: UInt32(view), view: view, times: 1000)
            log.end(view)
        }
        log.end(10)
        // Nobody else wants the room.
        #expect(log.last(.max, of: nil).count == DenialLog.capacity)
        deny(log, uid: 2, view: 30, times: 5000)
        // Within it too a flood takes nothing from others.
        #expect(counts(log)[1] == 20 && counts(log)[2] == 500)
        deny(log, uid: 3, view: 40, times: 5000)
        let parts = counts(log)
        #expect(parts[1] == 20 && parts.values.reduce(0, +) == DenialLog.capacity)
        for uid in [2, 3] as [UInt32] { #expect((333...334).contains(parts[uid] ?? 0), "\(parts)") }
        // Of many short ones the oldest go first.
        for view in 100..<3100 as Range<UInt64> {
            deny(log, uid: UInt32(view), view: view)
            log.end(view)
        }
        let left = counts(log).keys.filter { $0 >= 100 }
        #expect(left.count > 100 && left.min() == 3100 - UInt32(left.count))
    }
}
