import Authorization
import TestSupport
import Testing

/// docs/internals/coherence.md: what is called universal is granted to everybody, root and those whose groups cannot
/// be learned included. Rights to write also depend on flags and are not asked here.
@Suite struct UniversalityTests {
    private let readOnly: Rights = [
        .read, .execute, .readAttributes, .readExtendedAttributes, .readSecurity, .synchronize,
    ]

    private struct RandomCredential: Credential {
        var uid: UInt32
        var known: [UInt32: Membership]
        func membership(inGroup gid: UInt32) -> Membership { known[gid] ?? .unknown }
        func membership(of guid: GUID) -> Membership { known[0] ?? .unknown }
    }

    private func randomObject(_ random: inout SplitMix64) -> ObjectFacts {
        let modes: [UInt16] = [0, 0o444, 0o555, 0o755, 0o644, 0o711, 0o666, 0o777, 0o1777, 0o404]
        let whom: [GUID] = [
            .everyone, .everyone, .everyone, .owner, .owningGroup, .nobody, GUID(user: 502), GUID(group: 600),
            GUID(high: 1, low: 2),
        ]
        var object = ObjectFacts(
            kind: random.pick(ObjectKind.allCases), owner: random.pick([0, 99, 501, 502]),
            group: random.pick([0, 20, 99, 600]), mode: FileMode(rawValue: random.pick(modes)))
        if random.chance(10) { object.ownerGUID = GUID(group: 600) }
        if random.chance(30) {
            object.posixACL = random.chance(20) ? .unreadable : PosixACL([.init(.owningGroup, random.pick([0, 4, 5, 7, 7]))])
            if object.posixACL?.isUnreadable == false, random.chance(50) {
                let whom: PosixACL.Subject = random.pick([.user(502), .group(600)])
                object.posixACL?.entries.append(.init(whom, random.pick([0, 4, 5, 7, 7])))
            }
        }
        if random.chance(30) { return object }
        var acl = ACL([])
        for _ in 0..<random.below(4) {
            var rights = readOnly.intersection(Rights(rawValue: UInt32(truncatingIfNeeded: random.next())))
            if random.chance(10) { rights.insert(random.pick([.genericAll, .genericRead, .genericExecute])) }
            acl.entries.append(
                ACE(
                    guid: random.pick(whom), flagsWord: random.pick([1, 1, 1, 2, 3, 4]) | (random.chance(15) ? 0x100 : 0),
                    rights: rights))
        }
        object.acl = acl
        return object
    }

    @Test func universalRightsAreGrantedToEverybody() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        var asked = 0
        for _ in 0..<20_000 {
            let object = randomObject(&random)
            var volume = VolumeState()
            volume.ignoresOwnership = random.chance(10)
            volume.ignoresACLs = random.chance(10)
            volume.forbidsExecution = random.chance(20)
            volume.isReadOnly = random.chance(20)
            volume.unknown99 = random.chance(20)
            let caller = RandomCredential(
                uid: random.pick([0, 501, 502, 503]),
                known: [
                    0: random.pick([.member, .notMember, .unknown]), 20: random.pick([.member, .notMember, .unknown]),
                    600: random.pick([.member, .notMember, .unknown]),
                ])
            let universal = universalRights(of: object, on: volume).intersection(readOnly)
            for bit in UInt32(0)..<32 where universal.rawValue & (1 << bit) != 0 {
                asked += 1
                let decision = decide(.rights(Rights(rawValue: 1 << bit)), object, by: caller, on: volume)
                #expect(decision.isAllowed, "seed \(seed): bit \(bit) of \(object) for \(caller) on \(volume)")
            }
            // What is universal one by one is so together.
            if !universal.isEmpty {
                #expect(decide(.rights(universal), object, by: caller, on: volume).isAllowed, "seed \(seed)")
            }
        }
        #expect(asked > 20_000)
    }

    @Test func whatOneCallerMayBeRefusedIsNotUniversal() {
        let volume = VolumeState()
        #expect(!universalRights(of: file(0o440), on: volume).contains(.read))
        #expect(!universalRights(of: file(0o444, ACE(GUID(user: 503), .deny, .read)), on: volume).contains(.read))
        #expect(universalRights(of: file(0o444, ACE(.nobody, .deny, .read)), on: volume).contains(.read))
        #expect(universalRights(of: file(0o444), on: volume).contains(.read))
        // Root needs an execute bit whatever an entry allows (docs/reference/authorization.md 3.5), and a volume may forbid execution.
        #expect(!universalRights(of: file(0, ACE(.everyone, .allow, .execute)), on: volume).contains(.execute))
        var noExecution = volume
        noExecution.forbidsExecution = true
        #expect(!universalRights(of: file(0o777), on: noExecution).contains(.execute))
        #expect(universalRights(of: directory(0o777), on: noExecution).contains(.search))
    }
}
