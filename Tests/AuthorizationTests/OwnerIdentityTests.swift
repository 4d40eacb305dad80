import Authorization
import Testing

/// docs/reference/authorization.md 6.3 and Q5: owners and groups that are no uid or gid.
@Suite struct OwnerIdentityTests {
    private let team = GUID(group: 600)
    private let imported = GUID(high: 0x0102_0304_0506_0708, low: 9)
    private let takable = ACE(.everyone, .allow, .changeOwner)
    private let administrable = ACE(.everyone, .allow, .writeSecurity)
    private let illegal = Decision.deny(.EPERM, .attributePolicy)

    /// A caller of whom the directory knows one identity without a number.
    private struct InDirectory: Credential {
        var uid: UInt32
        var identity: GUID
        func membership(inGroup gid: UInt32) -> Membership { .notMember }
        func membership(of guid: GUID) -> Membership { guid == identity ? .member : .notMember }
    }

    /// A caller to whom a file translates identities (docs/reference/identity.md "Identities from elsewhere").
    private struct Translated: Credential {
        var uid: UInt32
        var groups: [UInt32] = []
        var table: [GUID: Principal]
        func membership(inGroup gid: UInt32) -> Membership { groups.contains(gid) ? .member : .notMember }
        func translation(of guid: GUID) -> Principal? { table[guid] }
    }

    @Test func aTranslatedIdentityIsTheUserOrTheGroup() {
        let bob = Translated(uid: 502, table: [imported: .user(502)])
        let other = Translated(uid: 503, table: [imported: .user(502)])
        let member = Translated(uid: 503, groups: [600], table: [imported: .group(600)])
        for (caller, isMeant) in [(bob, true), (other, false), (member, true)] {
            #expect(decide(.open(.read), file(0, ACE(imported, .allow, .read)), by: caller).isAllowed == isMeant)
            #expect(decide(.open(.read), file(0o777, ACE(imported, .deny, .read)), by: caller).isAllowed == !isMeant)
            #expect(decide(.chmod(FileMode(rawValue: 0o600)), owned(by: imported), by: caller).isAllowed == isMeant)
        }
        // A user is no group: as the group of an object it has no members, and cannot be set as one.
        var object = file(0o640, owner: 501, group: ObjectFacts.notAnID)
        object.groupGUID = imported
        #expect(!decide(.open(.read), object, by: bob).isAllowed)
        #expect(decide(.open(.read), object, by: member).isAllowed)
        #expect(decide(.setGroup(imported), file(owner: 502), by: bob) == illegal)
        // With a table that lacks it, it is nobody's.
        let stranger = Translated(uid: 502, groups: [600], table: [:])
        #expect(!decide(.open(.read), file(0, ACE(imported, .allow, .read)), by: stranger).isAllowed)
        #expect(decide(.open(.read), file(0o777, ACE(imported, .deny, .read)), by: stranger).isAllowed)
    }

    private func owned(by guid: GUID, _ entries: ACE...) -> ObjectFacts {
        var object = file(0o640, owner: ObjectFacts.notAnID)
        object.acl = entries.isEmpty ? nil : ACL(entries)
        object.ownerGUID = guid
        return object
    }

    @Test func onlyRootGivesAnObjectToAGroup() {
        #expect(decide(.setOwner(team), file(), by: root).isAllowed)
        // Not even to a group of one's own, and not with the right: it is not the own identity.
        #expect(decide(.setOwner(team), file(0, takable), by: stranger) == illegal)
        #expect(decide(.setOwner(team), file(), by: owner) == illegal)
        #expect(decide(.setOwner(GUID(user: 502)), file(0, takable), by: stranger).isAllowed)
        #expect(decide(.setOwner(GUID(user: 502)), file(0o777), by: stranger) == .deny(.EPERM, .noEquivalent))
    }

    @Test func takingAnObjectFromAGroupAsksTheSameAsFromAUser() {
        #expect(decide(.chown(uid: 502, gid: nil), owned(by: team), by: stranger) == .deny(.EPERM, .noEquivalent))
        #expect(decide(.chown(uid: 502, gid: nil), owned(by: team, takable), by: stranger).isAllowed)
        #expect(decide(.setOwner(nil), owned(by: imported), by: stranger) == .deny(.EPERM, .noEquivalent))
        #expect(decide(.setOwner(nil), owned(by: imported, takable), by: stranger).isAllowed)
    }

    /// The number that goes with the identity is not the owner: naming it is a change like any other.
    @Test func membersOfAnOwningGroupCannotGiveTheObjectAway() {
        var object = owned(by: team)
        #expect(decide(.chown(uid: ObjectFacts.notAnID, gid: nil), object, by: stranger) == illegal)
        object.owner = 501
        #expect(decide(.chown(uid: 501, gid: nil), object, by: stranger) == illegal)
        #expect(decide(.chown(uid: 501, gid: nil), object, by: owner) == .deny(.EPERM, .noEquivalent))
        #expect(decide(.chown(uid: 501, gid: nil), object, by: root).isAllowed)
    }

    @Test func membersHaveTheOwnersRights() {
        let object = owned(by: team)
        #expect(decide(.chmod(FileMode(rawValue: 0o600)), object, by: stranger).isAllowed)
        #expect(decide(.open(.write), object, by: stranger) == .allow(.mode(.owner, .object)))
        // The uid that the number happens to be owns nothing.
        let closing = Operation.chmod(FileMode(rawValue: 0))
        #expect(!decide(closing, object, by: KnownCredential(uid: ObjectFacts.notAnID, gid: 1)).isAllowed)
        #expect(!decide(closing, object, by: WithUnknownGroups(uid: 502)).isAllowed)
    }

    @Test func aGroupIdentityDecidesTheClassInsteadOfTheNumber() {
        var object = file(0o640, group: 600)
        object.groupGUID = imported
        #expect(decide(.open(.read), object, by: stranger) == .deny(.EACCES, .mode(.other, .object)))
        #expect(decide(.open(.read), object, by: InDirectory(uid: 502, identity: imported)).isAllowed)
        // A user is no group, and the well-known identities own nothing.
        for guid in [GUID(user: 502), .everyone, .owningGroup, .owner, .nobody] {
            object.groupGUID = guid
            #expect(!decide(.open(.read), object, by: stranger).isAllowed)
        }
        object.mode = FileMode(rawValue: 0o604)
        object.groupGUID = imported
        #expect(!decide(.open(.read), object, by: InDirectory(uid: 502, identity: imported)).isAllowed)
    }

    @Test func aGroupIdentityAsksLikeChgrp() {
        let member = InDirectory(uid: 501, identity: imported)
        #expect(decide(.setGroup(imported), file(), by: owner) == illegal)
        #expect(decide(.setGroup(imported), file(), by: member).isAllowed)
        #expect(decide(.setGroup(imported), file(), by: root).isAllowed)
        let other = InDirectory(uid: 502, identity: imported)
        #expect(decide(.setGroup(imported), file(0o777), by: other) == .deny(.EPERM, .noEquivalent))
        #expect(decide(.setGroup(imported), file(0, administrable), by: other).isAllowed)
        var object = file(group: ObjectFacts.notAnID)
        object.groupGUID = imported
        #expect(decide(.setGroup(nil), object, by: owner).isAllowed)
        #expect(decide(.setGroup(nil), object, by: stranger) == .deny(.EPERM, .noEquivalent))
        #expect(decide(.chown(uid: nil, gid: ObjectFacts.notAnID), object, by: owner) == illegal)
    }

    /// Q6, and that nothing stops a change that is none.
    @Test func namingThePresentIdentity() {
        #expect(decide(.setOwner(team), owned(by: team), by: stranger).isAllowed)
        #expect(decide(.setOwner(team), owned(by: team), by: owner) == illegal)
        #expect(decide(.setOwner(nil), file(), by: stranger) == illegal)
        #expect(decide(.setOwner(nil), file(), by: owner).isAllowed)
        #expect(decide(.setGroup(nil), file(), by: stranger) == illegal)
    }

    @Test func flagsAndReadOnlyVolumesBind() {
        for operation in [Operation.setOwner(team), .setGroup(imported), .setOwner(nil)] {
            #expect(decide(operation, file(flags: .userImmutable), by: root) == .deny(.EPERM, .flags(.object)))
            var readOnly = VolumeState()
            readOnly.isReadOnly = true
            #expect(decide(operation, file(), by: root, on: readOnly) == .deny(.EROFS, .precondition(.readOnly)))
        }
        var ignoring = VolumeState()
        ignoring.ignoresOwnership = true
        #expect(decide(.setOwner(team), file(), by: stranger, on: ignoring).isAllowed)
    }

    /// 5.3: the group is the directory's, whatever kind of identity it is; the owner never is.
    @Test func newObjectsGetTheDirectorysGroupIdentity() throws {
        var parent = directory(0o777, group: ObjectFacts.notAnID)
        (parent.ownerGUID, parent.groupGUID) = (team, imported)
        func made(_ volume: VolumeState) throws -> ObjectFacts {
            let inquiry = Inquiry(stranger, on: volume, sandbox: Unconfined(), observer: NoObserver())
            return try inquiry.newObject(
                CreationRequest(kind: .file, mode: FileMode(rawValue: 0o644), umask: 0), in: parent, gid: 600)
        }
        var volume = VolumeState()
        let new = try made(volume)
        #expect(new.groupGUID == imported && new.group == ObjectFacts.notAnID)
        #expect(new.ownerGUID == nil && new.owner == 502)
        volume.groupFromDirectory = false
        let linux = try made(volume)
        #expect(linux.groupGUID == nil && linux.group == 600)
        parent.mode = FileMode(rawValue: 0o2777)
        #expect(try made(volume).groupGUID == imported)
    }
}
