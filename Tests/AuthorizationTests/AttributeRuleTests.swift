import Authorization
import Testing

/// docs/reference/authorization.md 6: legality before right, and the errno of each call (2.3).
@Suite struct AttributeRuleTests {
    private func mode(_ value: UInt16) -> Operation { .chmod(FileMode(rawValue: value)) }
    private let secured = ACE(.everyone, .allow, [.writeSecurity, .changeOwner])

    /// 6.1: refused, never silently dropped.
    @Test func setIDBitsThatMayNotBeSetAreRefused() {
        #expect(decide(mode(0o2755), file(group: 600), by: owner) == .deny(.EPERM, .attributePolicy))
        #expect(decide(mode(0o2755), file(group: 20), by: owner).isAllowed)
        #expect(decide(mode(0o4755), file(0, secured), by: stranger) == .deny(.EPERM, .attributePolicy))
        #expect(decide(mode(0o755), file(0, secured), by: stranger).isAllowed)
        #expect(decide(mode(0o6755), file(group: 600), by: root).isAllowed)
        #expect(decide(mode(0o2755), file(), by: WithUnknownGroups(uid: 501)) == .deny(.EPERM, .attributePolicy))
    }

    @Test func refusalsReadAsNotPermitted() {
        #expect(decide(mode(0o644), file(0o777), by: stranger).denial == .EPERM)
        #expect(decide(.setACL(ACL([])), file(0o777), by: stranger).denial == .EPERM)
        #expect(decide(.chown(uid: 502, gid: nil), file(0o777), by: stranger).denial == .EPERM)
        // chflags and "now" keep it (Q8).
        #expect(decide(.chflags(.hidden), file(0o777), by: stranger).denial == .EACCES)
        #expect(decide(.setTimes(access: .now, modification: .now), file(0), by: stranger).denial == .EACCES)
    }

    /// 6.2: asked if it differs; flags, which bind the right, are not asked either.
    @Test func settingTheListThatIsThereAsksNothing() {
        let entry = ACE(.everyone, .deny, .writeSecurity)
        for object in [file(0), file(0, entry)] {
            #expect(decide(.setACL(object.acl), object, by: stranger) == .allow(.implicit))
            var immutable = object
            immutable.flags = .userImmutable
            #expect(decide(.setACL(object.acl), immutable, by: owner) == .allow(.implicit))
            #expect(decide(.setACL(object.acl), immutable, by: root).isAllowed)
        }
        #expect(decide(.setACL(nil), file(0, entry), by: stranger).denial == .EPERM)
        #expect(decide(.setACL(ACL([])), file(0), by: stranger).denial == .EPERM)
        var flagged = ACL([entry])
        flagged.listFlags = ACL.noInherit
        // Q7
        #expect(decide(.setACL(flagged), file(0, entry), by: stranger).denial == .EPERM)
    }

    @Test func ownershipIsTakenByRightAndNeverGivenAway() {
        #expect(decide(.chown(uid: 502, gid: nil), file(0, secured), by: stranger).isAllowed)
        #expect(decide(.chown(uid: 503, gid: nil), file(0, secured), by: stranger) == .deny(.EPERM, .attributePolicy))
        #expect(decide(.chown(uid: 502, gid: nil), file(), by: owner) == .deny(.EPERM, .attributePolicy))
        #expect(decide(.chown(uid: nil, gid: 700), file(), by: owner) == .deny(.EPERM, .attributePolicy))
        #expect(decide(.chown(uid: nil, gid: 20), file(group: 700), by: owner).isAllowed)
    }

    /// Q6, and that -1 for both asks nothing.
    @Test func strangerNamingThePresentIDs() {
        #expect(decide(.chown(uid: 501, gid: nil), file(), by: stranger) == .deny(.EPERM, .attributePolicy))
        #expect(decide(.chown(uid: 501, gid: 20), file(), by: owner).isAllowed)
        #expect(decide(.chown(uid: nil, gid: nil), file(), by: stranger) == .allow(.implicit))
    }

    /// Q16 and 9a.6: ids 99 are the caller's own, in what he names as well.
    @Test func ids99AreTheCallers() {
        var imported = VolumeState()
        imported.unknown99 = true
        let nobodys = file(owner: 99, group: 99)
        #expect(decide(.chown(uid: 502, gid: 600), nobodys, by: stranger, on: imported) == .allow(.implicit))
        #expect(decide(.chown(uid: 99, gid: nil), nobodys, by: stranger, on: imported) == .deny(.EPERM, .attributePolicy))
        #expect(!decide(.chown(uid: 502, gid: 600), nobodys, by: stranger).isAllowed)
    }

    @Test func everyChownThatNamesAnIDClearsSetIDBits() {
        let object = file(0o6755)
        #expect(AttributeEffect.modeAfterChown(object, uid: 501, gid: nil).rawValue == 0o755)
        #expect(AttributeEffect.modeAfterChown(object, uid: nil, gid: 20).rawValue == 0o755)
        #expect(AttributeEffect.modeAfterChown(object, uid: nil, gid: nil).rawValue == 0o6755)
    }

    /// 6.4 and Q10: each of the two times by itself.
    @Test func strangersChooseNoTime() {
        let writable = file(0o666)
        #expect(decide(.setTimes(access: .now, modification: .omit), writable, by: stranger).isAllowed)
        for times in [(TimeChange.chosen, TimeChange.now), (.omit, .chosen)] {
            let decision = decide(.setTimes(access: times.0, modification: times.1), writable, by: stranger)
            #expect(decision == .deny(.EPERM, .attributePolicy))
        }
        #expect(decide(.setTimes(access: .omit, modification: .omit), file(), by: stranger).isAllowed)
        #expect(decide(.setTimes(access: .chosen, modification: .now), file(), by: owner).isAllowed)
    }

    /// 6.6: only changed bits are judged, and their legality before the caller's right.
    @Test func flagsThatChangeAreJudged() {
        let archived = file(flags: .archived)
        #expect(decide(.chflags([.archived, .hidden]), archived, by: owner).isAllowed)
        #expect(decide(.chflags(.hidden), archived, by: owner) == .deny(.EPERM, .attributePolicy))
        #expect(decide(.chflags(.systemImmutable), file(), by: stranger) == .deny(.EPERM, .attributePolicy))
        #expect(decide(.chflags(.archived), archived, by: stranger) == .allow(.implicit))
    }

    /// 9a.1: on every kind of node, also when nothing changes.
    @Test(arguments: ObjectKind.allCases)
    func readOnlyVolumeRefusesEveryChange(kind: ObjectKind) {
        var volume = VolumeState()
        volume.isReadOnly = true
        let object = file(kind: kind)
        let changes: [Operation] = [
            mode(0), .setACL(nil), .chown(uid: 501, gid: nil), .setTimes(access: .now, modification: .now), .chflags([]),
        ]
        for change in changes {
            for decision in [decide(change, object, by: root, on: volume), decide(change, object, by: owner, on: volume)] {
                #expect(decision == .deny(.EROFS, .precondition(.readOnly)))
            }
        }
    }
}
