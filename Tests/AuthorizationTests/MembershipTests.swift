import Authorization
import Testing

/// A caller in no group that is asked about, which is counted: to learn a real one's groups takes system calls.
private struct CountingCredential: Credential {
    final class Count { var asked: [UInt32] = [] }

    var uid: UInt32 = 502
    let count = Count()

    func membership(inGroup gid: UInt32) -> Membership {
        count.asked.append(gid)
        return .notMember
    }
}

/// Who acts under an id that is 501's for user namespaces.
private struct SubordinateCredential: Credential {
    var uid: UInt32 { 100_000 }
    func membership(ofUser uid: UInt32) -> Membership { uid == self.uid ? .member : uid == 501 ? .unknown : .notMember }
    func membership(inGroup gid: UInt32) -> Membership { .unknown }
}

/// Whether somebody belongs to a group is asked only if the answer depends on it, or if a refusal names the class (docs/reference/authorization.md
/// 1.4, 3.7, 3.9, 3.11).
@Suite struct MembershipTests {
    private func asked(_ rights: Rights, _ object: ObjectFacts, uid: UInt32 = 502) -> [UInt32] {
        let caller = CountingCredential(uid: uid)
        // As for a request: whoever wants to know the exact stage of a grant has to ask more.
        var inquiry = Inquiry(caller, on: VolumeState(), sandbox: Unconfined(), observer: NoObserver())
        _ = inquiry.authorize(.rights(rights), FactsByRole(object: object))
        return caller.count.asked
    }

    private func group(_ gid: UInt32, _ kind: ACE.Kind, _ rights: Rights) -> ACE { ACE(GUID(group: gid), kind, rights) }

    /// docs/reference/authorization.md Q29
    @Test func whoMayBeAUserIsDeniedAsOneAndAllowedAsNone() {
        func stage(_ kind: ACE.Kind, _ user: UInt32, posix: PosixACL? = nil) -> Stage {
            var object = file(0o644)
            (object.owner, object.posixACL) = (0, posix)
            object.acl = ACL([ACE(GUID(user: user), kind, .write), ACE(GUID(user: user), kind, .read)])
            return decide(.rights(.read), object, by: SubordinateCredential()).stage
        }
        #expect(stage(.deny, 501) == .entry(.object, 1))
        #expect(stage(.deny, 502) == .mode(.other, .object) && stage(.allow, 501) == .mode(.other, .object))
        #expect(stage(.allow, 100_000) == .entry(.object, 1))
        let named = PosixACL([.init(.user(501), 0), .init(.owningGroup, 4)])
        #expect(stage(.allow, 502, posix: named) == .mode(.group, .object))
    }

    @Test func theOwnerAndRootAreNotAsked() {
        #expect(asked(.read, file(0o640), uid: 501) == [])
        #expect(asked(.write, file(0o640), uid: 501) == [])
        #expect(asked(.read, file(0o640), uid: 0) == [])
    }

    @Test func theModeAsksWhereGroupAndOthersDiffer() {
        #expect(asked(.read, file(0o644)) == [])
        #expect(asked(.read, file(0o640)) == [20])
        #expect(asked(.write, file(0o664)) == [20])
    }

    @Test func aRefusalAsksForItsClassAndAGrantDoesNot() {
        #expect(asked(.write, file(0o644)) == [20])
        #expect(asked(.write, file(0o666)) == [])
        var object = file(0o664)
        object.posixACL = PosixACL([.init(.owningGroup, 4), .init(.group(600), 4)])
        #expect(asked(.read, object) == [])
        #expect(asked(.write, object) == [20, 600])
    }

    @Test func anEntryAsksOnlyIfItBearsOnWhatIsStillOpen() {
        #expect(asked(.read, file(0o600, group(30, .allow, .write), group(31, .deny, .append), ACE(.everyone, .allow, .read))) == [])
        #expect(asked(.read, file(0o600, ACE(.everyone, .allow, .read), group(30, .deny, .read))) == [])
        #expect(asked(.read, file(0o600, group(30, .deny, .read), ACE(.everyone, .allow, .read))) == [30])
        #expect(asked(.read, file(0o600, ACE(.everyone, .deny, .read), group(30, .allow, .read))) == [])
    }

    @Test func manyEntriesThatDoNotMatterAskNothing() {
        let entries = (0..<127).map { group(90_000 + $0, .allow, .write) } + [ACE(.everyone, .allow, .read)]
        var facts = file(0o600)
        facts.acl = ACL(entries)
        #expect(asked(.read, facts) == [])
    }
}
