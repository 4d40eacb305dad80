import Authorization
import Foundation
import TestSupport
import Testing

@testable import WireFormats

/// `system.nfs4_acl_smb` (docs/guide/samba.md): what Samba reads, and what becomes of what it sets.
@Suite struct SMBValueTests {
    private static let seed = ProcessInfo.processInfo.environment["ACLFS_SEED"].flatMap { UInt64($0) } ?? 20_261_126
    private static let always: Rights = [.readAttributes, .readSecurity, .synchronize]

    private let names = ExampleAccounts()
    private let bob = GUID(user: 502)
    private let readAll: Rights = [.read, .readAttributes, .readExtendedAttributes, .readSecurity, .synchronize]

    /// An object of alice and the group staff.
    private func facts(_ acl: ACL?, _ bits: UInt16, isDirectory: Bool = false) -> ObjectFacts {
        ObjectFacts(kind: isDirectory ? .directory : .file, owner: 501, group: 20, mode: FileMode(rawValue: bits), acl: acl)
    }

    private func shown(_ entries: [ACE], _ bits: UInt16, isDirectory: Bool = false) -> [ACE] {
        SMBValue(facts(ACL(entries), bits, isDirectory: isDirectory)).entries
    }

    /// What is stored of a value that Samba sets on an object with other entries.
    private func set(
        _ entries: [ACE], over current: ACL? = nil, _ bits: UInt16 = 0o644, isDirectory: Bool = false
    ) throws -> (entries: [ACE], mode: UInt16) {
        var value = SMBValue(facts(nil, 0))
        value.entries = entries
        let (acl, permissions) = try value.divided(over: facts(current, bits, isDirectory: isDirectory))
        return (acl.entries, permissions)
    }

    // MARK: Bytes

    /// As Samba's `nfsacl41`: flags, then the entries. The owner may change owner and group, in the words of SMB.
    @Test func theBytesOfAMode() throws {
        let got = try SMBValue(facts(nil, 0o640)).bytes()
        let entries = entry(0, 0, 0x1E_019F, "OWNER@") + entry(0, 0x40, 0x12_0089, "GROUP@")
        #expect(got == words(0, 2) + entries)
        let protected = try SMBValue(facts(ACL([], listFlags: ACL.noInherit), 0o640)).bytes()
        #expect(protected == words(2, 2) + entries)
        #expect(try SMBValue(protected, names: names).isProtected)
        // What is inherited from a directory shall be marked, and is.
        #expect(Array(try SMBValue(facts(nil, 0o700, isDirectory: true)).bytes().prefix(8)) == words(1, 1))
        let inherited = ACL([ACE(bob, .allow, readAll, flags: .inherited)])
        #expect(Array(try SMBValue(facts(inherited, 0)).bytes().prefix(8)) == words(1, 1))
    }

    @Test func entriesThatAllowNothingMoreAreLeftOut() throws {
        func shown(_ bits: UInt16, _ entries: ACE...) -> [GUID] { self.shown(entries, bits).map(\.guid) }
        #expect(shown(0) == [])
        #expect(shown(0o600) == [.owner])
        #expect(shown(0o644) == [.owner, .everyone])
        #expect(shown(0o664) == [.owner, .owningGroup, .everyone])
        #expect(shown(0o640) == [.owner, .owningGroup])
        // Its own entries say as much.
        #expect(shown(0o777, ACE(.everyone, .allow, .all)) == [.everyone, .owner])
        #expect(shown(0o400, ACE(.owner, .allow, readAll)) == [.owner])
        #expect(shown(0o600, ACE(.owner, .allow, readAll)) == [.owner, .owner])
        #expect(shown(0o400, ACE(GUID(user: 501), .allow, readAll, flags: [.inherited, .fileInherit])) == [GUID(user: 501)])
        #expect(shown(0o400, ACE(.owner, .allow, readAll, flags: .onlyInherit)) == [.owner, .owner])
        // A class with less than a later one needs a deny.
        #expect(self.shown([], 0o604).map(\.kind) == [.allow, .deny, .allow])
    }

    @Test func identitiesAreNumbersAndNamesAreRead() throws {
        let got = try SMBValue(facts(ACL([ACE(bob, .deny, .write)]), 0)).bytes()
        #expect(got == words(0, 1) + entry(1, 0, 2, "502"))
        #expect(try SMBValue(words(0) + value(entry(1, 0, 2, "bob")), names: names).entries == [ACE(bob, .deny, .write)])
    }

    @Test func brokenValuesAreRefused() throws {
        let good = words(1) + value(entry(0, 0, 1, "502"))
        #expect(throws: NFS4Error(.unknownListFlags(0x30))) { _ = try SMBValue(words(0x31, 0), names: names) }
        #expect(throws: NFS4Error(.truncated(needed: 4, left: 2))) { _ = try SMBValue([0, 0], names: names) }
        for length in 0..<good.count {
            #expect(throws: NFS4Error.self, "\(length)") { _ = try SMBValue(Array(good.prefix(length)), names: names) }
        }
        #expect(throws: NFS4Error.self) { _ = try SMBValue(good + [0], names: names) }
        let many = (0..<129).map { ACE(GUID(user: UInt32(2000 + $0)), .allow, .read) }
        #expect(throws: NFS4Error(.tooManyEntries(129))) { _ = try set(many) }
    }

    // MARK: What is shown

    @Test func readingAndWritingAreShownWithTheRightsThatClientsAskFor() throws {
        #expect(shown([ACE(bob, .allow, .read)], 0)[0].rights == readAll)
        let writing: Rights = [.write, .append, .writeAttributes, .writeExtendedAttributes]
        #expect(shown([ACE(bob, .allow, .write)], 0)[0].rights == writing.union(Self.always))
        #expect(shown([ACE(bob, .allow, .execute)], 0)[0].rights == Self.always.union(.execute))
        #expect(shown([ACE(bob, .allow, .genericRead)], 0)[0].rights == readAll)
        #expect(shown([ACE(bob, .allow, .delete)], 0)[0].rights == .delete)
        #expect(shown([ACE(bob, .allow, [.write, .synchronize])], 0)[0].rights == [.write, .synchronize])
        #expect(shown([ACE(bob, .deny, .read)], 0)[0].rights == .read)
        #expect(shown([ACE(bob, .allow, .list)], 0, isDirectory: true)[0].rights == Self.always.union(.list))
        // Set again beside another entry, it is what it was; changed, it is what the client says.
        let stored = [ACE(bob, .allow, .read)]
        let other = ACE(GUID(user: 503), .deny, .read)
        #expect(try set([other] + shown(stored, 0o600), over: ACL(stored), 0o600).entries == [other] + stored)
        let more = ACE(bob, .allow, readAll.union(.execute))
        #expect(try set([more], over: ACL(stored)).entries == [more])
        // As a new file inherits it through Samba from a directory.
        let inherited = ACE(bob, .allow, .read, flags: .inherited)
        let shown = ACE(bob, .allow, Self.always.union(.read), flags: .inherited)
        #expect(try set([shown], over: ACL([inherited])).entries == [inherited])
    }

    @Test func inheritedEntriesComeLast() {
        let explicit = ACE(bob, .allow, .read)
        let allowed = ACE(GUID(user: 503), .allow, readAll, flags: .inherited)
        let denied = ACE(GUID(user: 503), .deny, .write, flags: .inherited)
        let ofMode = shown([], 0o644)
        #expect(Array(shown([explicit, allowed], 0o644)[1...]) == ofMode + [allowed])
        // A deny keeps its place, because it binds before the mode.
        #expect(Array(shown([explicit, denied, allowed], 0o644)[1...]) == [denied] + ofMode + [allowed])
        #expect(Array(shown([explicit, allowed, denied], 0o644)[1...]) == [allowed, denied] + ofMode)
        // So do entries before those of a mode that needs one.
        #expect(shown([allowed], 0o604)[0] == allowed)
    }

    /// Samba asks whether anything can be inherited, and then whether something can be by this kind of object.
    @Test func aDirectoryWithInheritableEntriesHasOneForEachKind() throws {
        let none = ACE(.everyone, .allow, [], flags: [.inherited, .fileInherit, .directoryInherit, .onlyInherit])
        let ofDirectories = [ACE(bob, .allow, .list, flags: .directoryInherit)]
        let ofFiles = [ACE(bob, .allow, .list, flags: [.fileInherit, .limitInherit])]
        for entries in [ofDirectories, ofFiles] {
            let value = shown(entries, 0o755, isDirectory: true)
            #expect(value.last == none)
            let deny = ACE(bob, .deny, .list)
            #expect(try set([deny] + value, over: ACL(entries), isDirectory: true).entries == [deny] + entries)
        }
        #expect(!shown([ACE(bob, .allow, .list, flags: [.fileInherit, .directoryInherit])], 0o755, isDirectory: true).contains(none))
        #expect(!shown([ACE(bob, .allow, .list)], 0o755, isDirectory: true).contains(none))
    }

    // MARK: What is stored

    @Test func entriesOfClassesBecomeTheMode() throws {
        let read = readAll
        let owner = ModeEntries.rights(of: 6, false).union(ModeEntries.ofOwner)
        let change = Rights.all.subtracting([.writeSecurity, .changeOwner])
        typealias Case = (entries: [ACE], stored: [ACE], mode: UInt16)
        let ofBob = ACE(bob, .allow, read)
        let cases: [Case] = [
            // In any order, as clients sort them.
            ([ACE(.everyone, .allow, read), ACE(.owningGroup, .allow, read), ofBob, ACE(.owner, .allow, owner)], [ofBob], 0o644),
            // EVERYONE@ is taken away, then GROUP@.
            ([ACE(.owner, .allow, owner), ACE(.owningGroup, .allow, read)], [], 0o640),
            ([ACE(.owner, .allow, owner), ofBob], [ofBob], 0o600),
            // EVERYONE@ has the group and the owner in it.
            ([ACE(.everyone, .allow, read)], [], 0o444),
            ([ACE(.owner, .allow, .execute), ACE(.everyone, .allow, read)], [ACE(.owner, .allow, .execute)], 0o544),
            // A list that is only inherited says nothing of the owner, any other one does.
            ([ofBob], [ofBob], 0),
            ([ACE(bob, .allow, read, flags: .inherited)], [ACE(bob, .allow, read, flags: .inherited)], 0o600),
            ([], [], 0),
            ([ACE(.everyone, .allow, [], flags: .inherited)], [], 0o600),
            ([ACE(.owner, .allow, .all, flags: .inherited)], [ACE(GUID(user: 501), .allow, .all, flags: .inherited)], 0o600),
            // What bits cannot say is stored, and the bits say what they can.
            ([ACE(.everyone, .allow, change)], [ACE(.everyone, .allow, change)], 0o777),
            ([ACE(.owningGroup, .allow, [.delete, .read])], [ACE(.owningGroup, .allow, [.delete, .read])], 0),
            ([ACE(.owner, .allow, read)], [ACE(.owner, .allow, read)], 0o400),
            // Inherited and inheritable entries stay, and count for the bits if they count here, as those that name owner and group.
            (
                [ACE(.everyone, .allow, read, flags: .inherited)], [ACE(.everyone, .allow, read, flags: .inherited)], 0o644
            ),
            (
                [ACE(GUID(user: 501), .allow, .all, flags: .fileInherit), ACE(GUID(group: 20), .allow, read, flags: .onlyInherit)],
                [ACE(GUID(user: 501), .allow, .all, flags: .fileInherit), ACE(GUID(group: 20), .allow, read, flags: .onlyInherit)], 0o700
            ),
            ([ACE(GUID(group: 20), .allow, read)], [ACE(GUID(group: 20), .allow, read)], 0o040),
            // A deny behind it: its place counts.
            (
                [ACE(.everyone, .allow, read), ACE(bob, .deny, .read)], [ACE(.everyone, .allow, read), ACE(bob, .deny, .read)], 0o444
            ),
            ([ACE(bob, .deny, .read), ACE(.everyone, .allow, read)], [ACE(bob, .deny, .read)], 0o444),
        ]
        for (number, test) in cases.enumerated() {
            let got = try set(test.entries)
            #expect(got.entries == test.stored && got.mode == test.mode, "case \(number): \(got)")
        }
    }

    /// What a value cannot have stays, with denies first.
    @Test func hiddenEntriesStay() throws {
        let stranger = GUID(high: 0x1234_5678_9ABC_4DEF, low: 0x8123_4567_89AB_CDEF)
        let hidden = [
            ACE(stranger, .deny, .read), ACE(stranger, .allow, .write), ACE(guid: bob, flagsWord: 3, rights: .read),
            ACE(bob, .allow, Rights(rawValue: 1 << 30)),
        ]
        let current = ACL([hidden[1], ACE(bob, .allow, readAll), hidden[0], hidden[2], hidden[3]], listFlags: 1)
        #expect(shown(current.entries, 0o600).map(\.guid) == [bob, .owner])
        let deny = ACE(bob, .deny, .read)
        #expect(try set([deny], over: current).entries == [hidden[0], deny, hidden[1], hidden[2], hidden[3]])
        let object = facts(current, 0o600)
        let (same, permissions) = try SMBValue(object).divided(over: object)
        #expect(same == current && permissions == 0o600)
    }

    // MARK: Identities that Samba changes

    /// Samba sends OWNER@ and GROUP@ for the user and the group to whom the object belongs (501 and 20).
    @Test func anInheritedEntryKeepsTheIdentityThatItHad() throws {
        let (alice, staff) = (GUID(user: 501), GUID(group: 20))
        for (identity, sent) in [(staff, GUID.owningGroup), (alice, .owner)] {
            let stored = ACE(identity, .allow, .read, flags: .inherited)
            for isShownAsOfADirectory in [false, true] {
                var back = isShownAsOfADirectory ? shown([stored], 0, isDirectory: true)[0] : shown([stored], 0)[0]
                back.guid = sent
                #expect(try set([back], over: ACL([stored]), 0o600).entries == [stored])
            }
            // An object that inherited it from nobody: a client passes its directory's entries on.
            let passed = ACE(sent, .allow, readAll.union(.write), flags: .inherited)
            var named = passed
            named.guid = identity
            #expect(try set([passed]).entries == [named])
            // What the directory says of whoever owns the object stays so, also beside the other.
            let general = ACE(sent, .deny, .write, flags: .inherited)
            #expect(try set([general, passed], over: ACL([general, named])).entries == [general, named])
            #expect(try set([general], over: ACL([general])).entries == [general])
        }
        // Of inheritable entries it makes the reverse.
        let owner = ACE(.owner, .allow, .all, flags: [.fileInherit, .directoryInherit, .onlyInherit])
        var back = owner
        back.guid = alice
        #expect(try set([back], over: ACL([owner]), 0o700, isDirectory: true).entries == [owner])
    }

    @Test func anExplicitEntryKeepsItWhenAClientChangesTheList() throws {
        let staff = GUID(group: 20)
        let stored = [ACE(bob, .allow, .read), ACE(staff, .deny, .append), ACE(staff, .allow, [.read, .delete])]
        func sent(_ change: (inout [ACE]) -> Void) throws -> [ACE] {
            var entries = shown(stored, 0o600)
            change(&entries)
            for index in entries.indices where entries[index].guid == staff { entries[index].guid = .owningGroup }
            return try set(entries, over: ACL(stored), 0o600).entries
        }
        #expect(try sent { $0.removeFirst() } == Array(stored[1...]))
        // Its rights were changed.
        #expect(try sent { $0[1].rights.insert(.write) }[1] == ACE(staff, .deny, [.append, .write]))
        // A new one is as it came: Samba sends no other.
        let new = ACE(.owningGroup, .deny, .changeOwner)
        #expect(try sent { $0.insert(new, at: 0) }[0] == new)
    }

    // MARK: Properties

    @Test func getSetGetIsTheIdentity() throws {
        var random = SplitMix64(seed: Self.seed)
        for number in 0..<10_000 {
            let isDirectory = random.chance(50)
            let acl = ACL(random.list(hasNumber: false), listFlags: random.chance(10) ? ACL.noInherit : 0)
            let mode = random.mode()
            let object = facts(acl, mode.rawValue, isDirectory: isDirectory)
            let set = try SMBValue(try SMBValue(object).bytes(), names: names).divided(over: object)
            guard set.acl == acl, set.permissions == mode.rawValue & 0o777 else {
                Issue.record("seed \(Self.seed), list \(number): \(acl) with \(mode) became \(set)")
                return
            }
        }
    }

    /// What a value says decides as a client of Windows reads it: one right after the other, and what is not allowed is refused. The exceptions
    /// are what everyone and the owner have in any case.
    @Test func whatIsStoredDecidesAsTheValueReads() throws {
        var random = SplitMix64(seed: Self.seed &+ 1)
        var (allowed, refused) = (0, 0)
        for number in 0..<10_000 {
            let isDirectory = random.chance(50)
            let entries = random.valueOfClasses()
            let got = try set(entries, 0o750, isDirectory: isDirectory)
            let saysNothing = !entries.isEmpty && entries.allSatisfy { $0.flags.contains(.inherited) }
            for caller in Caller.all where caller != .owner || !saysNothing {
                for right in [Rights.read, .write, .execute, .append, .writeExtendedAttributes] {
                    let expected = caller.scan(entries, right) == .allow
                    let found: Bool
                    switch caller.scan(got.entries, right) {
                    case let kind?: found = kind == .allow
                    case nil: found = ModeEntries.rights(of: got.mode >> caller.shift & 7, isDirectory).contains(right)
                    }
                    (allowed, refused) = (allowed + (found ? 1 : 0), refused + (found ? 0 : 1))
                    if found != expected {
                        Issue.record("seed \(Self.seed), value \(number): \(caller) \(right) of \(entries), stored \(got)")
                        return
                    }
                }
            }
        }
        #expect(allowed > 5000 && refused > 5000)
    }

    /// What is shown of a directory decides as its list and its mode.
    @Test func whatIsShownDecidesAsListAndMode() throws {
        var random = SplitMix64(seed: Self.seed &+ 2)
        for number in 0..<10_000 {
            let (stored, mode) = (random.valueOfClasses(), random.mode())
            let value = shown(stored, mode.rawValue, isDirectory: true)
            for caller in Caller.all {
                for right in [Rights.list, .addFile, .search, .addSubdirectory, .deleteChild] {
                    let bits = mode.rawValue >> caller.shift & 7
                    let expected = caller.scan(stored, right).map { $0 == .allow } ?? ModeEntries.rights(of: bits, true).contains(right)
                    if (caller.scan(value, right) == .allow) != expected {
                        Issue.record("seed \(Self.seed), list \(number): \(caller) \(right) of \(stored) with \(mode), shown \(value)")
                        return
                    }
                }
            }
        }
    }
}

/// Who is asked about: by class, and bob besides.
private enum Caller: CaseIterable {
    case owner, member, other, bob
    static let all = allCases

    var shift: UInt16 { self == .owner ? 6 : self == .member ? 3 : 0 }

    func scan(_ entries: [ACE], _ right: Rights) -> ACE.Kind? {
        let identities: [GUID] =
            switch self {
            case .owner: [.everyone, .owner, GUID(user: 501)]
            case .member: [.everyone, .owningGroup, GUID(group: 20)]
            case .other: [.everyone]
            case .bob: [.everyone, GUID(user: 502)]
            }
        return entries.first {
            !$0.flags.contains(.onlyInherit) && identities.contains($0.guid) && $0.rights.contains(right)
        }?.kind
    }
}

extension SplitMix64 {
    /// Entries as clients of Windows make them, mostly of the classes.
    fileprivate mutating func valueOfClasses() -> [ACE] {
        let all: Rights = Rights.all
        return (0..<below(6)).map { _ in
            var rights = Rights()
            for bit: UInt16 in [4, 2, 1] where chance(50) { rights.formUnion(ModeEntries.rights(of: bit, chance(50))) }
            if chance(30) { rights.formUnion(Rights(rawValue: UInt32(truncatingIfNeeded: next()) & all.rawValue)) }
            if chance(50) { rights.formUnion([.readAttributes, .readSecurity, .synchronize]) }
            return ACE(
                pick([GUID.owner, .owningGroup, .everyone, GUID(user: 502)]), chance(70) ? .allow : .deny, rights,
                flags: chance(80) ? [] : pick([ACEFlags.inherited, [.fileInherit, .onlyInherit]]))
        }
    }
}
