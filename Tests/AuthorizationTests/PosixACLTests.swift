import Authorization
import TestSupport
import Testing

/// docs/reference/authorization.md Q22: a POSIX ACL of the backing object is asked in place of the mode's group bits.
@Suite struct PosixACLTests {
    private let member = KnownCredential(uid: 502, gid: 20)
    private let carol = KnownCredential(uid: 503, gid: 20)
    private let inSales = KnownCredential(uid: 504, gid: 20, groups: [600])

    private func file(_ mode: UInt16, _ entries: PosixACL.Entry...) -> ObjectFacts {
        ObjectFacts(kind: .file, owner: 501, group: 20, mode: FileMode(rawValue: mode), posixACL: PosixACL(entries))
    }

    private func may(_ rights: Rights, _ object: ObjectFacts, _ caller: some Credential) -> Decision {
        decide(.rights(rights), object, by: caller)
    }

    /// `chmod 600 pay; setfacl -m u:carol:rw pay`: the mode shows 0660, the mask.
    @Test func theMaskIsNotTheGroupsRight() {
        let pay = file(0o660, .init(.user(503), 6), .init(.owningGroup, 0))
        #expect(may(.read, pay, member) == .deny(.EACCES, .mode(.group, .object)))
        #expect(may(.write, pay, member) == .deny(.EACCES, .mode(.group, .object)))
        #expect(may([.read, .write], pay, carol) == .allow(.mode(.group, .object)))
        #expect(may([.read, .write], pay, owner) == .allow(.mode(.owner, .object)))
        #expect(may(.read, pay, root) == .allow(.root))
        #expect(may(.read, pay, stranger) == .deny(.EACCES, .mode(.other, .object)))
    }

    @Test func namedUsersComeBeforeGroups() {
        // Her entry decides alone, though her group would have more.
        let object = file(0o674, .init(.user(503), 0), .init(.owningGroup, 7))
        #expect(may(.read, object, carol) == .deny(.EACCES, .mode(.group, .object)))
        #expect(may(.read, object, member) == .allow(.mode(.group, .object)))
        // The owner's bits are never an entry's.
        let own = file(0o060, .init(.user(501), 6), .init(.owningGroup, 6))
        #expect(may(.read, own, owner) == .deny(.EACCES, .mode(.owner, .object)))
    }

    @Test func oneGroupThatGrantsIsEnough() {
        let object = file(0o660, .init(.owningGroup, 0), .init(.group(600), 6))
        #expect(may([.read, .write], object, inSales) == .allow(.mode(.group, .object)))
        #expect(may(.read, object, member) == .deny(.EACCES, .mode(.group, .object)))
        // All bits must stand in the one entry.
        let split = file(0o660, .init(.owningGroup, 4), .init(.group(600), 2))
        #expect(may(.read, split, inSales).isAllowed)
        #expect(may(.write, split, inSales).isAllowed)
        #expect(!may([.read, .write], split, inSales).isAllowed)
        // A group that matches and does not grant keeps others' bits away.
        #expect(!may(.read, file(0o604, .init(.owningGroup, 0), .init(.group(600), 0)), inSales).isAllowed)
    }

    @Test func theMaskCutsUsersAndGroups() {
        let object = file(0o640, .init(.user(503), 6), .init(.owningGroup, 6), .init(.group(600), 7))
        for caller in [carol, member, inSales] {
            #expect(may(.read, object, caller).isAllowed)
            #expect(!may(.write, object, caller).isAllowed)
        }
        // Also where it leaves nothing and others have more.
        #expect(!may(.read, file(0o604, .init(.user(503), 4), .init(.owningGroup, 4)), carol).isAllowed)
    }

    @Test func whatCannotBeLearnedDoesNotHelp() {
        let unsure = WithUnknownGroups(uid: 502)
        #expect(!may(.read, file(0o664, .init(.owningGroup, 0)), unsure).isAllowed)
        #expect(!may(.read, file(0o660, .init(.owningGroup, 4)), unsure).isAllowed)
        #expect(may(.read, file(0o664, .init(.owningGroup, 4)), unsure).isAllowed)
        #expect(!may(.read, file(0o664, .init(.owningGroup, 4), .init(.group(600), 0)), unsure).isAllowed)
        #expect(may(.read, file(0o660, .init(.user(502), 4), .init(.owningGroup, 0)), unsure).isAllowed)
        // A group as owner of which the caller may be a member.
        var owned = file(0o460, .init(.user(502), 4), .init(.owningGroup, 0))
        owned.ownerGUID = GUID(group: 600)
        #expect(may(.read, owned, unsure).isAllowed)
        owned.mode = FileMode(rawValue: 0o060)
        #expect(!may(.read, owned, unsure).isAllowed)
    }

    @Test func aListThatCannotBeReadRefusesAllButTheOwner() {
        let object = file(0o777)
        #expect(object.posixACL?.isUnreadable == true)
        for caller in [member, carol, stranger] { #expect(may(.read, object, caller) == .deny(.EACCES, .mode(.group, .object))) }
        #expect(may(.read, object, owner).isAllowed)
        #expect(may(.read, object, root).isAllowed)
        #expect(may(.readAttributes, object, stranger).isAllowed)
    }

    @Test func entriesComeFirstAndLeaveTheRest() {
        var object = file(0o660, .init(.owningGroup, 0))
        object.acl = ACL([ACE(GUID(user: 502), .allow, .read), ACE(GUID(user: 504), .deny, .read)])
        #expect(may(.read, object, member) == .allow(.entry(.object, 0)))
        #expect(!may([.read, .write], object, member).isAllowed)
        var volume = VolumeState()
        volume.ignoresACLs = true
        #expect(!decide(.rights(.read), object, by: member, on: volume).isAllowed)
        volume.ignoresOwnership = true
        #expect(decide(.rights(.read), object, by: member, on: volume) == .allow(.ownershipIgnored))
    }

    @Test func removingAsksTheDirectorysList() {
        var parent = file(0o770, .init(.user(503), 7), .init(.owningGroup, 5))
        parent.kind = .directory
        #expect(decide(.unlink, file(0o600, .init(.owningGroup, 0)), in: parent, by: carol).isAllowed)
        #expect(!decide(.unlink, file(0o600, .init(.owningGroup, 0)), in: parent, by: member).isAllowed)
    }

    @Test func theEntryThatDecidesIsNamed() {
        let object = file(0o660, .init(.user(503), 6), .init(.owningGroup, 0))
        for (caller, index) in [(carol, 0), (member, 1)] {
            var inquiry = Inquiry(caller, on: VolumeState(), sandbox: Unconfined(), observer: RecordingObserver())
            _ = inquiry.authorize(.open(.read), FactsByRole(object: object))
            #expect(inquiry.observer.events.contains(.posixEntry(.object, index)))
        }
    }

    @Test func universalIsWhatAllGrant() {
        let volume = VolumeState()
        #expect(universalRights(of: file(0o755, .init(.user(503), 5), .init(.owningGroup, 5)), on: volume).contains(.execute))
        #expect(!universalRights(of: file(0o755, .init(.user(503), 4), .init(.owningGroup, 5)), on: volume).contains(.execute))
        #expect(!universalRights(of: file(0o755, .init(.owningGroup, 4)), on: volume).contains(.execute))
        #expect(!universalRights(of: file(0o755, .init(.owningGroup, 5), .init(.group(600), 4)), on: volume).contains(.execute))
        #expect(!universalRights(of: file(0o777), on: volume).contains(.read))
    }

    /// What a caller is told is what a literal reading of POSIX.1e says in every world that what is unknown leaves open.
    @Test func agreesWithALiteralReading() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        var granted = 0
        for _ in 0..<20_000 {
            let object = randomObject(&random)
            let known: [UInt32: Membership] = Dictionary(
                uniqueKeysWithValues: [20, 600, 601].map { ($0, random.pick([.member, .notMember, .unknown])) })
            let caller = PartlyKnown(uid: random.pick([501, 502, 503]), known: known)
            let bits = UInt16(random.below(7) + 1)
            let expected = worlds(known).allSatisfy { literal(bits, object, caller.uid, $0) }
            if expected { granted += 1 }
            #expect(may(rights(bits), object, caller).isAllowed == expected, "seed \(seed): \(bits) on \(object) for \(caller)")
            // And the same without a note of what decided. A refusal has the same stage, and in a log of grants so have they.
            let told = may(rights(bits), object, caller)
            var inquiry = Inquiry(caller, on: VolumeState(), sandbox: Unconfined(), observer: NoObserver())
            let kept = inquiry.authorize(.rights(rights(bits)), FactsByRole(object: object))
            #expect(kept.isAllowed == expected && (expected || kept == told), "seed \(seed)")
            var logging = Inquiry(caller, on: VolumeState(), sandbox: Unconfined(), observer: StageObserver())
            #expect(logging.authorize(.rights(rights(bits)), FactsByRole(object: object)) == told, "seed \(seed)")
        }
        #expect(granted > 1000)
    }

    private struct PartlyKnown: Credential {
        var uid: UInt32
        var known: [UInt32: Membership]
        func membership(inGroup gid: UInt32) -> Membership { known[gid] ?? .notMember }
    }

    private func randomObject(_ random: inout SplitMix64) -> ObjectFacts {
        func bits() -> UInt16 { random.pick([0, 4, 5, 6, 7, 7]) }
        var entries: [PosixACL.Entry] = []
        for uid in [UInt32(502), 503] where random.chance(40) { entries.append(.init(.user(uid), bits())) }
        entries.append(.init(.owningGroup, bits()))
        for gid in [UInt32(600), 601] where random.chance(40) { entries.append(.init(.group(gid), bits())) }
        let mode = bits() << 6 | bits() << 3 | bits()
        return ObjectFacts(kind: .directory, owner: 501, group: 20, mode: FileMode(rawValue: mode), posixACL: PosixACL(entries))
    }

    private func rights(_ bits: UInt16) -> Rights {
        var rights: Rights = []
        if bits & 4 != 0 { rights.insert(.list) }
        if bits & 2 != 0 { rights.insert(.addFile) }
        if bits & 1 != 0 { rights.insert(.search) }
        return rights
    }

    /// The sets of groups that the caller may be in.
    private func worlds(_ known: [UInt32: Membership]) -> [Set<UInt32>] {
        known.reduce([[]]) { sets, group in
            switch group.value {
            case .member: sets.map { $0.union([group.key]) }
            case .notMember: sets
            case .unknown: sets + sets.map { $0.union([group.key]) }
            }
        }
    }

    private func literal(_ bits: UInt16, _ object: ObjectFacts, _ uid: UInt32, _ groups: Set<UInt32>) -> Bool {
        let mode = object.mode.rawValue
        let entries = object.posixACL?.entries ?? []
        if uid == object.owner { return mode >> 6 & bits == bits }
        if let named = entries.first(where: { $0.subject == .user(uid) }) { return named.permissions & mode >> 3 & bits == bits }
        let matching = entries.filter { entry in
            switch entry.subject {
            case .user: false
            case .owningGroup: groups.contains(object.group)
            case .group(let gid): groups.contains(gid)
            }
        }
        if matching.isEmpty { return mode & bits == bits }
        return matching.contains { $0.permissions & mode >> 3 & bits == bits }
    }
}
