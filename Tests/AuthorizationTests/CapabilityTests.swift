import Authorization
import Testing

/// docs/reference/authorization.md 3.12: what each capability stands for, stage by stage.
@Suite struct CapabilityTests {
    private func with(_ capabilities: Capabilities, uid: UInt32 = 502) -> KnownCredential {
        KnownCredential(uid: uid, gid: 600, capabilities: capabilities)
    }
    private let denied = ACE(.everyone, .deny, [.read, .write, .execute, .readAttributes, .delete, .deleteChild, .writeSecurity])

    private func allowed(_ capability: Capabilities) -> Decision { .allow(.capability(capability)) }

    @Test func readSearchReads() {
        let caller = with(.readSearch)
        for object in [file(), file(0, denied)] {
            for operation in [Operation.open(.read), .getXattr, .listXattr] {
                #expect(decide(operation, object, by: caller) == allowed(.readSearch))
            }
            #expect(!decide(.open([.read, .write]), object, by: caller).isAllowed)
            #expect(!decide(.open([.write, .append]), object, by: caller).isAllowed)
            #expect(!decide(.setXattr(isProtected: false), object, by: caller).isAllowed)
        }
        #expect(decide(.stat, file(0, denied), by: caller) == allowed(.readSearch))
        for object in [directory(), directory(0, denied)] {
            #expect(decide(.lookup, object, by: caller) == allowed(.readSearch))
            #expect(decide(.list, object, by: caller) == allowed(.readSearch))
        }
        // What it does not say is asked as of any user: write by the mode, and never execution.
        #expect(decide(.open([.read, .write]), file(0o002), by: caller) == allowed(.readSearch))
        #expect(decide(.execute, file(0o700), by: caller) == .deny(.EACCES, .mode(.other, .object)))
        #expect(!decide(.unlink, file(0o777), in: directory(0o755), by: caller).isAllowed)
        // Who may read anyway does not read by it.
        #expect(decide(.open(.read), file(0o004), by: caller) == .allow(.mode(.other, .object)))
    }

    @Test func overrideReadsWritesAndSearches() {
        let caller = with(.dacOverride)
        for operation in [Operation.open([.read, .write]), .open([.write, .append]), .setXattr(isProtected: false), .truncate] {
            #expect(decide(operation, file(0, denied), by: caller) == allowed(.dacOverride))
        }
        #expect(decide(.setTimes(access: .now, modification: .now), file(), by: caller) == allowed(.dacOverride))
        #expect(decide(.execute, file(0o100), by: caller) == allowed(.dacOverride))
        #expect(decide(.access(.execute), file(0o644), by: caller) == .deny(.EACCES, .mode(.other, .object)))
        #expect(decide(.unlink, file(0, denied), in: directory(0, denied), by: caller) == allowed(.dacOverride))
        // What the owner alone may do is another's.
        #expect(decide(.unlink, file(), in: directory(0o1000), by: caller) == .deny(.EACCES, .sticky))
        #expect(decide(.chmod(FileMode(rawValue: 0o600)), file(), by: caller) == .deny(.EPERM, .noEquivalent))
        #expect(!decide(.setTimes(access: .chosen, modification: .chosen), file(), by: caller).isAllowed)
        // No capability passes flags.
        #expect(decide(.open(.write), file(0, flags: .userImmutable), by: with(.all)) == .deny(.EPERM, .flags(.object)))
        #expect(decide(.unlink, file(), in: directory(flags: .systemAppend), by: with(.all)) == .deny(.EPERM, .flags(.parent)))
    }

    @Test func fownerCountsAsTheOwner() {
        let caller = with(.fowner)
        for operation in [Operation.chmod(FileMode(rawValue: 0o4755)), .setACL(ACL([])), .chflags(.hidden)] {
            #expect(decide(operation, file(0, denied), by: caller) == allowed(.fowner))
        }
        #expect(decide(.setTimes(access: .chosen, modification: .chosen), file(), by: caller) == allowed(.fowner))
        #expect(decide(.unlink, file(), in: directory(0o1002), by: caller) == allowed(.fowner))
        #expect(!decide(.unlink, file(0, denied), in: directory(0o1002), by: caller).isAllowed)
        // Neither the owner's bits nor entries for the owner are its.
        #expect(!decide(.open(.read), file(0o700), by: caller).isAllowed)
        #expect(!decide(.open(.read), file(0, ACE(.owner, .allow, .read)), by: caller).isAllowed)
        #expect(!decide(.chown(uid: 502, gid: nil), file(), by: caller).isAllowed)
        #expect(decide(.chmod(FileMode(rawValue: 0o2755)), file(), by: caller) == .deny(.EPERM, .attributePolicy))
        var protects = VolumeState()
        protects.protectsHardLinks = true
        #expect(decide(.link, file(), in: directory(0o777), by: caller, on: protects).isAllowed)
        #expect(!decide(.link, file(), in: directory(0o777), by: with(.readSearch), on: protects).isAllowed)
    }

    @Test func chownGivesAway() {
        let caller = with(.chown)
        for operation in [
            Operation.chown(uid: 503, gid: 7), .chown(uid: nil, gid: 7), .setOwner(GUID(group: 7)), .chown(uid: 501, gid: nil),
        ] {
            #expect(decide(operation, file(), by: caller).isAllowed, "\(operation)")
            #expect(decide(operation, file(flags: .userImmutable), by: caller) == .deny(.EPERM, .flags(.object)))
        }
        #expect(decide(.chown(uid: nil, gid: 7), file(0, denied), by: caller) == allowed(.chown))
        #expect(decide(.chown(uid: 503, gid: nil), file(owner: 502), by: caller) == allowed(.chown))
        #expect(!decide(.chmod(FileMode(rawValue: 0o600)), file(), by: caller).isAllowed)
        // Where ownership is ignored it adds nothing, and takes nothing away.
        var ignored = VolumeState()
        ignored.ignoresOwnership = true
        for anybody in [caller, with([])] {
            for operation in [Operation.chown(uid: 501, gid: nil), .chown(uid: nil, gid: 20)] {
                #expect(decide(operation, file(flags: .userImmutable), by: anybody, on: ignored).isAllowed, "\(operation)")
            }
        }
    }

    @Test func theOthersHaveOneUseEach() {
        let setGroup = Operation.chmod(FileMode(rawValue: 0o2755))
        #expect(decide(setGroup, file(owner: 502), by: with(.fsetid)).isAllowed)
        #expect(!decide(setGroup, file(), by: with(.fsetid)).isAllowed)
        let system = Operation.chflags(.systemImmutable)
        #expect(decide(system, file(owner: 502), by: with(.linuxImmutable)).isAllowed)
        #expect(!decide(system, file(), by: with(.linuxImmutable)).isAllowed)
        #expect(decide(system, file(), by: with([.linuxImmutable, .fowner])).isAllowed)
        var secure = VolumeState()
        secure.securelevel = 1
        #expect(!decide(.chflags([]), file(flags: .systemImmutable), by: with(.all), on: secure).isAllowed)
        let device = Operation.create(CreationRequest(kind: .blockDevice, mode: FileMode(rawValue: 0o600), umask: 0))
        #expect(decide(device, in: directory(0o777), by: with(.mknod)).isAllowed)
        #expect(decide(device, in: directory(0o777), by: with([.dacOverride, .fowner])) == .deny(.EPERM, .precondition(.superuser)))
    }

    @Test func rootIsWhoHasTheThree() throws {
        // As docker starts one.
        let contained = with([.chown, .dacOverride, .fowner, .fsetid, .mknod, .setfcap], uid: 0)
        #expect(decide(.open([.read, .write]), file(0, denied), by: contained) == .allow(.root))
        #expect(decide(.chown(uid: 503, gid: 7), file(), by: contained) == .allow(.root))
        #expect(decide(.chflags([]), file(flags: .systemImmutable), by: contained) == .deny(.EPERM, .attributePolicy))
        #expect(decide(.chflags([]), file(flags: .userImmutable), by: contained) == .allow(.root))
        let withoutFSetID = with(.ofRoot, uid: 0)
        #expect(decide(.chmod(FileMode(rawValue: 0o4755)), file(), by: withoutFSetID).isAllowed)
        #expect(decide(.chmod(FileMode(rawValue: 0o6755)), file(), by: withoutFSetID) == .deny(.EPERM, .attributePolicy))

        let bare = with([], uid: 0)
        #expect(decide(.open(.read), file(0o700), by: bare) == .deny(.EACCES, .mode(.other, .object)))
        #expect(decide(.open(.read), file(0o400, owner: 0), by: bare) == .allow(.mode(.owner, .object)))
        #expect(decide(.open(.read), file(0o444, denied), by: bare) == .deny(.EACCES, .entry(.object, 0)))
        #expect(decide(.chown(uid: 503, gid: nil), file(owner: 0), by: bare) == .deny(.EPERM, .attributePolicy))
        #expect(decide(.open(.write), file(), by: with(.dacOverride, uid: 0)) == allowed(.dacOverride))
        // A set-uid directory does not get what root makes, whatever root may do (Q4).
        let inquiry = Inquiry(bare, on: VolumeState(), sandbox: Unconfined(), observer: NoObserver())
        let request = CreationRequest(kind: .file, mode: FileMode(rawValue: 0o644), umask: 0)
        #expect(try inquiry.newObject(request, in: directory(0o4777), gid: 0).owner == 0)
    }

    /// A caller in a namespace that has the ids from 100 000 on.
    private struct Contained: Credential {
        var uid: UInt32 = 100_000
        func membership(inGroup gid: UInt32) -> Membership { .unknown }
        private func has(_ id: UInt32?) -> Bool { id.map { $0 >= 100_000 && $0 < 165_536 } ?? true }
        func reaches(user uid: UInt32?, group gid: UInt32?) -> Bool { has(uid) && has(gid) }
        var reachesEverything: Bool { false }
        func capabilities(over object: ObjectFacts?) -> Capabilities {
            guard let object, reaches(user: object.owner, group: nil) else { return [] }
            return reaches(user: nil, group: object.group) ? Capabilities.all.subtracting(.ofSystem) : .fowner
        }
    }

    @Test func aNamespaceReachesItsOwnIDs() {
        let caller = Contained()
        func its(_ mode: UInt16 = 0, flags: FileFlags = []) -> ObjectFacts { file(mode, flags: flags, owner: 100_007, group: 100_007) }
        #expect(decide(.open([.read, .write]), its(), by: caller) == allowed(.dacOverride))
        for foreign in [file(owner: 100_007), file(owner: 501, group: 100_007), file()] {
            #expect(!decide(.open(.read), foreign, by: caller).isAllowed)
            #expect(!decide(.chown(uid: 100_000, gid: nil), foreign, by: caller).isAllowed)
        }
        #expect(decide(.chown(uid: 100_001, gid: 100_001), its(), by: caller) == allowed(.chown))
        for ids in [(501, nil), (nil, 20), (0, 0), (165_536, nil)] as [(UInt32?, UInt32?)] {
            #expect(decide(.chown(uid: ids.0, gid: ids.1), its(), by: caller) == .deny(.EPERM, .attributePolicy))
        }
        #expect(decide(.setOwner(GUID(group: 100_001)), its(), by: caller).isAllowed)
        #expect(!decide(.setOwner(GUID(group: 20)), its(), by: caller).isAllowed)
        #expect(!decide(.setOwner(GUID(high: 1, low: 2)), its(), by: caller).isAllowed)
        // A flag of the host's root stays.
        #expect(!decide(.chflags([]), its(flags: .systemImmutable), by: caller).isAllowed)
        // Of a group of the host: what an owner may do, as on Linux, and no more.
        let shared = file(0o600, owner: 100_007, group: 20)
        #expect(decide(.chmod(FileMode(rawValue: 0o640)), shared, by: caller) == allowed(.fowner))
        #expect(decide(.setTimes(access: .chosen, modification: .chosen), shared, by: caller).isAllowed)
        #expect(decide(.chmod(FileMode(rawValue: 0o2640)), shared, by: caller) == .deny(.EPERM, .attributePolicy))
        #expect(!decide(.open(.read), shared, by: caller).isAllowed)
        var sticky = its(0o1777)
        (sticky.kind, sticky.owner) = (.directory, 501)
        #expect(decide(.unlink, file(owner: 100_007, group: 100_007), in: sticky, by: caller).isAllowed)
        #expect(decide(.unlink, shared, in: sticky, by: caller) == .deny(.EACCES, .sticky))
        // A removal asks each of the two by its own ids.
        var place = its(0o700)
        place.kind = .directory
        #expect(decide(.unlink, file(), in: place, by: caller) == allowed(.dacOverride))
        #expect(!decide(.unlink, file(0, denied), in: place, by: caller).isAllowed)
        #expect(!decide(.unlink, its(), in: directory(), by: caller).isAllowed)
    }

    @Test func namesAreThoseOfLinux() {
        #expect(
            Capabilities.all.names == [
                "chown", "dac_override", "dac_read_search", "fowner", "fsetid", "linux_immutable", "sys_admin", "mknod", "setfcap",
            ])
        #expect(Stage.capability(.readSearch).name == "capability:dac_read_search")
        var bare = with([], uid: 0)
        #expect(bare.lack(.mode(.other, .object), .open(.read), over: nil) == "root without CAP_DAC_OVERRIDE")
        #expect(bare.lack(.noEquivalent, .chown(uid: 1, gid: nil), over: nil) == "root without CAP_CHOWN")
        #expect(bare.lack(.flags(.object), .open(.write), over: nil) == nil)
        var user = with([])
        #expect(user.lack(.mode(.other, .object), .open(.read), over: nil) == nil)
    }
}
