import Authorization
import Testing

/// docs/reference/authorization.md 3.7 and 1.4.
@Suite struct EntryScanTests {
    /// A deny counts against everything requested, also what an entry above it granted.
    @Test func denyOfAGrantedRightRefusesTheUnsatisfiedRequest() {
        let object = file(
            0, ACE(.everyone, .allow, .read), ACE(.everyone, .deny, .read), ACE(.everyone, .allow, .write))
        #expect(decide(.rights([.read, .write]), object, by: stranger) == .deny(.EACCES, .entry(.object, 1)))
        // Asked alone, reading is satisfied before the deny is seen.
        #expect(decide(.rights(.read), object, by: stranger) == .allow(.entry(.object, 0)))
        #expect(decide(.rights(.write), object, by: stranger) == .allow(.entry(.object, 2)))
    }

    @Test func denyOfWhatIsNotAskedDoesNotCount() {
        let object = file(0, ACE(.everyone, .deny, .write), ACE(.everyone, .allow, .read))
        #expect(decide(.rights(.read), object, by: stranger).isAllowed)
    }

    @Test func onlyInheritEntriesAreSkipped() {
        let object = file(
            0o444, ACE(.everyone, .deny, .read, flags: .onlyInherit), ACE(.everyone, .allow, .write, flags: .onlyInherit))
        #expect(decide(.rights(.read), object, by: stranger) == .allow(.mode(.other, .object)))
        #expect(!decide(.rights(.write), object, by: stranger).isAllowed)
    }

    static let genericBits: [(Rights, Rights)] = [
        (.genericRead, [.read, .readAttributes, .readExtendedAttributes, .readSecurity]),
        (.genericWrite, [.write, .append, .deleteChild, .writeAttributes, .writeExtendedAttributes, .writeSecurity]),
        (.genericExecute, .execute),
        (.genericAll, [.read, .write, .append, .execute, .writeSecurity, .readSecurity]),
    ]

    @Test(arguments: genericBits)
    func genericBitsAreExpandedWhenEvaluated(generic: Rights, granted: Rights) {
        let object = file(0, ACE(.everyone, .allow, generic))
        #expect(decide(.rights(granted), object, by: stranger) == .allow(.entry(.object, 0)))
        // chown is in none of them.
        #expect(!decide(.rights(.changeOwner), object, by: stranger).isAllowed)
    }

    @Test(arguments: [UInt32(0), 3, 4, 15])
    func reservedKindsAreSkipped(kind: UInt32) {
        let refusing = file(0o444, ACE(guid: .everyone, flagsWord: kind, rights: .read))
        #expect(decide(.rights(.read), refusing, by: stranger) == .allow(.mode(.other, .object)))
        let granting = file(0, ACE(guid: .everyone, flagsWord: kind, rights: .read))
        #expect(!decide(.rights(.read), granting, by: stranger).isAllowed)
    }

    @Test(arguments: [GUID(group: 700), .owningGroup])
    func unknownMembershipHelpsNobody(whom: GUID) {
        let caller = WithUnknownGroups(uid: 502)
        let denied = file(0o777, ACE(whom, .deny, .read))
        #expect(decide(.rights(.read), denied, by: caller) == .deny(.EACCES, .entry(.object, 0)))
        let allowed = file(0, ACE(whom, .allow, .read))
        #expect(!decide(.rights(.read), allowed, by: caller).isAllowed)
    }

    @Test func unknownIdentityCoversNobody() {
        let nobodyKnown = GUID(high: 0x0BAD_F00D_0000_4000, low: 0x8000_0000_0000_C0DE)
        for whom in [nobodyKnown, .nobody] {
            let denied = file(0o444, ACE(whom, .deny, .read))
            #expect(decide(.rights(.read), denied, by: stranger).isAllowed)
            let allowed = file(0, ACE(whom, .allow, .read))
            #expect(!decide(.rights(.read), allowed, by: stranger).isAllowed)
        }
    }

    /// Q20: group 12 is a group, not everyone.
    @Test func entryForGroupTwelveReachesItsMembersOnly() {
        let object = file(0, ACE(GUID(group: 12), .allow, .read))
        #expect(decide(.rights(.read), object, by: KnownCredential(uid: 502, gid: 20, groups: [12])).isAllowed)
        #expect(!decide(.rights(.read), object, by: stranger).isAllowed)
    }

    @Test func listsAreNotSeenWhereTheVolumeHasNone() {
        var volume = VolumeState()
        volume.ignoresACLs = true
        let object = file(0o444, ACE(.everyone, .deny, .read), ACE(.everyone, .allow, .write))
        #expect(decide(.rights(.read), object, by: stranger, on: volume).isAllowed)
        #expect(!decide(.rights(.write), object, by: stranger, on: volume).isAllowed)
    }
}
