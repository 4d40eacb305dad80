import BackingStore
import Foundation
import FuseSession
import Identity
import LinuxSystem
import MountOptions
import Synchronization
import TestSupport
import Testing

@testable import ACLFileSystem

/// One user's revocations cost others a bounded number of bumps, and each takes effect at once (docs/internals/coherence.md "The price of a bump").
struct BumpBudgetTests {
    private static let alice = BumpBudget.Account.user(501)
    private static let bob = BumpBudget.Account.user(502)

    @Test func manyBumpsAtOnceAreOverTheBudgetOfTheirUserAlone() {
        var budget = BumpBudget()
        #expect(budget.isUnused)
        for _ in 0..<BumpBudget.burst - 1 { budget.charge(Self.alice, 1_000) }
        #expect(!budget.isOver(Self.alice, 1_000))
        budget.charge(Self.alice, 1_000)
        #expect(budget.isOver(Self.alice, 1_000))
        #expect(!budget.isOver(Self.bob, 1_000))
        #expect(!budget.isOver(Self.alice, 1_000 + BumpBudget.interval), "one is paid for")
        budget.forgetPaid(1_000 + BumpBudget.interval)
        #expect(budget.isUnused, "and so nobody has to ask")
    }

    @Test func manyAccountsTakeABoundedAmountOfMemory() {
        var budget = BumpBudget()
        for number in 0..<20_000 { budget.charge(.user(UInt32(number)), 1) }
        for _ in 0..<BumpBudget.burst { budget.charge(Self.alice, 1) }
        #expect(budget.isOver(Self.alice, 1))
    }

    /// Who may own directories under 65 536 uids has one budget all the same.
    @Test func aSubordinateOwnerIsChargedToTheUser() throws {
        let directory = try ScratchDirectory("bumps")
        try "1000:100000:65536\n".write(toFile: directory.path + "/subuid", atomically: true, encoding: .utf8)
        let persons = PersonBehind(SubordinateIDs(directory.path + "/subuid"))
        let tree = try BackingTree(
            directory: Syscall.open("/etc", OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs",
            descriptorBudget: 64, report: { _ in })
        func account(_ owner: UInt32) -> BumpBudget.Account { .init(tree.root, owner: owner, persons: persons) }
        #expect(account(100_007) == .user(1000) && account(1000) == .user(1000) && account(1001) == .user(1001))
        #expect(account(0) == .object(tree.root.key))
    }

    @Test func aListingThatIsHeldCausesOneBumpAndNotOneForEachRevocation() throws {
        let tree = try BackingTree(
            directory: Syscall.open("/etc", OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs",
            descriptorBudget: 64, report: { _ in })
        let directory = Node(id: NodeID(2), object: tree.root)
        let cache = KernelCache(.exclusive)
        cache.begin(hasEpoch: true)
        let listing = UnusedListing(of: directory, cache)
        listing.begin()
        listing.append("name", NodeID(3))
        for _ in 0..<5 { cache.invalidateEntries(below: directory, charging: Self.alice, isLocked: true) }
        #expect(cache.bumps == 1)
        listing.append("other", NodeID(4))
        cache.invalidateEntries(below: directory, charging: Self.alice, isLocked: true)
        #expect(cache.bumps == 2, "a new listing has entries that no bump has met")
        for _ in 0..<5 { cache.invalidateEntries(below: directory) }
        #expect(cache.bumps == 2)
    }

    @Test func oldTimeoutsOfManyDirectoriesStayWithinTheBudget() throws {
        let tree = try BackingTree(
            directory: Syscall.open("/etc", OpenFlag.readOnly | OpenFlag.directory), metadataName: "user.aclfs",
            descriptorBudget: 64, report: { _ in })
        let cache = KernelCache(.exclusive)
        cache.begin(hasEpoch: true)
        for _ in 0..<100 {
            let directory = Node(id: NodeID(2), object: tree.root)
            directory.exposure.noteCacheableEntry(bumps: 0)
            cache.invalidateOldTimeout(of: directory, charging: Self.alice)
        }
        #expect(cache.bumps == BumpBudget.burst)
        #expect(!cache.isAffordable(Self.alice, nil))
        #expect(!cache.isAffordable(Self.bob, Self.alice))
        #expect(cache.isAffordable(Self.bob, nil))
    }
}
