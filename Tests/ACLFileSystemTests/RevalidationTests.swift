import MountOptions
import Testing

@testable import ACLFileSystem

/// The mark of R7 and what is counted beside it.
@Suite struct RevalidationTests {
    @Test func attemptsGrowApart() {
        let revalidation = Revalidation()
        let unmarked = revalidation.beginAttempt()
        #expect(unmarked == nil)
        revalidation.mark()
        for seconds: UInt64 in [1, 2, 4, 8, 16, 32, 64, 64] {
            let due = revalidation.beginAttempt()
            let whileQueued = revalidation.beginAttempt()
            #expect(due == seconds)
            #expect(whileQueued == nil)
            // What may be waited for is no attempt.
            revalidation.noteInvalidation()
            revalidation.endAttempt()
        }
        let isEarly = revalidation.isEarlyAttempt
        #expect(!isEarly)
    }

    @Test func aForgetIsWaitedForSevenTimes() {
        let revalidation = Revalidation()
        revalidation.mark()
        _ = revalidation.beginAttempt()
        let beforeTheDrop = revalidation.takeForgetWait()
        #expect(!beforeTheDrop)
        for _ in 1...2 {
            revalidation.noteInvalidation()
            let waits = (1...9).count { _ in revalidation.takeForgetWait() }
            #expect(waits == 7)
        }
        let (isMarked, attempt) = (revalidation.isPossible, revalidation.beginAttempt())
        #expect(isMarked)
        #expect(attempt == nil, "still queued")
        revalidation.noteInvalidation()
        revalidation.endAttempt()
        let afterwards = revalidation.takeForgetWait()
        #expect(!afterwards)
        let next = revalidation.beginAttempt()
        #expect(next == 2)
    }

    @Test func aBumpBeforeTheFirstAttemptCountsAsOne() {
        let revalidation = Revalidation()
        func isUntried() -> Bool { revalidation.isUntried }
        #expect(!isUntried())
        revalidation.mark()
        #expect(!isUntried(), "not queued")
        _ = revalidation.beginAttempt()
        #expect(isUntried())
        revalidation.noteInvalidation()
        #expect(isUntried())
        revalidation.noteBump()
        #expect(!isUntried())
        let waits = (1...9).count { _ in revalidation.takeForgetWait() }
        #expect(waits == 7)
        revalidation.endAttempt()
        let next = revalidation.beginAttempt()
        #expect(next == 4 && !isUntried())
    }

    /// Look-ups that marks cause may cost as many as a bump does.
    @Test func asManyWalksAsEntriesAskForABump() throws {
        let cache = KernelCache(.auto)
        cache.begin(hasEpoch: true)
        func walksUntilBump(_ most: Int) -> Int? { (1...most).first { _ in cache.noteMarkedWalk() } }
        #expect(walksUntilBump(2000) == KernelCache.fewestMarkedWalks)
        #expect(walksUntilBump(1000) == nil, "one in a tenth of a second")
    }
}
