import Authorization
import Testing

/// docs/reference/authorization.md 3.9 and 3.10.
@Suite struct ModeRuleTests {
    private func reads(_ mode: UInt16, _ caller: some Credential) -> Bool {
        decide(.rights(.read), file(mode), by: caller).isAllowed
    }

    @Test func exactlyOneClassDecides() {
        let member = KnownCredential(uid: 502, gid: 20)
        for mode in [UInt16(0), 0o400, 0o040, 0o004, 0o440, 0o404, 0o044, 0o444] {
            #expect(reads(mode, owner) == (mode & 0o400 != 0))
            #expect(reads(mode, member) == (mode & 0o040 != 0))
            #expect(reads(mode, stranger) == (mode & 0o004 != 0))
        }
    }

    /// Not knowing never becomes a grant: every class that could be the caller's has to agree (1.4).
    @Test func unknownClassNeedsBoth() {
        let unsure = WithUnknownGroups(uid: 502)
        #expect(!reads(0o440, unsure))
        #expect(!reads(0o404, unsure))
        #expect(reads(0o044, unsure))
        #expect(reads(0o400, WithUnknownGroups(uid: 501)))
    }

    /// Q5: a group may own; whether an unsure caller is among the owners then is unknown, too.
    @Test func groupAsOwner() {
        var object = file(0o400, owner: 0xFFFF_FF9B)
        object.ownerGUID = GUID(group: 600)
        #expect(decide(.rights(.read), object, by: stranger) == .allow(.mode(.owner, .object)))
        #expect(!decide(.rights(.read), object, by: WithUnknownGroups(uid: 502)).isAllowed)
        object.mode = FileMode(rawValue: 0o444)
        #expect(decide(.rights(.read), object, by: WithUnknownGroups(uid: 502)).isAllowed)
    }

    static let bitsOfRights: [(Rights, UInt16)] = [
        (Rights([.read, .readExtendedAttributes]), UInt16(0o004)),
        ([.write, .append, .deleteChild, .writeExtendedAttributes, .writeAttributes], 0o002),
        (.execute, 0o001), ([.read, .execute], 0o005), ([.read, .write], 0o006),
        ([.readAttributes, .readSecurity, .synchronize], 0),
    ]

    @Test(arguments: bitsOfRights)
    func leftoversNeedTheirBits(rights: Rights, bits: UInt16) {
        for mode in UInt16(0)..<8 {
            #expect(decide(.rights(rights), file(mode), by: stranger).isAllowed == (mode & bits == bits))
        }
    }

    @Test func ownershipRightsHaveNoModeBit() {
        for right in [Rights.changeOwner, .writeSecurity] {
            #expect(decide(.rights(right), file(0o777), by: stranger) == .deny(.EACCES, .noEquivalent))
        }
    }
}
