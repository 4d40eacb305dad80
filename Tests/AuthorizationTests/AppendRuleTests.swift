import Authorization
import TestSupport
import Testing

/// Files that are given to the kernel when they are open: no descriptor on them may be one that only adds
/// (docs/internals/data-path.md).
@Suite struct AppendRuleTests {
    private struct RandomCredential: Credential {
        var uid: UInt32
        var answer: Membership
        func membership(inGroup gid: UInt32) -> Membership { answer }
        func membership(of guid: GUID) -> Membership { answer }
    }

    private func randomObject(_ random: inout SplitMix64) -> ObjectFacts {
        var object = ObjectFacts(
            kind: .file, owner: random.pick([0, 501, 502]), group: random.pick([0, 20, 600]),
            mode: FileMode(rawValue: random.pick([0, 0o400, 0o200, 0o644, 0o622, 0o666, 0o070, 0o007, 0o777])))
        if random.chance(10) { object.ownerGUID = GUID(group: 600) }
        if random.chance(10) { object.flags = random.pick([.userAppend, .systemAppend, .userImmutable, .systemImmutable]) }
        if random.chance(10) { return object }
        let whom: [GUID] = [.everyone, .owner, .owningGroup, .nobody, GUID(user: 502), GUID(group: 600)]
        let both: Rights = [.write, .append]
        var acl = ACL([])
        for _ in 0..<random.below(5) {
            var rights = Rights(rawValue: UInt32(truncatingIfNeeded: random.next())).intersection(.all)
            switch random.below(10) {
            case 0..<4: rights.formUnion(both)
            case 4..<8: rights.subtract(both)
            case 8: rights.insert(random.pick([.genericAll, .genericRead, .genericWrite]))
            default: break
            }
            acl.entries.append(ACE(guid: random.pick(whom), flagsWord: random.pick([1, 1, 2, 2, 3]), rights: rights))
        }
        object.acl = acl
        return object
    }

    @Test func whoeverMayAppendMayWrite() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        var (asked, held) = (0, 0)
        for _ in 0..<50_000 {
            let object = randomObject(&random)
            var volume = VolumeState()
            volume.ignoresOwnership = random.chance(10)
            volume.ignoresACLs = random.chance(10)
            volume.unknown99 = random.chance(10)
            let caller = RandomCredential(
                uid: random.pick([0, 99, 501, 502, 503]), answer: random.pick([.member, .notMember, .unknown]))
            for asks: Rights in [.append, [.read, .append]] where decide(.rights(asks), object, by: caller, on: volume).isAllowed {
                let mayWrite = decide(.rights(.write), object, by: caller, on: volume).isAllowed
                if object.appendingImpliesWriting {
                    asked += 1
                    #expect(mayWrite, "seed \(seed): \(object) for \(caller) on \(volume)")
                } else if !mayWrite {
                    held += 1
                }
            }
        }
        #expect(asked > 5_000 && held > 100, "\(asked) \(held)")
    }

    @Test func whatSeparatesTheTwo() {
        #expect(file(0o600).appendingImpliesWriting)
        #expect(file(0o600, ACE(.everyone, .allow, [.write, .append])).appendingImpliesWriting)
        #expect(file(0o600, ACE(.everyone, .allow, .genericWrite)).appendingImpliesWriting)
        #expect(file(0o600, ACE(.everyone, .deny, .read)).appendingImpliesWriting)
        // Who may write and not append is held to nothing, and no more is who may do neither.
        #expect(file(0o600, ACE(.everyone, .allow, .write)).appendingImpliesWriting)
        #expect(file(0o600, ACE(.everyone, .deny, .append)).appendingImpliesWriting)
        #expect(file(0o600, ACE(.everyone, .allow, .append, flags: .onlyInherit)).appendingImpliesWriting)
        #expect(!file(0o600, ACE(.everyone, .allow, .append)).appendingImpliesWriting)
        #expect(!file(0o600, ACE(.everyone, .deny, .write)).appendingImpliesWriting)
        var log = file(0o600)
        log.flags = .userAppend
        #expect(!log.appendingImpliesWriting)
    }
}
