import Testing

@testable import ACLFileSystem

/// What one user asks takes a twentieth of a processor at most, and nothing of what others may ask (docs/control.md).
struct ControlQuotaTests {
    private let second: UInt64 = 1_000_000_000

    private func begins(_ allowance: inout ControlQuota, _ uid: UInt32, at now: UInt64) -> Bool { allowance.begin(uid, at: now) }

    @Test func oneAnswerOfAUserIsMadeAtATime() {
        var allowance = ControlQuota()
        #expect(begins(&allowance, 1, at: 0))
        #expect(!begins(&allowance, 1, at: 0) && allowance.readyTime(of: 1) == nil)
        #expect(begins(&allowance, 2, at: 0), "others do not wait for it")
        allowance.end(1)
        #expect(begins(&allowance, 1, at: 0))
    }

    @Test func whoHasSpentAllWaitsUntilItIsThereAgain() {
        var allowance = ControlQuota()
        #expect(begins(&allowance, 1, at: second))
        allowance.charge(1, ControlQuota.most + 100_000_000, at: second)
        allowance.end(1)
        #expect(!begins(&allowance, 1, at: second))
        #expect(begins(&allowance, 2, at: second))
        // A tenth of a second too much takes two.
        let ready = 3 * second + UInt64(ControlQuota.share)
        #expect(allowance.readyTime(of: 1) == ready)
        #expect(!begins(&allowance, 1, at: ready - 40))
        #expect(begins(&allowance, 1, at: ready))
    }

    @Test func atMostATwentiethIsSpentInTheLongRun() {
        var allowance = ControlQuota()
        var (now, spent) = (UInt64(0), Int64(0))
        while now < 1000 * second {
            guard allowance.begin(1, at: now) else {
                now = allowance.readyTime(of: 1) ?? now
                continue
            }
            spent += 7_000_000
            now += 7_000_000
            allowance.charge(1, 7_000_000, at: now)
            allowance.end(1)
        }
        #expect(spent <= ControlQuota.most + Int64(now) / ControlQuota.share + 7_000_000)
        #expect(spent >= Int64(now) / ControlQuota.share - 7_000_000)
    }

    @Test func whoPausesHasNoMoreThanTheBucketHolds() {
        var allowance = ControlQuota()
        allowance.charge(1, 0, at: 0)
        allowance.charge(1, ControlQuota.most + 1, at: 100_000 * second)
        #expect(!begins(&allowance, 1, at: 100_000 * second))
    }

    @Test func thereIsRoomForNewUsersHoweverManyAsked() {
        var allowance = ControlQuota()
        for uid in 0..<20_000 as Range<UInt32> { allowance.charge(uid, 1000, at: UInt64(uid) * 1_000_000) }
        #expect(begins(&allowance, 20_000, at: 20 * second))
    }
}
