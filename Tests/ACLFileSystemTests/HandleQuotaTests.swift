import Testing

@testable import ACLFileSystem

/// docs/reference/security.md "Denial of service": what open handles of one user, and of all, leave to others.
struct HandleQuotaTests {
    private func charges(_ quota: HandleQuota, _ uids: some Sequence<UInt32>, payer: (UInt32) -> UInt32 = { $0 }) -> [HandleQuota.Charge] {
        var charges: [HandleQuota.Charge] = []
        for uid in uids { while let charge = try? quota.charge(uid, to: payer(uid)) { charges.append(charge) } }
        return charges
    }

    @Test func theUidsOfOneUserHoldWhatOneMayHold() throws {
        let quota = HandleQuota(limit: 1024, budget: 0)
        let held = charges(quota, 100_000..<100_020) { _ in 1000 }
        #expect(held.count == quota.forOneUser && held.first?.uid == 100_000)
        #expect(throws: (any Error).self) { _ = try held[0].chargeAnother() }
        #expect((try? quota.charge(1001, to: 1001)) != nil)
    }

    @Test func allUsersLeaveSomethingToWhoHasNothing() {
        let quota = HandleQuota(limit: 1024, budget: 0)
        let held = charges(quota, 1000..<1003)
        #expect(held.count <= quota.total - quota.reserve + 2 * quota.few)
        let few = charges(quota, 1003..<1004)
        #expect(few.count == quota.few && quota.few == 16)
        withExtendedLifetime((held, few)) {}
    }

    @Test func whatIsReleasedIsThePayers() throws {
        let quota = HandleQuota(limit: 64, budget: 32)
        for _ in 0..<100 { _ = try quota.charge(100_000, to: 1000) }
        #expect(quota.count == 0)
        var held = charges(quota, 100_000..<100_001) { _ in 1000 }
        #expect(held.count == quota.forOneUser)
        held.removeLast()
        #expect((try? quota.charge(100_001, to: 1000)) != nil)
    }
}
