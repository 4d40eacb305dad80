import Authorization
import Testing

/// docs/reference/authorization.md 3.8, the table. Root is asked, whom nothing but the flags can refuse.
@Suite struct FlagRuleTests {
    private static let reading: Rights = [.read, .readAttributes, .readExtendedAttributes, .readSecurity]
    private static let never: [Rights] = [
        .delete, .deleteChild, .writeAttributes, .writeSecurity, .changeOwner, .linkTarget, .checkImmutable,
    ]

    private func isGranted(_ rights: Rights, _ kind: ObjectKind, _ flags: FileFlags) -> Bool {
        let decision = decide(.rights(rights), file(0o777, flags: flags, kind: kind), by: root)
        #expect(decision.isAllowed || decision == .deny(.EPERM, .flags(.object)))
        return decision.isAllowed
    }

    @Test(arguments: ObjectKind.allCases, [FileFlags.userImmutable, .systemImmutable])
    func immutable(kind: ObjectKind, flag: FileFlags) {
        #expect(isGranted(Self.reading, kind, flag))
        #expect(isGranted(.write, kind, flag) == kind.isSpecial)
        #expect(!isGranted(.append, kind, flag))
        #expect(!isGranted(.writeExtendedAttributes, kind, flag))
        for rights in Self.never { #expect(!isGranted(rights, kind, flag)) }
    }

    @Test(arguments: [ObjectKind.file, .directory], [FileFlags.userAppend, .systemAppend])
    func appendOnly(kind: ObjectKind, flag: FileFlags) {
        #expect(isGranted(Self.reading, kind, flag))
        #expect(isGranted(.write, kind, flag) == (kind == .directory))
        #expect(isGranted(.append, kind, flag))
        #expect(isGranted(.writeExtendedAttributes, kind, flag))
        for rights in Self.never { #expect(!isGranted(rights, kind, flag)) }
    }

    @Test func oneIncompatibleRightRefusesTheWholeRequest() {
        #expect(!isGranted([.append, .write], .file, .userAppend))
        #expect(!isGranted([.read, .write], .file, .userImmutable))
    }

    @Test(arguments: [FileFlags.noDump, .opaque, .compressed, .hidden, .archived, .restricted, .dataVault])
    func otherFlagsRefuseNothing(flag: FileFlags) {
        #expect(isGranted(Rights.anyWrite, .file, flag))
    }

    /// 6.6 rule 4: a flags change looks past the object's own flags as far as securelevel allows.
    @Test func securelevelKeepsSystemFlags() {
        var secure = VolumeState()
        secure.securelevel = 1
        for flag in [FileFlags.systemImmutable, .systemAppend] {
            #expect(decide(.chflags([]), file(flags: flag), by: root).isAllowed)
            #expect(decide(.chflags([]), file(flags: flag), by: root, on: secure) == .deny(.EPERM, .flags(.object)))
        }
        #expect(decide(.chflags([]), file(flags: .userImmutable), by: owner, on: secure).isAllowed)
    }
}
