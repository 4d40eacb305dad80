import Testing

@testable import ACLFileSystem

/// The mark of R7 and what is counted beside it.
@Suite struct RevalidationTests {
    @Test func attemptsGrowApart() {
        let revalidation = Revalidation()
        let unmarked = revalidation.nextAttempt()
        #expect(unmarked == nil)
        revalidation.mark()
        for seconds: UInt64 in [1, 2, 4, 8, 16, 32, 64, 64] {
            let due = revalidation.nextAttempt()
            let whileQueued = revalidation.nextAttempt()
            #expect(due == seconds)
            #expect(whileQueued == nil)
            // What may be waited for is no attempt.
            revalidation.noteDrop()
            revalidation.attemptIsOver()
        }
        let isEarly = revalidation.isEarlyAttempt
        #expect(!isEarly)
    }

    @Test func aForgetIsWaitedForSevenTimes() {
        let revalidation = Revalidation()
        revalidation.mark()
        _ = revalidation.nextAttempt()
        let beforeTheDrop = revalidation.mayAwaitForget()
        #expect(!beforeTheDrop)
        for _ in 1...2 {
            revalidation.noteDrop()
            let waits = (1...9).count { _ in revalidation.mayAwaitForget() }
            #expect(waits == 7)
        }
        let (isMarked, attempt) = (revalidation.isPossible, revalidation.nextAttempt())
        #expect(isMarked)
        #expect(attempt == nil, "still queued")
        revalidation.noteDrop()
        revalidation.attemptIsOver()
        let afterwards = revalidation.mayAwaitForget()
        #expect(!afterwards)
        let next = revalidation.nextAttempt()
        #expect(next == 2)
    }
}
