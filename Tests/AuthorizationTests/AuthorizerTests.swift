import Authorization
import Testing

/// docs/reference/authorization.md 3.4 to 3.6: the order of the stages, root and the owner.
@Suite struct AuthorizerTests {
    @Test func rootExecutesAFileOnlyWithAnExecuteBit() {
        let allowed = ACE(.everyone, .allow, .execute)
        #expect(decide(.access(.execute), file(0o666, allowed), by: root) == .deny(.EPERM, .rootNoExecuteBit))
        #expect(decide(.execute, file(0o666, allowed), by: root) == .deny(.EACCES, .precondition(.noExecuteBit)))
        #expect(decide(.access(.execute), file(0o001), by: root).isAllowed)
        #expect(decide(.lookup, directory(0), by: root).isAllowed)
    }

    /// Q2: the owner's whatever denies it; readattr is not among them.
    @Test func ownerHasReadsecurityAndWritesecurity() {
        let object = file(0, ACE(.everyone, .deny, [.readSecurity, .writeSecurity]))
        #expect(decide(.stat, object, by: owner).isAllowed)
        #expect(decide(.chmod(FileMode(rawValue: 0o600)), object, by: owner).isAllowed)
        #expect(!decide(.stat, object, by: stranger).isAllowed)
        #expect(!decide(.stat, file(0o777, ACE(.everyone, .deny, .readAttributes)), by: owner).isAllowed)
        // writeattr is his unless an entry denies it; delete and chown are not his.
        #expect(decide(.rights(.writeAttributes), file(), by: owner) == .allow(.ownerRight))
        #expect(!decide(.rights(.writeAttributes), file(0, ACE(.everyone, .deny, .writeAttributes)), by: owner).isAllowed)
        #expect(!decide(.rights(.delete), file(0o777), by: owner).isAllowed)
        #expect(!decide(.rights(.changeOwner), file(0o777), by: owner).isAllowed)
    }

    /// The entry is named before the flag; an entry that allows lifts no flag.
    @Test func entriesBeforeFlagsBeforeModeBits() {
        let denied = file(0, flags: .userImmutable, ACE(.everyone, .deny, .write))
        #expect(decide(.truncate, denied, by: stranger) == .deny(.EACCES, .entry(.object, 0)))
        let allowed = file(0, flags: .userImmutable, ACE(.everyone, .allow, .write))
        #expect(decide(.truncate, allowed, by: stranger) == .deny(.EPERM, .flags(.object)))
        #expect(decide(.truncate, file(0, flags: .userImmutable), by: stranger) == .deny(.EPERM, .flags(.object)))
    }

    @Test func volumeBindsRootToo() {
        var volume = VolumeState()
        (volume.isReadOnly, volume.forbidsExecution) = (true, true)
        #expect(decide(.truncate, file(0o777), by: root, on: volume) == .deny(.EROFS, .precondition(.readOnly)))
        #expect(decide(.execute, file(0o777), by: root, on: volume) == .deny(.EACCES, .precondition(.noExecution)))
        #expect(decide(.lookup, directory(0), by: root, on: volume).isAllowed)
        // Writing through a FIFO is not writing to the volume (3.1); removing it is.
        let fifo = file(0o777, kind: .fifo)
        #expect(decide(.open(.write), fifo, by: stranger, on: volume).isAllowed)
        #expect(decide(.unlink, fifo, in: directory(0o777), by: root, on: volume).denial == .EROFS)
    }

    /// Q1.
    @Test func ignoredOwnershipSkipsWhatDependsOnTheCaller() {
        var volume = VolumeState()
        volume.ignoresOwnership = true
        let object = file(0, ACE(.everyone, .deny, .write))
        #expect(decide(.truncate, object, by: stranger, on: volume) == .allow(.ownershipIgnored))
        #expect(decide(.chmod(FileMode(rawValue: 0o4755)), object, by: stranger, on: volume).isAllowed)
        #expect(decide(.unlink, object, in: directory(0o1000), by: stranger, on: volume).isAllowed)
        #expect(decide(.truncate, file(flags: .userImmutable), by: stranger, on: volume).denial == .EPERM)
        #expect(decide(.access([]), object, by: stranger, on: volume) == .allow(.implicit))
    }
}
