import Authorization
import Testing

/// docs/reference/authorization.md 3.11: the explanation is a record of the decision itself.
@Suite struct ObserverTests {
    @Test func recordsEveryEntryAndEndsWithTheDecision() {
        let entries = [
            ACE(GUID(user: 503), .deny, .read), ACE(.everyone, .allow, .write), ACE(.everyone, .allow, .read),
        ]
        var inquiry = Inquiry(stranger, on: VolumeState(), sandbox: Unconfined(), observer: RecordingObserver())
        var object = file()
        object.acl = ACL(entries)
        let decision = inquiry.authorize(.open(.read), FactsByRole(object: object))
        #expect(
            inquiry.observer.events == [
                .check(Check(.read, on: .object)),
                .entry(.object, 0, entries[0], .notCovered),
                .entry(.object, 1, entries[1], .irrelevant),
                .entry(.object, 2, entries[2], .allowed(.read)),
                .decision(decision),
            ])
        #expect(decision == .allow(.entry(.object, 2)))
    }

    /// An entry about another user is no entry of the caller's whose rights do not matter.
    @Test func anEntryAboutOthersIsNotAboutTheCaller() {
        let entries = [ACE(GUID(user: 503), .deny, .write), ACE(GUID(user: 503), .allow, .execute), ACE(.everyone, .deny, .write)]
        var inquiry = Inquiry(stranger, on: VolumeState(), sandbox: Unconfined(), observer: RecordingObserver())
        var object = file(0o444)
        object.acl = ACL(entries)
        _ = inquiry.authorize(.open(.read), FactsByRole(object: object))
        let effects = inquiry.observer.events.compactMap { if case .entry(_, _, _, let effect) = $0 { effect } else { nil } }
        #expect(effects == [.notCovered, .notCovered, .irrelevant])
    }

    @Test func recordsWhatEndsBeforeAnyCheck() {
        var inquiry = Inquiry(root, on: VolumeState(), sandbox: Unconfined(), observer: RecordingObserver())
        let decision = inquiry.authorize(.unmapped, FactsByRole(object: file()))
        #expect(inquiry.observer.events == [.decision(decision)])
    }
}
