import Authorization
import TestSupport
import Testing

/// docs/reference/authorization.md 5.1 and 5.2.
@Suite struct InheritanceTests {
    private static let everyCombination: [ACEFlags] = (0..<32).map { ACEFlags(rawValue: UInt32($0) << 4) }
    private let user = GUID(user: 502)

    /// Every combination of the five flags, for a file and a directory.
    @Test(arguments: everyCombination)
    func flagsOfACopy(flags: ACEFlags) throws {
        let parent = ACL([ACE(user, .deny, .write, flags: flags)])
        let onFile = try inheritedACL(from: parent, by: .file)
        #expect(onFile == (flags.contains(.fileInherit) ? ACL([ACE(user, .deny, .write, flags: .inherited)]) : nil))

        var kept: ACEFlags = flags.contains(.limitInherit) ? [] : flags.intersection([.fileInherit, .directoryInherit])
        kept.insert(.inherited)
        let onDirectory = try inheritedACL(from: parent, by: .directory)
        #expect(
            onDirectory == (flags.contains(.directoryInherit) ? ACL([ACE(user, .deny, .write, flags: kept)]) : nil))
    }

    @Test func everyKindButSymlinksInherits() throws {
        let parent = ACL([ACE(user, .allow, .read, flags: .fileInherit)])
        for kind in ObjectKind.allCases where kind != .directory {
            #expect(try (inheritedACL(from: parent, by: kind) == nil) == (kind == .symlink))
        }
    }

    @Test func suppliedEntriesStandFirstAndLoseWhatClaimsToBeInherited() throws {
        let parent = ACL([ACE(user, .allow, .read, flags: .fileInherit)])
        var supplied = ACL([ACE(.owner, .allow, .write), ACE(.owner, .deny, .write, flags: .inherited)])
        let inherited = ACE(user, .allow, .read, flags: .inherited)
        #expect(try inheritedACL(from: parent, by: .file, supplied: supplied) == ACL([supplied.entries[0], inherited]))
        supplied.listFlags = ACL.noInherit
        #expect(try inheritedACL(from: parent, by: .file, supplied: supplied) == ACL([supplied.entries[0]]))
    }

    @Test func emptyListAndNoListStayDifferent() throws {
        #expect(try inheritedACL(from: nil, by: .file) == nil)
        #expect(try inheritedACL(from: ACL([]), by: .file) == nil)
        #expect(try inheritedACL(from: nil, by: .file, supplied: ACL([])) == ACL([]))
    }

    /// Counted before entries marked inherited are dropped from the supplied list.
    @Test(arguments: [(127, 1, true), (128, 0, true), (128, 1, false), (0, 128, true), (64, 65, false)])
    func atMost128(supplied: Int, inherited: Int, fits: Bool) {
        let entry = ACE(user, .allow, .read, flags: .fileInherit)
        let marked = ACE(user, .allow, .read, flags: .inherited)
        let parent = ACL(Array(repeating: entry, count: inherited))
        let list = ACL(Array(repeating: marked, count: supplied))
        if fits {
            #expect(throws: Never.self) { try inheritedACL(from: parent, by: .file, supplied: list) }
        } else {
            #expect(throws: TooManyEntries.self) { try inheritedACL(from: parent, by: .file, supplied: list) }
        }
    }

    @Test func nothingIsInheritedWhereTheVolumeHasNoLists() throws {
        var volume = VolumeState()
        volume.ignoresACLs = true
        let parent = directory(0o777, ACE(user, .allow, .read, flags: .fileInherit))
        let inquiry = Inquiry(stranger, on: volume, sandbox: Unconfined(), observer: NoObserver())
        let request = CreationRequest(kind: .file, mode: FileMode(rawValue: 0o666), umask: 0o022)
        #expect(try inquiry.newObject(request, in: parent, gid: 600).acl == nil)
    }

    /// Q4, Q18, Q19: owner, group and mode of what is made in a set-uid and set-gid directory.
    @Test func ownerGroupAndModeOfANewObject() throws {
        let parent = directory(0o6777)
        let request = CreationRequest(kind: .file, mode: FileMode(rawValue: 0o7777), umask: 0o022)
        var volume = VolumeState()
        var made = try Inquiry(stranger, on: volume, sandbox: Unconfined(), observer: NoObserver())
            .newObject(request, in: parent, gid: 600)
        #expect([made.owner, made.group, UInt32(made.mode.rawValue)] == [501, 20, 0o644])
        made = try Inquiry(root, on: volume, sandbox: Unconfined(), observer: NoObserver()).newObject(request, in: parent, gid: 0)
        #expect([made.owner, made.group, UInt32(made.mode.rawValue)] == [0, 20, 0o755])
        volume.ownerFromSetUserDirectory = .always
        made = try Inquiry(root, on: volume, sandbox: Unconfined(), observer: NoObserver()).newObject(request, in: parent, gid: 0)
        #expect([made.owner, made.group, UInt32(made.mode.rawValue)] == [501, 20, 0o644])
        volume.ownerFromSetUserDirectory = .never
        made = try Inquiry(stranger, on: volume, sandbox: Unconfined(), observer: NoObserver())
            .newObject(request, in: parent, gid: 600)
        #expect([made.owner, made.group, UInt32(made.mode.rawValue)] == [502, 20, 0o755])
        volume.groupFromDirectory = false
        made = try Inquiry(stranger, on: volume, sandbox: Unconfined(), observer: NoObserver())
            .newObject(request, in: directory(0o777), gid: 600)
        #expect([made.owner, made.group, UInt32(made.mode.rawValue)] == [502, 600, 0o7755])
    }

    /// Q19: with nogrpid a program does not run as a group that its maker is not in.
    @Test func noProgramOfAnothersGroup() throws {
        var volume = VolumeState()
        volume.groupFromDirectory = false
        var parent = directory(0o2777)
        for (group, mode, expected) in [(UInt32(999), UInt16(0o2755), UInt16(0o755)), (999, 0o2744, 0o2744), (600, 0o2755, 0o2755)] {
            parent.group = group
            let request = CreationRequest(kind: .file, mode: FileMode(rawValue: mode), umask: 0)
            let made = try Inquiry(stranger, on: volume, sandbox: Unconfined(), observer: NoObserver()).newObject(
                request, in: parent, gid: 600)
            #expect(made.group == group && made.mode.rawValue == expected)
        }
    }

    /// Q1: where ownership is ignored no set-id bit is stored, whatever is made, and none of the directory's is honoured.
    @Test func noSetIDBitsWhereOwnershipIsIgnored() throws {
        var volume = VolumeState()
        volume.ignoresOwnership = true
        for isFromDirectory in [true, false] {
            volume.groupFromDirectory = isFromDirectory
            for caller in [stranger, root] {
                for kind in ObjectKind.allCases where kind != .symlink {
                    let request = CreationRequest(kind: kind, mode: FileMode(rawValue: 0o6777), umask: 0)
                    let made = try Inquiry(caller, on: volume, sandbox: Unconfined(), observer: NoObserver())
                        .newObject(request, in: directory(0o6777), gid: 600)
                    #expect(made.mode == FileMode(rawValue: 0o777), "\(kind)")
                    #expect(made.owner == caller.uid)
                    #expect(made.group == (isFromDirectory ? 20 : 600))
                }
            }
        }
        #expect(AttributeEffect.storedMode(FileMode(rawValue: 0o7755), on: volume) == FileMode(rawValue: 0o1755))
        #expect(AttributeEffect.storedMode(FileMode(rawValue: 0o7755), on: VolumeState()) == FileMode(rawValue: 0o7755))
    }

    // MARK: Inheritance that is applied later (docs/reference/authorization.md 5.6)

    /// What a new object gets, and an existing one with the same explicit entries.
    @Test(arguments: [ObjectKind.file, .directory, .fifo])
    func anExistingObjectGetsWhatANewOneWould(_ kind: ObjectKind) throws {
        var random = SplitMix64(seed: 27)
        for _ in 0..<2000 {
            func list() -> ACL? {
                if random.below(5) == 0 { return nil }
                return ACL(
                    (0..<random.below(6)).map { _ in
                        ACE(
                            GUID(user: UInt32(random.below(4))), random.below(2) == 0 ? .allow : .deny, .read,
                            flags: ACEFlags(rawValue: UInt32(random.below(32)) << 4))
                    })
            }
            let (parent, old) = (list(), list())
            let result = try propagatedACL(from: parent, to: kind, over: old)
            let new = try inheritedACL(from: parent, by: kind, supplied: old)
            // A new object keeps an empty list that was supplied.
            #expect(result?.entries ?? [] == new?.entries ?? [])
            #expect(result?.entries.isEmpty != true)
            // Once more changes nothing.
            #expect(try propagatedACL(from: parent, to: kind, over: result) == result)
        }
    }

    @Test func aLinkLosesInheritedEntriesAndTheLengthIsLimited() throws {
        let inheritable = ACE(GUID(user: 1), .allow, .read, flags: [.fileInherit])
        let inherited = ACE(GUID(user: 2), .deny, .read, flags: [.inherited])
        let own = ACE(GUID(user: 3), .deny, .read)
        #expect(
            try propagatedACL(from: ACL([inheritable]), to: .symlink, over: ACL([own, inherited], listFlags: 2)) == ACL([own], listFlags: 2)
        )
        #expect(try propagatedACL(from: nil, to: .file, over: ACL([])) == nil)
        let full = ACL(Array(repeating: own, count: 127) + [inherited])
        #expect(try propagatedACL(from: ACL([inheritable]), to: .file, over: full)?.entries.count == 128)
        #expect(throws: TooManyEntries.self) {
            try propagatedACL(from: ACL([inheritable, inheritable]), to: .file, over: full)
        }
    }

    // MARK: Lists that take nothing from a directory (Q25)

    @Test(arguments: ObjectKind.allCases)
    func aProtectedListTakesNothingAndKeepsItsMark(_ kind: ObjectKind) throws {
        let both: ACEFlags = [.fileInherit, .directoryInherit]
        let parent = ACL([ACE(user, .allow, .read, flags: both), ACE(user, .deny, .write, flags: both.union(.onlyInherit))])
        let own = ACE(.owner, .allow, .read, flags: both)
        let old = ACE(GUID(user: 503), .allow, .read, flags: both.union(.inherited))
        func propagated(_ entries: ACE..., flags: UInt32 = ACL.noInherit) throws -> ACL? {
            try propagatedACL(from: parent, to: kind, over: ACL(entries, listFlags: flags))
        }
        #expect(try propagated(own) == ACL([own], listFlags: ACL.noInherit))
        // What it inherited before it got the mark goes as well.
        #expect(try propagated(own, old) == ACL([own], listFlags: ACL.noInherit))
        // Without an entry the mark alone keeps it closed.
        #expect(try propagated() == ACL([], listFlags: ACL.noInherit))
        #expect(try propagated(own, flags: ACL.noInherit | 1) == ACL([own], listFlags: ACL.noInherit | 1))
        #expect(try ListChange.inherit.list(of: kind, under: parent, over: ACL([own, old], listFlags: ACL.noInherit))?.entries == [own])
        // Below it, its own list is the parent's.
        #expect(
            try propagatedACL(from: ACL([own], listFlags: ACL.noInherit), to: kind, over: nil) == inheritedACL(from: ACL([own]), by: kind))
    }

    /// 5.5: the list of an original that is set on a copy.
    @Test func aCopyOfAProtectedObjectIsProtected() {
        let (own, other) = (ACE(user, .allow, .read), ACE(.owner, .deny, .write))
        let (old, new) = (ACE(user, .deny, .write, flags: .inherited), ACE(.everyone, .allow, .read, flags: .inherited))
        let original = ACL([own, old])
        #expect(original.copied(onto: nil) == original && original.copied(onto: ACL([other])) == original)
        #expect(original.copied(onto: ACL([other, new])) == ACL([own, new]))
        let protected = ACL([own], listFlags: ACL.noInherit)
        #expect(protected.copied(onto: ACL([other, new])) == protected)
        #expect(original.copied(onto: ACL([other], listFlags: ACL.noInherit)) == protected)
        #expect(original.copied(onto: ACL([other, new], listFlags: ACL.noInherit)) == protected)
    }
}
