import Authorization
import Testing

@testable import WireFormats

/// The bytes of both forms, and what is refused.
@Suite struct NFS4ValueTests {
    private let names = ExampleAccounts()

    private func read(_ value: [UInt8], _ form: NFS4Form = .named) throws -> [ACE] {
        try NFS4Value(value, as: form, names: names).entries
    }

    // MARK: Bytes

    /// As nfs4_setfacl 0.3.7 sends `A:g:1000:rxtncy`.
    @Test func anEntryOfNfs4Setfacl() throws {
        let sent: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0x12, 0, 0xA9, 0, 0, 0, 4, 0x31, 0x30, 0x30, 0x30]
        let rights: Rights = [.read, .execute, .readAttributes, .readExtendedAttributes, .readSecurity, .synchronize]
        #expect(try read(sent) == [ACE(GUID(group: 1000), .allow, rights)])
        let got = try NFS4Value.write(
            ACL([ACE(GUID(group: 1000), .allow, rights)]), mode: FileMode(rawValue: 0o640), isDirectory: false, as: .named, names: names)
        let expected = value(
            entry(0, 0x40, 0x12_00A9, "1000"), entry(0, 0, 0x16_019F, "OWNER@"), entry(0, 0x40, 0x12_0089, "GROUP@"),
            entry(0, 0, 0x12_0080, "EVERYONE@"))
        #expect(got == expected)
    }

    /// As TrueNAS has it; the first word says that there is only the mode, and that the object is a directory.
    @Test func theFormWithNumbers() throws {
        let got = try NFS4Value.write(nil, mode: FileMode(rawValue: 0o750), isDirectory: true, as: .numbered, names: names)
        #expect(
            got
                == words(0x3_0000, 3) + words(0, 0, 1, 0x16_01FF, 1) + words(0, 0x40, 1, 0x12_00A9, 2) + words(0, 0, 1, 0x12_0080, 3))
        let list = ACL(
            [ACE(GUID(user: 501), .deny, .write), ACE(GUID(group: 12), .allow, .read, flags: .inherited)], listFlags: ACL.noInherit)
        let written = try NFS4Value.write(list, mode: FileMode(rawValue: 0), isDirectory: false, as: .numbered, names: names)
        #expect(Array(written.prefix(48)) == words(2, 5) + words(1, 0, 0, 2, 501) + words(0, 0xC0, 0, 1, 12))
    }

    /// Samba sends GROUP@ for the group of a new file; nfs4_setfacl may mean it.
    @Test(arguments: NFS4Form.allCases) func whatIsInheritedKeepsItsIdentityAndAListItsMark(_ form: NFS4Form) {
        let inherited = ACE(GUID(group: 20), .allow, .read, flags: .inherited)
        let explicit = ACE(GUID(group: 20), .allow, .write)
        let current = ACL([explicit, inherited], listFlags: ACL.noInherit)
        let facts = ObjectFacts(kind: .file, owner: 501, group: 20, mode: FileMode(rawValue: 0o600), acl: current)
        let value = ACL([explicit, inherited].map { ACE(guid: .owningGroup, flagsWord: $0.flagsWord, rights: $0.rights) })
        let stored = NFS4Value.replacing(value, over: facts, as: form)
        #expect(stored.entries == [value.entries[0], inherited])
        // Only the form with numbers has a word for the mark.
        #expect(stored.isProtected == (form == .named))
    }

    @Test(arguments: NFS4Form.allCases, 0...128) func eachNumberOfEntries(_ form: NFS4Form, count: Int) throws {
        let acl = ACL((0..<count).map { ACE(GUID(user: UInt32(2000 + $0)), .allow, .read) })
        let got = try NFS4Value.write(acl, mode: FileMode(rawValue: 0o635), isDirectory: false, as: form, names: names)
        if form == .numbered { #expect(got.count == 8 + 20 * (count + 5)) }
        let set = try NFS4Value(got, as: form, names: names).divided(isDirectory: false)
        #expect(set.acl == acl && set.permissions == 0o635)
    }

    @Test(arguments: NFS4Form.allCases) func oneEntryTooMany(_ form: NFS4Form) throws {
        for (count, isRefusedAtOnce) in [(129, false), (134, true)] {
            let acl = ACL((0..<count).map { ACE(GUID(user: UInt32(2000 + $0)), .allow, .read) })
            let value =
                form == .named
                ? words(UInt32(count)) + acl.entries.indices.flatMap { entry(0, 0, 1, "\(2000 + $0)") }
                : words(0, UInt32(count)) + acl.entries.indices.flatMap { words(0, 0, 0, 1, UInt32(2000 + $0)) }
            let expected = NFS4Error(.tooManyEntries(UInt32(count)))
            if isRefusedAtOnce {
                #expect(throws: expected) { _ = try NFS4Value(value, as: form, names: names) }
            } else {
                #expect(throws: expected) { _ = try NFS4Value(value, as: form, names: names).divided(isDirectory: false) }
            }
        }
    }

    /// Every right and every flag, one by one.
    @Test func eachBit() throws {
        let rights: [(Rights, UInt32)] = [
            (.read, 0x1), (.write, 0x2), (.append, 0x4), (.readExtendedAttributes, 0x8), (.writeExtendedAttributes, 0x10), (.execute, 0x20),
            (.deleteChild, 0x40), (.readAttributes, 0x80), (.writeAttributes, 0x100), (.delete, 0x1_0000), (.readSecurity, 0x2_0000),
            (.writeSecurity, 0x4_0000), (.changeOwner, 0x8_0000), (.synchronize, 0x10_0000),
        ]
        #expect(rights.reduce(Rights()) { $0.union($1.0) } == .all)
        let flags: [(ACEFlags, UInt32)] = [
            (.fileInherit, 1), (.directoryInherit, 2), (.limitInherit, 4), (.onlyInherit, 8), (.inherited, 0x80),
        ]
        for bit in 0..<UInt32(32) {
            let mask = UInt32(1) << bit
            let known = rights.first { $0.1 == mask }?.0
            check(value(entry(1, 0, mask, "501")), known.map { ACE(GUID(user: 501), .deny, $0) }, .unknownRights(mask))
            let flag = flags.first { $0.1 == mask }?.0
            let entryOfFlag = mask == 0x40 ? ACE(GUID(group: 501), .allow, []) : flag.map { ACE(GUID(user: 501), .allow, [], flags: $0) }
            check(value(entry(0, mask, 0, "501")), entryOfFlag, .unknownFlags(mask))
        }
        for type in [2, 3, 4, 0x8000_0000, UInt32.max] { check(value(entry(type, 0, 1, "501")), nil, .unknownType(type)) }
    }

    private func check(_ value: [UInt8], _ expected: ACE?, _ problem: NFS4Error.Problem) {
        do {
            let found = try read(value)
            #expect(expected.map { [$0] } == found)
        } catch { #expect(expected == nil && error as? NFS4Error == NFS4Error(problem, entry: 0), "\(error)") }
    }

    // MARK: Identities

    @Test(arguments: [
        ("OWNER@", false, GUID.owner), ("OWNER@", true, .owner), ("GROUP@", false, .owningGroup),
        ("GROUP@", true, .owningGroup),
        ("EVERYONE@", false, .everyone), ("EVERYONE@", true, .everyone), ("bob", false, GUID(user: 502)), ("bob", true, GUID(group: 30)),
        ("bob@example.org", false, GUID(user: 502)), ("bob@corp.example", false, GUID(user: 5002)),
        ("bob@corp.example", true, GUID(group: 30)), ("mary jones@x", false, GUID(user: 511)), ("1500", false, GUID(user: 1500)),
        ("1500", true, GUID(group: 1500)), ("7000", false, GUID(user: 7000)), ("0", false, GUID(user: 0)),
        // A group whose number is that of a well-known identity (docs/reference/authorization.md Q20).
        ("12", true, GUID(group: 12)), ("man", true, GUID(group: 12)),
        ("00000000-0000-0001-0000-000000000002", false, GUID(high: 1, low: 2)),
        ("ABCDEFAB-CDEF-ABCD-EFAB-CDEFFFFFFFFE", false, .nobody), ("abcdefab-cdef-abcd-efab-cdef0000000c", true, .everyone),
    ]) func aWhoStringThatStandsFor(_ who: String, isGroup: Bool, identity: GUID) throws {
        #expect(try read(value(entry(0, isGroup ? 0x40 : 0, 1, who))) == [ACE(identity, .allow, .read)])
    }

    @Test(arguments: [
        ("", false, NFS4Error.Problem.badName([])), ("carol", false, .noSuchName(Array("carol".utf8), isGroup: false)),
        ("alice", true, .noSuchName(Array("alice".utf8), isGroup: true)),
        ("staff", false, .noSuchName(Array("staff".utf8), isGroup: false)),
        ("carol@example.org", false, .noSuchName(Array("carol@example.org".utf8), isGroup: false)),
        ("INTERACTIVE@", false, .noSuchName(Array("INTERACTIVE@".utf8), isGroup: false)),
        ("bob@", false, .noSuchName(Array("bob@".utf8), isGroup: false)),
        ("@corp", false, .noSuchName(Array("@corp".utf8), isGroup: false)),
        ("owner@", false, .noSuchName(Array("owner@".utf8), isGroup: false)),
        ("7000@x", false, .noSuchName(Array("7000@x".utf8), isGroup: false)), ("bob\n", false, .badName(Array("bob\n".utf8))),
        ("bob\0", false, .badName(Array("bob\0".utf8))), ("4294967295", false, .noSuchName(Array("4294967295".utf8), isGroup: false)),
        ("4294967796", false, .noSuchName(Array("4294967796".utf8), isGroup: false)),
        ("FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5", true, .contradictingGroupFlag(Array("FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5".utf8))),
        ("ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000014", false, .contradictingGroupFlag(Array("ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000014".utf8))),
    ]) func aWhoStringThatIsRefused(_ who: String, isGroup: Bool, problem: NFS4Error.Problem) throws {
        let good = entry(0, 0, 1, "OWNER@")
        #expect(throws: NFS4Error(problem, entry: 1)) { _ = try read(value(good, entry(0, isGroup ? 0x40 : 0, 1, who))) }
    }

    @Test func longAndBrokenNames() throws {
        let long = [UInt8](repeating: 0x61, count: 256)
        #expect(throws: NFS4Error(.badName(long), entry: 0)) {
            _ = try read(value(entry(0, 0, 1, String(repeating: "a", count: 256))))
        }
        #expect(throws: NFS4Error(.badName([0xFF, 0x61]), entry: 0)) {
            _ = try read(words(1, 0, 0, 1, 2) + [0xFF, 0x61, 0, 0])
        }
    }

    /// The local part counts only if the databases say that no account has the whole name: it could be another account.
    @Test func aDatabaseThatDoesNotAnswer() throws {
        let whole = "bob@corp.example"
        let silent = ExampleAccounts(unanswered: [whole])
        #expect(throws: NFS4Error(.unanswered(Array(whole.utf8)), entry: 0)) {
            _ = try NFS4Value(value(entry(0, 0, 1, whole)), as: .named, names: silent)
        }
        // A name that does not lead back is shown as a number.
        let got = try NFS4Value.write(
            ACL([ACE(GUID(user: 5002), .allow, .read)]), mode: FileMode(rawValue: 0), isDirectory: false, as: .named, names: silent)
        #expect(Array(got.dropFirst(4).prefix(20)) == entry(0, 0, 1, "5002"))
    }

    @Test(arguments: [
        (GUID(user: 501), "alice", false), (GUID(user: 5002), "bob@corp.example", false), (GUID(group: 30), "bob", true),
        (GUID(user: 1500), "1500", false), (GUID(user: 512), "512", false), (GUID(user: 511), "511", false),
        (GUID(user: 515), "515", false),
        (GUID(user: 516), "516", false), (GUID(user: 517), "517", false), (GUID(user: 514), "514", false), (GUID(user: 518), "518", false),
        (GUID(user: 520), "520", false), (GUID(user: 521), "521", false), (GUID(user: 522), "twin", false), (GUID(group: 31), "31", true),
        (GUID(group: 12), "man", true), (GUID(group: 10), "10", true), (.everyone, "EVERYONE@", false), (.owner, "OWNER@", false),
        (.owningGroup, "GROUP@", true), (.nobody, "ABCDEFAB-CDEF-ABCD-EFAB-CDEFFFFFFFFE", false),
        (GUID(high: 1, low: 2), "00000000-0000-0001-0000-000000000002", false),
        (GUID(group: .max), "ABCDEFAB-CDEF-ABCD-EFAB-CDEFFFFFFFFF", true),
    ]) func anIdentityIsWrittenAs(_ identity: GUID, who: String, isGroup: Bool) throws {
        let got = try NFS4Value.write(
            ACL([ACE(identity, .deny, .delete)]), mode: FileMode(rawValue: 0), isDirectory: false, as: .named, names: names)
        let expected = entry(1, isGroup ? 0x40 : 0, 0x1_0000, who)
        #expect(Array(got.dropFirst(4).prefix(expected.count)) == expected)
        #expect(try read(got).first?.guid == identity)
    }

    // MARK: Malformed values

    @Test func eachTruncation() throws {
        let whole = value(entry(0, 3, 0x1F01FF, "alice"), entry(1, 0x40, 0x20, "staff@example.org"))
        #expect(try read(whole).count == 2)
        for length in 0..<whole.count {
            #expect(throws: NFS4Error.self, "\(length) bytes") { _ = try read(Array(whole.prefix(length))) }
        }
        let numbers = words(0, 2) + words(0, 0, 0, 1, 501) + words(1, 0x40, 0, 1, 20)
        #expect(try read(numbers, .numbered).count == 2)
        for length in 0..<numbers.count {
            #expect(throws: NFS4Error.self, "\(length) bytes") { _ = try read(Array(numbers.prefix(length)), .numbered) }
        }
    }

    @Test(arguments: [
        ([], NFS4Error(.truncated(needed: 4, left: 0))),
        (words(.max), NFS4Error(.tooManyEntries(.max))),
        (words(0x8000_0000), NFS4Error(.tooManyEntries(0x8000_0000))),
        (words(2) + entry(0, 0, 1, "501"), NFS4Error(.truncated(needed: 4, left: 0), entry: 1)),
        (words(1, 0, 0, 1, .max), NFS4Error(.truncated(needed: .max, left: 0), entry: 0)),
        (words(1, 0, 0, 1, .max - 2) + [0x61], NFS4Error(.truncated(needed: .max - 2, left: 1), entry: 0)),
        (words(1, 0, 0, 1, 5) + [0x61, 0x61, 0x61, 0x61], NFS4Error(.truncated(needed: 5, left: 4), entry: 0)),
        (words(1, 0, 0, 1, 3) + [0x35, 0x30, 0x31], NFS4Error(.truncated(needed: 4, left: 3), entry: 0)),
        (words(1, 0, 0, 1, 3) + [0x35, 0x30, 0x31, 1], NFS4Error(.padding, entry: 0)),
        (words(0) + [0], NFS4Error(.wrongLength(5, expected: 4))),
        (words(1) + entry(0, 0, 1, "501") + words(0), NFS4Error(.wrongLength(28, expected: 24))),
    ]) func aMalformedValue(_ value: [UInt8], error: NFS4Error) {
        #expect(throws: error) { _ = try read(value) }
    }

    @Test(arguments: [
        ([], NFS4Error(.truncated(needed: 4, left: 0))), (words(0), NFS4Error(.truncated(needed: 4, left: 0))),
        (words(0, .max), NFS4Error(.tooManyEntries(.max))), (words(0, 1), NFS4Error(.wrongLength(8, expected: 28))),
        (words(0, 0, 0), NFS4Error(.wrongLength(12, expected: 8))), (words(1, 0), NFS4Error(.unknownListFlags(1))),
        (words(4, 0), NFS4Error(.unknownListFlags(4))), (words(0x8000_0002, 0), NFS4Error(.unknownListFlags(0x8000_0000))),
        (words(0, 1) + words(0, 0, 2, 1, 1), NFS4Error(.unknownMark(2), entry: 0)),
        (words(0, 1) + words(0, 0, 1, 1, 4), NFS4Error(.unknownSpecialIdentity(4), entry: 0)),
        (words(0, 1) + words(0, 0, 0, 1, .max), NFS4Error(.noSuchName(Array("4294967295".utf8), isGroup: false), entry: 0)),
        (words(0, 1) + words(2, 0, 0, 1, 501), NFS4Error(.unknownType(2), entry: 0)),
        (words(0, 1) + words(0, 0x10, 0, 1, 501), NFS4Error(.unknownFlags(0x10), entry: 0)),
        (words(0, 1) + words(0, 0, 0, 0x200, 501), NFS4Error(.unknownRights(0x200), entry: 0)),
    ]) func aMalformedValueWithNumbers(_ value: [UInt8], error: NFS4Error) {
        #expect(throws: error) { _ = try read(value, .numbered) }
    }

    /// What a list may hold and NFSv4 has no form for is refused, never left out.
    @Test func entriesWithoutAForm() {
        let alice = GUID(user: 501)
        let cases: [(ACL, NFS4Error, [NFS4Form])] = [
            (ACL([ACE(guid: alice, flagsWord: 3, rights: .read)]), NFS4Error(.kindWithoutForm(3), entry: 0), [.named, .numbered]),
            (ACL([ACE(alice, .allow, .genericAll)]), NFS4Error(.rightsWithoutForm(0x20_0000), entry: 0), [.named, .numbered]),
            (
                ACL([ACE(alice, .allow, .read), ACE(alice, .allow, .read, flags: ACEFlags(rawValue: 0x200))]),
                NFS4Error(.flagsWithoutForm(0x200), entry: 1), [.named, .numbered]
            ),
            (ACL([], listFlags: ACL.noInherit | 1), NFS4Error(.listFlagsWithoutForm(1)), [.named, .numbered]),
            (ACL([ACE(.nobody, .deny, .read)]), NFS4Error(.identityWithoutNumber(.nobody), entry: 0), [.numbered]),
            (
                ACL([ACE(GUID(high: 1, low: 2), .deny, .read)]), NFS4Error(.identityWithoutNumber(GUID(high: 1, low: 2)), entry: 0),
                [.numbered]
            ),
        ]
        for (acl, error, forms) in cases {
            for form in forms {
                #expect(throws: error) {
                    _ = try NFS4Value.write(acl, mode: FileMode(rawValue: 0o600), isDirectory: false, as: form, names: names)
                }
            }
        }
    }

    /// The log shows what a caller sent without acting on a terminal.
    @Test func messages() {
        #expect(
            NFS4Error(.truncated(needed: .max, left: 2), entry: 3).message == "entry 3: 4294967295 bytes are needed, 2 are left")
        #expect(NFS4Error(.unknownFlags(0x30), entry: 0).message == "entry 0: flags 0x30 are unknown")
        #expect(NFS4Error(.noSuchName(Array("\u{1B}[2J".utf8), isGroup: true)).message == "no group '\\x1b[2J'")
        #expect(NFS4Error(.badName([UInt8](repeating: 0xFF, count: 4000))).message.utf8.count < 1200)
    }
}
