import Authorization
import Testing
import WireFormats

/// The entries that stand for a mode.
@Suite struct ModeEntriesTests {
    private static let owner = KnownCredential(uid: 501, gid: 600)
    private static let ownerInGroup = KnownCredential(uid: 501, gid: 20)
    private static let member = KnownCredential(uid: 502, gid: 20)
    private static let other = KnownCredential(uid: 503, gid: 601)

    private static let modes = (0..<UInt16(0o1000)).map { FileMode(rawValue: $0) }

    private func decide(_ right: Rights, _ facts: ObjectFacts, _ caller: KnownCredential) -> Bool {
        var inquiry = Inquiry(caller, on: VolumeState(), sandbox: Unconfined(), observer: NoObserver())
        return inquiry.authorize(.rights(right), FactsByRole(object: facts)).isAllowed
    }

    /// As entries of a file without mode bits they decide as the mode itself does: exactly one class counts.
    @Test(arguments: [ObjectKind.file, .directory]) func theyDecideAsTheModeDoes(_ kind: ObjectKind) {
        for mode in Self.modes {
            let entries = ModeEntries.entries(for: mode, isDirectory: kind == .directory)
            let byMode = ObjectFacts(kind: kind, owner: 501, group: 20, mode: mode)
            let byEntries = ObjectFacts(kind: kind, owner: 501, group: 20, mode: FileMode(rawValue: 0), acl: ACL(entries))
            for caller in [Self.owner, Self.ownerInGroup, Self.member, Self.other] {
                for bit in (1...13).map({ UInt32(1) << $0 }) + [1 << 20] {
                    let right = Rights(rawValue: bit)
                    // On a file it means nothing, and the tools remove it.
                    if right == .deleteChild, kind == .file { continue }
                    #expect(
                        decide(right, byMode, caller) == decide(right, byEntries, caller),
                        "mode \(String(mode.rawValue, radix: 8)), right \(String(bit, radix: 16)), uid \(caller.uid) of \(caller.gid)")
                }
            }
        }
    }

    /// Each mode is found again, alone and behind any other group of entries, and no other mode is.
    @Test(arguments: [true, false]) func eachIsFoundAgain(_ isDirectory: Bool) {
        for mode in Self.modes {
            let entries = ModeEntries.entries(for: mode, isDirectory: isDirectory)
            let alone = ModeEntries.split(entries, isDirectory: isDirectory)
            #expect(alone.stored.isEmpty && alone.permissions == mode.rawValue)
            for before in Self.modes where before.rawValue % 37 == mode.rawValue % 37 {
                for dropped in 0..<3 {
                    let stored = Array(ModeEntries.entries(for: before, isDirectory: isDirectory).dropLast(dropped))
                    let both = ModeEntries.split(stored + entries, isDirectory: isDirectory)
                    #expect(both.stored == stored && both.permissions == mode.rawValue)
                }
            }
        }
    }

    @Test func setIDAndStickyBitsHaveNoEntry() {
        let plain = ModeEntries.entries(for: FileMode(rawValue: 0o755), isDirectory: true)
        #expect(ModeEntries.entries(for: FileMode(rawValue: 0o7755), isDirectory: true) == plain)
    }

    /// Entries that are nearly those of a mode are entries: removing one right, one entry or the order.
    @Test func nearlyAModeIsNone() {
        let entries = ModeEntries.entries(for: FileMode(rawValue: 0o604), isDirectory: false)
        #expect(entries.map(\.guid) == [.owner, .owningGroup, .owningGroup, .everyone])
        #expect(entries.map(\.kind) == [.allow, .allow, .deny, .allow])
        for index in entries.indices {
            var other = entries
            other.remove(at: index)
            #expect(ModeEntries.split(other, isDirectory: false).permissions == nil, "without entry \(index)")
            other = entries
            other[index].rights.formSymmetricDifference(.synchronize)
            #expect(ModeEntries.split(other, isDirectory: false).permissions == nil, "synchronize of entry \(index)")
            other = entries
            other[index].flags = .inherited
            #expect(ModeEntries.split(other, isDirectory: false).permissions == nil, "inherited entry \(index)")
            other = entries
            other.swapAt(index, (index + 1) % entries.count)
            #expect(ModeEntries.split(other, isDirectory: false).permissions == nil, "order of entry \(index)")
        }
        // delete_child stands for write on directories only.
        let ofDirectory = ModeEntries.entries(for: FileMode(rawValue: 0o755), isDirectory: true)
        #expect(ModeEntries.split(ofDirectory, isDirectory: false).permissions == nil)
        #expect(ModeEntries.split([], isDirectory: false).permissions == nil)
    }
}
