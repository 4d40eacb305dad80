import Testing

@testable import ACLFileSystem

/// What one user causes hides nothing of others, and of its own what is new comes first (docs/reference/audit.md).
struct FairLinesTests {
    private typealias Lines = FairLines<String>

    private func lines(all: UInt32 = 1000, ofUser: UInt32 = 10) -> Lines { Lines(.init(all: all, ofUser: ofUser)) }

    private func add(
        _ lines: inout Lines, _ text: String, uid: UInt32 = 1, object: UInt64 = 1, operation: String = "open-read", allowed: Bool = false,
        times: Int = 1, at second: Int64 = 100
    ) {
        for _ in 0..<times {
            lines.add(text, .init(uid: uid, object: object, operation: operation, isAllowed: allowed), at: second)
        }
    }

    private func counts(_ taken: [String]) -> [String: Int] { taken.reduce(into: [:]) { $0[$1, default: 0] += 1 } }

    @Test func twelveHarmlessRefusalsDoNotHideTheRealOne() {
        var repeated = lines()
        add(&repeated, "harmless", times: 12)
        add(&repeated, "real", object: 2)
        #expect(repeated.take(at: 100).contains("real"))
        // Also where each of them is new: it waits its turn.
        var fresh = lines()
        for object in 0..<12 as Range<UInt64> { add(&fresh, "harmless", object: object) }
        add(&fresh, "real", object: 99, operation: "chmod")
        let first = fresh.take(at: 100)
        #expect(first.count == 10 && fresh.take(at: 100).isEmpty)
        #expect(fresh.take(at: 101).contains("real"))
        #expect(fresh.takeLeftOut(at: 102).isEmpty, "nothing was left out")
    }

    @Test func whatIsNewGoesBeforeWhatIsRepeated() {
        var lines = lines()
        add(&lines, "repeated", times: 11)
        #expect(lines.take(at: 100).count == 5, "one object takes half of its user's")
        add(&lines, "repeated", object: 2, times: 11)
        add(&lines, "new", object: 3)
        #expect(lines.take(at: 100) == ["repeated", "new", "repeated", "repeated", "repeated"])
    }

    @Test func whatWasSeenIsNewAgainAfterAMinute() {
        var lines = lines(ofUser: 1)
        add(&lines, "first")
        #expect(lines.take(at: 100) == ["first"])
        for (second, isTold) in [(100, false), (100, false)] as [(Int64, Bool)] {
            add(&lines, "again", at: second)
            #expect(lines.take(at: second).isEmpty != isTold)
        }
        add(&lines, "new", object: 2, at: 159)
        add(&lines, "repeated", at: 159)
        #expect(lines.take(at: 159) == ["new"])
        add(&lines, "first", at: 160)
        #expect(lines.take(at: 160) == ["first"], "the repeated one waits behind it")
    }

    @Test func aUserLosesNoLineThroughAnother() {
        var lines = lines(all: 4)
        for object in 0..<5000 as Range<UInt64> { add(&lines, "flood", uid: 1, object: object) }
        add(&lines, "other", uid: 2, times: 3)
        #expect(counts(lines.take(at: 100)) == ["flood": 2, "other": 2], "they take turns")
        #expect(counts(lines.take(at: 101)) == ["flood": 3, "other": 1])
        let leftOut = lines.takeLeftOut(at: 102)
        #expect(leftOut.map(\.uid) == [1] && leftOut.first?.all == 4840)
    }

    @Test func theSummaryNamesWhoAndWhat() {
        var lines = lines()
        add(&lines, "", uid: 1, operation: "open-read", times: 1000)
        add(&lines, "", uid: 1, object: 2, operation: "chmod", allowed: true, times: 500)
        add(&lines, "", uid: 2, times: 10)
        _ = lines.take(at: 100)
        #expect(lines.takeLeftOut(at: 100).isEmpty, "the second is not over")
        let told = lines.takeLeftOut(at: 101)
        let one = told.first { $0.uid == 1 }
        #expect(told.count == 2 && one?.all == 1490 && one?.denied == 995)
        #expect(one?.operations == ["open-read": 995, "chmod": 495])
        #expect(told.first { $0.uid == 2 }?.operations == ["open-read": 5])
        #expect(lines.takeLeftOut(at: 102).isEmpty)
    }

    @Test func whatIsAllowedTakesHalfOfEach() {
        var lines = lines(all: 8)
        for object in 0..<100 as Range<UInt64> {
            for uid in 1...3 as ClosedRange<UInt32> { add(&lines, "allowed", uid: uid, object: object, allowed: true) }
        }
        #expect(lines.take(at: 100).count == 4)
        add(&lines, "denied", uid: 1)
        add(&lines, "denied", uid: 2)
        #expect(lines.take(at: 100) == ["denied", "denied"])
        #expect(lines.take(at: 101).count == 4, "what is allowed obeys the limit in each second")
    }

    @Test(arguments: [1, 7, 1000] as [UInt32])
    func eachLineIsToldOrCounted(_ limit: UInt32) {
        var lines = lines(all: limit, ofUser: 3)
        var told = 0
        var leftOut: Int64 = 0
        for second in 100..<140 as Range<Int64> {
            for number in 0..<100 as Range<UInt64> {
                add(&lines, "", uid: UInt32(number % 7), object: number % 50, allowed: number % 3 == 0, at: second)
            }
            let taken = lines.take(at: second)
            #expect(taken.count <= Int(limit))
            told += taken.count
            leftOut += lines.takeLeftOut(at: second).reduce(0) { $0 + $1.all }
        }
        told += lines.take(at: 140, isLast: true).count
        leftOut += lines.takeLeftOut(at: 140, isLast: true).reduce(0) { $0 + $1.all }
        #expect(told + Int(leftOut) == 40 * 100)
    }

    @Test func howeverManyUsersThereAreAllIsBoundedAndCounted() {
        var lines = lines(all: 1_000_000, ofUser: 1_000_000)
        for number in 0..<12_000 as Range<UInt64> { add(&lines, "", uid: UInt32(number % 1200), object: number) }
        let told = lines.take(at: 100, isLast: true).count
        let leftOut = lines.takeLeftOut(at: 100, isLast: true)
        #expect(told <= FairLinesBound.waiting && told + Int(leftOut.reduce(0) { $0 + $1.all }) == 12_000)
        #expect(leftOut.contains { $0.uid == nil })
    }

    @Test func whereAllThatMayWaitDoesTheLongestQueueGivesWay() {
        var lines = lines(all: 1, ofUser: 1_000_000)
        for object in 0..<11_000 as Range<UInt64> { add(&lines, "flood", uid: 1, object: object) }
        add(&lines, "other", uid: 2)
        #expect(lines.take(at: 101, isLast: true).contains("other"))
    }
}
