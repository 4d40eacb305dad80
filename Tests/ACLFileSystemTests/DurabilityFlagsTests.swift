import BackingStore
import LinuxSystem
import Testing

@testable import ACLFileSystem

/// What flags ask for (docs/internals/data-path.md "On the disk"), and which change times are shown (docs/internals/zerofill.md "What else can be seen").
@Suite struct DurabilityFlagsTests {
    @Test func theFlagsOfAHandleOrACall() {
        #expect(Durability(flags: OpenFlag.writeOnly | OpenFlag.append) == .nothing)
        #expect(Durability(flags: OpenFlag.writeOnly | OpenFlag.dataSync) == .data)
        #expect(Durability(flags: OpenFlag.readWrite | OpenFlag.sync) == .everything)
        // The half of O_SYNC that is not O_DSYNC says nothing.
        #expect(Durability(flags: OpenFlag.sync & ~OpenFlag.dataSync) == .nothing)
        #expect(max(Durability.nothing, .data) == .data && max(Durability.everything, .data) == .everything)
    }

    @Test func onlyTheTimeThatAFillHasLeftIsReplaced() {
        var changes = ShownChangeTimes()
        func key(_ inode: UInt64) -> ObjectKey { ObjectKey(device: 1, inode: inode, handle: nil) }
        let (first, second, third) = (Timespec(sec: 1, nsec: 0), Timespec(sec: 2, nsec: 0), Timespec(sec: 3, nsec: 0))
        changes.insert(key(1), real: second, shown: first)
        #expect(changes.shown(key(1), real: second) == first)
        #expect(changes.shown(key(1), real: third) == third)
        #expect(changes.shown(key(2), real: second) == second)
        for inode in 2..<20_000 { changes.insert(key(UInt64(inode)), real: second, shown: first) }
        #expect(changes.shown(key(1), real: second) == second)
        #expect(changes.shown(key(19_999), real: second) == first)
        #expect(changes.count <= 4096)
    }
}
