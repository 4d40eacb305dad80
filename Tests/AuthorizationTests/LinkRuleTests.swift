import Authorization
import Testing

/// docs/reference/authorization.md Q23: fs.protected_hardlinks, as Linux judges it and with aclfs' own rights.
@Suite struct LinkRuleTests {
    private let parent = directory(0o777, owner: 502, group: 600)
    private let refused = Decision.deny(.EPERM, .precondition(.protectedLink))

    private func link(
        _ object: ObjectFacts, by caller: some Credential, isProtected: Bool = true, _ change: (inout VolumeState) -> Void = { _ in }
    ) -> Decision {
        var volume = VolumeState()
        volume.protectsHardLinks = isProtected
        change(&volume)
        return decide(.link, object, in: parent, by: caller, on: volume)
    }

    @Test func whoMayNotReadAndWriteMayNotLink() {
        for mode in [UInt16(0), 0o604, 0o602, 0o644, 0o622, 0o660] { #expect(link(file(mode), by: stranger) == refused) }
        #expect(link(file(0o606), by: stranger).isAllowed)
        #expect(link(file(0o660), by: KnownCredential(uid: 502, gid: 20)).isAllowed)
        // Without the sysctl nothing is asked of the object (2.2).
        #expect(link(file(0), by: stranger, isProtected: false).isAllowed)
    }

    @Test func theOwnerAndRootMay() {
        for object in [file(0), file(0o4755), file(0o644, kind: .fifo), file(0o777, kind: .symlink)] {
            #expect(link(object, by: owner).isAllowed)
            #expect(link(object, by: root).isAllowed)
        }
        var owned = file(0, owner: 0xFFFF_FF9B)
        owned.ownerGUID = GUID(group: 600)
        #expect(link(owned, by: stranger).isAllowed)
        #expect(link(owned, by: KnownCredential(uid: 503, gid: 20)) == refused)
        #expect(link(owned, by: WithUnknownGroups(uid: 503)) == refused)
    }

    @Test func whatMustNotBePinned() {
        #expect(link(file(0o4777), by: stranger) == refused)
        #expect(link(file(0o2777), by: stranger) == refused)
        #expect(link(file(0o2767), by: stranger).isAllowed)
        for kind in ObjectKind.allCases where kind != .file && kind != .directory {
            #expect(link(file(0o777, kind: kind), by: stranger) == refused, "\(kind)")
        }
    }

    @Test func entriesCount() {
        let given = file(0o600, ACE(GUID(user: 502), .allow, [.read, .write]))
        #expect(link(given, by: stranger).isAllowed)
        #expect(link(file(0o600, ACE(GUID(user: 502), .allow, .read)), by: stranger) == refused)
        #expect(link(file(0o666, ACE(GUID(user: 502), .deny, .write)), by: stranger) == refused)
        #expect(link(file(0o666, flags: .userImmutable), by: stranger) == refused)
    }

    @Test func otherReasonsKeepTheirPlace() {
        #expect(link(directory(0o777), by: stranger) == .deny(.EPERM, .precondition(.isDirectory)))
        #expect(link(file(0), by: stranger) { $0.isReadOnly = true } == .deny(.EROFS, .precondition(.readOnly)))
        #expect(link(file(0), by: stranger) { $0.ignoresOwnership = true }.isAllowed)
        var closed = VolumeState()
        closed.protectsHardLinks = true
        #expect(decide(.link, file(0o606), in: directory(0o700), by: stranger, on: closed) == .deny(.EACCES, .mode(.other, .parent)))
        // Nothing else asks it.
        #expect(decide(.unlink, file(0), in: parent, by: stranger, on: closed).isAllowed)
    }
}
