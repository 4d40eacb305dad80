import ControlProtocol
import FuseSession
import MountOptions
import Testing

@testable import ACLFileSystem

/// The answers that the daemon keeps for commands that change many lists (docs/reference/control.md "Lists of many files").
@Suite struct ListOutcomesTests {
    private func asker(_ uid: UInt32, _ tid: UInt32) -> ListOutcomes.Asker { .init(NodeID(5), Caller(uid: uid, gid: uid, tid: tid)) }
    private func answer(_ token: UInt64) -> ListsAnswer { ListsAnswer(token: token, outcomes: [.changed]) }

    @Test func oneUserCannotTakeTheAnswersOfAnother() {
        let outcomes = ListOutcomes()
        outcomes.keep(answer(1), of: asker(501, 1))
        for tid: UInt32 in 1...1000 { outcomes.keep(answer(UInt64(tid)), of: asker(502, tid)) }
        #expect(outcomes.find(asker(501, 1)) == answer(1))
        var kept: [UInt32] = []
        for tid: UInt32 in 1...1000 where outcomes.find(asker(502, tid)) != nil { kept.append(tid) }
        #expect(kept.count == ListOutcomes.most - 1 && kept.last == 1000)
    }

    /// What is mounted below a mount that is not in the table is not known.
    @Test func anUnwatchedMountTableIsNotKnown() {
        let cache = KernelCache(.auto)
        #expect(!cache.isMountTableKnown)
        cache.watchMountTable(MountTableChanges { false })
        #expect(!cache.isMountTableKnown)
        cache.beginMountTableRead()
        cache.endMountTableRead()
        #expect(cache.isMountTableKnown)
    }

    @Test func aThreadHasItsLastAnswer() {
        let outcomes = ListOutcomes()
        outcomes.keep(answer(1), of: asker(501, 1))
        outcomes.keep(answer(2), of: asker(501, 1))
        #expect(outcomes.find(asker(501, 1)) == answer(2))
        #expect(outcomes.find(asker(501, 2)) == nil && outcomes.find(asker(502, 1)) == nil)
    }
}
