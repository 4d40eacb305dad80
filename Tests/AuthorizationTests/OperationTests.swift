import Authorization
import Testing

/// docs/reference/authorization.md 2.2 and 2.4: what each question asks.
@Suite struct OperationTests {
    @Test func whatHasNoRowIsRefused() {
        #expect(decide(.unmapped, file(0o777), by: owner) == .deny(.EPERM, .precondition(.unmapped)))
        #expect(decide(.unmapped, file(0o777), by: root) == .deny(.EPERM, .precondition(.unmapped)))
        #expect(!decide(.rename, nil, in: directory(0o777), by: root).isAllowed)
        #expect(!decide(.open(.read), nil, by: root).isAllowed)
    }

    static let rows: [(Operation, Rights)] = [
        (Operation.open(.read), Rights.read), (.open(.write), .write), (.open([.read, .write]), [.read, .write]),
        (.open([.write, .append]), .append), (.open([.read, .write, .append]), [.read, .append]),
        (.open([.write, .append, .truncate]), .write), (.open([.read, .truncate]), [.read, .write]),
        (.open(.execute), .execute), (.access([.read, .write]), [.read, .write]),
        (.stat, [.readAttributes, .readSecurity]), (.readACL, [.readAttributes, .readSecurity]),
        (.getXattr, .readExtendedAttributes), (.listXattr, .readExtendedAttributes),
        (.setXattr(isProtected: false), .writeExtendedAttributes),
        (.removeXattr(isProtected: false), .writeExtendedAttributes), (.truncate, .write),
        (.setACL(nil), .writeSecurity), (.chflags(.hidden), .writeSecurity),
        (.setTimes(access: .now, modification: .now), .writeAttributes),
    ]

    /// Each of the row's rights is needed, and they suffice.
    @Test(arguments: rows)
    func asksExactly(operation: Operation, rights: Rights) {
        func object(denying: Rights) -> ObjectFacts {
            file(0o777, ACE(.everyone, .deny, denying), ACE(.everyone, .allow, Rights.all))
        }
        #expect(decide(operation, object(denying: Rights.all.subtracting(rights)), by: stranger).isAllowed)
        for bit in UInt32(0)..<32 where rights.rawValue & (1 << bit) != 0 {
            let decision = decide(operation, object(denying: Rights(rawValue: 1 << bit)), by: stranger)
            #expect(decision.stage == .entry(.object, 0))
        }
    }

    @Test func writingToADirectoryAsksForBothKindsOfNames() {
        let filesOnly = directory(0, ACE(.everyone, .allow, .addFile))
        #expect(!decide(.access(.write), filesOnly, by: stranger).isAllowed)
        let both = directory(0, ACE(.everyone, .allow, [.addFile, .addSubdirectory]))
        #expect(decide(.access(.write), both, by: stranger).isAllowed)
    }

    @Test func protectedAttributesAreNobodysToChange() {
        for operation in [Operation.setXattr(isProtected: true), .removeXattr(isProtected: true)] {
            #expect(decide(operation, file(), by: root) == .deny(.EPERM, .precondition(.protectedAttribute)))
        }
    }

    @Test func devicesAreRootsToMake() {
        let request = CreationRequest(kind: .blockDevice, mode: FileMode(rawValue: 0o600), umask: 0)
        #expect(decide(.create(request), in: directory(0o777), by: stranger) == .deny(.EPERM, .precondition(.superuser)))
        #expect(decide(.create(request), in: directory(0), by: root).isAllowed)
    }
}
