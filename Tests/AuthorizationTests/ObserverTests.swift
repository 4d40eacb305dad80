import Authorization
import Testing

/// docs/authorization.md 3.11: the explanation is a record of the decision itself.
@Suite struct ObserverTests {
    @Test func recordsEveryEntryAndEndsWithTheDecision() {
        let entries = [
            ACE(GUID(user: 503), .deny, .read), ACE(.everyone, .allow, .write), ACE(.everyone, .allow, .read),
        ]
        var inquiry = Inquiry(stranger, on: VolumeState(), sandbox: Unconfined(), observer: RecordingObserver())
        var object = file()
        object.acl = ACL(entries)
        let decision = inquiry.authorize(.open(.read), Nodes(object: object))
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

    @Test func recordsWhatEndsBeforeAnyCheck() {
        var inquiry = Inquiry(root, on: VolumeState(), sandbox: Unconfined(), observer: RecordingObserver())
        let decision = inquiry.authorize(.unmapped, Nodes(object: file()))
        #expect(inquiry.observer.events == [.decision(decision)])
    }
}
