import Testing

@testable import ACLFileSystem

/// What one user asks takes a twentieth of a processor at most, and nothing of what others may ask (docs/reference/control.md).
struct ControlQuotaTests {
    private let second: UInt64 = 1_000_000_000

    private func begins(_ quota: inout ControlQuota, _ uid: UInt32, at now: UInt64) -> Bool { quota.begin(uid, at: now) }

    @Test func oneAnswerOfAUserIsMadeAtATime() {
        var quota = ControlQuota()
        #expect(begins(&quota, 1, at: 0))
        #expect(!begins(&quota, 1, at: 0) && quota.readyTime(of: 1) == nil)
        #expect(begins(&quota, 2, at: 0), "others do not wait for it")
        quota.end(1)
        #expect(begins(&quota, 1, at: 0))
    }

    @Test func whoHasSpentAllWaitsUntilItIsThereAgain() {
        var quota = ControlQuota()
        #expect(begins(&quota, 1, at: second))
        quota.charge(1, ControlQuota.most + 100_000_000, at: second)
        quota.end(1)
        #expect(!begins(&quota, 1, at: second))
        #expect(begins(&quota, 2, at: second))
        // A tenth of a second too much takes two.
        let ready = 3 * second + UInt64(ControlQuota.share)
        #expect(quota.readyTime(of: 1) == ready)
        #expect(!begins(&quota, 1, at: ready - 40))
        #expect(begins(&quota, 1, at: ready))
    }

    @Test func atMostATwentiethIsSpentInTheLongRun() {
        var quota = ControlQuota()
        var (now, spent) = (UInt64(0), Int64(0))
        while now < 1000 * second {
            guard quota.begin(1, at: now) else {
                now = quota.readyTime(of: 1) ?? now
                continue
            }
            spent += 7_000_000
            now += 7_000_000
            quota.charge(1, 7_000_000, at: now)
            quota.end(1)
        }
        #expect(spent <= ControlQuota.most + Int64(now) / ControlQuota.share + 7_000_000)
        #expect(spent >= Int64(now) / ControlQuota.share - 7_000_000)
    }

    @Test func whoPausesHasNoMoreThanTheBucketHolds() {
        var quota = ControlQuota()
        quota.charge(1, 0, at: 0)
        quota.charge(1, ControlQuota.most + 1, at: 100_000 * second)
        #expect(!begins(&quota, 1, at: 100_000 * second))
    }

    @Test func thereIsRoomForNewUsersHoweverManyAsked() {
        var quota = ControlQuota()
        for uid in 0..<20_000 as Range<UInt32> { quota.charge(uid, 1000, at: UInt64(uid) * 1_000_000) }
        #expect(begins(&quota, 20_000, at: 20 * second))
    }
}
