import Authorization
import Foundation
import TestSupport
import Testing
import WireFormats

/// The long form of macOS' library.
@Suite struct LongFormTests {
    private let names = ExampleAccounts()

    private func text(_ acl: ACL) -> String { String(decoding: LongFormText.write(acl, names: names), as: UTF8.self) }
    private func read(_ lines: String...) throws -> ACL {
        try LongFormText.read(Array((["!#acl 1"] + lines).joined(separator: "\n").utf8), names: names)
    }

    @Test func whatIsWritten() {
        #expect(text(ACL([])) == "!#acl 1\n")
        #expect(text(ACL([], listFlags: ACL.noInherit)) == "!#acl 1 no_inherit\n")
        #expect(text(ACL([], listFlags: 0x8001)) == "!#acl 1 defer_inherit,0x8000\n")
        let user = "user:FFFFEEEE-DDDD-CCCC-BBBB-AAAA"
        for (entry, line) in [
            (ACE(GUID(user: 501), .allow, [.read, .execute]), "\(user)000001F5:alice:501:allow:read,execute"),
            (
                ACE(GUID(group: 20), .deny, [.deleteChild, .synchronize], flags: [.inherited, .fileInherit, .onlyInherit]),
                "group:ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000014:staff:20:deny,inherited,file_inherit,only_inherit:delete_child,synchronize"
            ),
            (ACE(GUID(user: 1500), .allow, .append), "\(user)000005DC::1500:allow:append"),
            (ACE(GUID(user: 515), .allow, .read), "\(user)00000203::515:allow:read"),
            (ACE(.everyone, .allow, []), "group:ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000C:everyone:12:allow"),
            (ACE(.owner, .allow, .read), "user:ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000A:::allow:read"),
            (ACE(GUID(high: 1, low: 2), .allow, .read), "user:00000000-0000-0001-0000-000000000002:::allow:read"),
            (ACE(GUID(group: 12), .allow, .read), "group:ACF5ACF5-ACF5-4CF5-8CF5-ACF50000000C:man:12:allow:read"),
            (
                ACE(guid: GUID(user: 1500), flagsWord: 0x203, rights: [.read, .genericAll]),
                "\(user)000005DC::1500:0x3,0x200:read,0x200000"
            ),
        ] {
            #expect(text(ACL([entry])) == "!#acl 1\n\(line)\n")
        }
    }

    @Test func theExampleOfTheDocument() throws {
        let document = try String(contentsOf: Repository.top.appendingPathComponent("docs/guide/copies.md"), encoding: .utf8)
        let section = try #require(document.components(separatedBy: "## The value\n").last?.components(separatedBy: "\n## ").first)
        let lines = section.split(separator: "\n").filter { $0.hasPrefix("    ") }.map { $0.dropFirst(4) + "\n" }
        let entries = [
            ACE(GUID(user: 501), .allow, [.read, .write], flags: .fileInherit), ACE(GUID(group: 20), .deny, .delete),
        ]
        #expect(text(ACL(entries)) == lines.joined())
        #expect(try LongFormText.read(Array(lines.joined().utf8), names: names) == ACL(entries))
    }

    /// UUID if this host knows it, then name, then number; a UUID without all of them stays.
    @Test(arguments: [
        ("user::alice:", GUID(user: 501)), ("user:::501", GUID(user: 501)),
        ("user:FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5::", GUID(user: 501)),
        ("user:FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5:bob:502", GUID(user: 501)), ("user::bob:501", GUID(user: 502)),
        // No account has this uid here, so the name counts.
        ("user:FFFFEEEE-DDDD-CCCC-BBBB-AAAA000007D0:bob:2000", GUID(user: 502)),
        ("user:FFFFEEEE-DDDD-CCCC-BBBB-AAAA000007D0:zoe:2000", GUID(user: 2000)),
        ("user:00000000-0000-0001-0000-000000000002:zoe:2001", GUID(user: 2001)),
        ("user:00000000-0000-0001-0000-000000000002:zoe:", GUID(high: 1, low: 2)), ("group::staff:", GUID(group: 20)),
        ("group:::12", GUID(group: 12)), ("group::everyone:", .everyone),
        ("user:ABCDEFAB-CDEF-ABCD-EFAB-CDEFFFFFFFFE:::", .nobody), ("group:ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000010:::", .owningGroup),
    ]) func anIdentity(_ fields: String, _ identity: GUID) throws {
        let fields = fields.split(separator: ":", omittingEmptySubsequences: false).prefix(4).joined(separator: ":")
        #expect(try read(fields + ":allow:read") == ACL([ACE(identity, .allow, .read)]))
    }

    @Test(arguments: [
        ("", LongFormError(.badHeader([]), line: 1)), ("#acl 1\n", LongFormError(.badHeader(Array("#acl 1".utf8)), line: 1)),
        ("!#acl 2\n", LongFormError(.badHeader(Array("!#acl 2".utf8)), line: 1)),
        ("!#acl 1x\n", LongFormError(.badHeader(Array("!#acl 1x".utf8)), line: 1)),
        ("!#acl 1 inherit\n", LongFormError(.badListFlag(Array("inherit".utf8)), line: 1)),
        ("!#acl 1\nuser:::501\n", LongFormError(.wrongFields(4), line: 2)),
        ("!#acl 1\nuser:::501:allow:read:x\n", LongFormError(.wrongFields(7), line: 2)),
        ("!#acl 1\nmember:::501:allow:read\n", LongFormError(.badIdentityKind(Array("member".utf8)), line: 2)),
        ("!#acl 1\nuser:FFFF:::allow:read\n", LongFormError(.badUUID(Array("FFFF".utf8)), line: 2)),
        ("!#acl 1\nuser:::-1:allow:read\n", LongFormError(.badNumber(Array("-1".utf8)), line: 2)),
        ("!#acl 1\nuser:::4294967295:allow\n", LongFormError(.badNumber(Array("4294967295".utf8)), line: 2)),
        ("!#acl 1\nuser::::allow:read\n", LongFormError(.noIdentity([]), line: 2)),
        ("!#acl 1\nuser::zoe::allow:read\n", LongFormError(.noIdentity(Array("zoe".utf8)), line: 2)),
        ("!#acl 1\nuser:::501:permit:read\n", LongFormError(.badKind(Array("permit".utf8)), line: 2)),
        ("!#acl 1\nuser:::501:0x10:read\n", LongFormError(.badKind(Array("0x10".utf8)), line: 2)),
        ("!#acl 1\nuser:::501:allow,file:read\n", LongFormError(.badFlag(Array("file".utf8)), line: 2)),
        ("!#acl 1\nuser:::501:allow,0x1:read\n", LongFormError(.badFlag(Array("0x1".utf8)), line: 2)),
        // Words of directories are not taken, as by the library.
        ("!#acl 1\nuser:::501:allow:list\n", LongFormError(.badRight(Array("list".utf8)), line: 2)),
        ("!#acl 1\nuser:::501:allow:read\nuser:::501:allow:\n", LongFormError(.badRight([]), line: 3)),
        ("!#acl 1\nuser:::501:allow:0x+1\n", LongFormError(.badRight(Array("0x+1".utf8)), line: 2)),
    ]) func aBrokenText(_ text: String, error: LongFormError) {
        #expect(throws: error) { _ = try LongFormText.read(Array(text.utf8), names: names) }
        #expect(error.message.hasPrefix("line \(error.line): "))
    }

    @Test func limits() throws {
        let entry = "user:::2000:allow:read"
        #expect(
            try LongFormText.read(Array((["!#acl 1"] + Array(repeating: entry, count: 128)).joined(separator: "\n").utf8), names: names)
                .entries.count == 128)
        #expect(throws: LongFormError(.tooManyEntries(129), line: 130)) {
            _ = try LongFormText.read(Array((["!#acl 1"] + Array(repeating: entry, count: 129)).joined(separator: "\n").utf8), names: names)
        }
        #expect(throws: LongFormError(.tooLong(65_537), line: 1)) {
            _ = try LongFormText.read([UInt8](repeating: 0x0A, count: 65_537), names: names)
        }
        #expect(throws: LongFormError(.unanswered(Array("bob".utf8)), line: 2)) {
            _ = try LongFormText.read(Array("!#acl 1\nuser::bob:502:allow:read".utf8), names: ExampleAccounts(unanswered: ["bob"]))
        }
        // Reading ends at an empty line; a string of C may come with its end.
        #expect(try read("user:::2000:allow:read", "", "anything").entries.count == 1)
        #expect(try LongFormText.read(Array("!#acl 1\nuser:::2000:allow:read\n\0".utf8), names: names).entries.count == 1)
    }

    /// Any list, every bit of it.
    @Test func writtenAndReadItIsTheSame() throws {
        var random = SplitMix64(seed: 20_261_126)
        for number in 0..<20_000 {
            let acl = ACL(
                (0..<random.below(5)).map { _ in
                    let wild = random.chance(30)
                    var entry = random.entry(hasNumber: false)
                    if wild { entry.flagsWord = UInt32(truncatingIfNeeded: random.next() & random.next()) }
                    if wild { entry.rights = Rights(rawValue: UInt32(truncatingIfNeeded: random.next() & random.next())) }
                    return entry
                }, listFlags: random.chance(20) ? UInt32(truncatingIfNeeded: random.next() & random.next()) : 0)
            let read = try LongFormText.read(LongFormText.write(acl, names: names), names: names)
            #expect(read == acl, "list \(number)")
        }
    }

    /// Any bytes give a list or an error.
    @Test func brokenBytes() throws {
        var random = SplitMix64(seed: 20_261_127)
        var (accepted, refused) = (0, 0)
        for _ in 0..<20_000 {
            var text = LongFormText.write(ACL((0..<3).map { _ in random.entry(hasNumber: false) }), names: names)
            for _ in 0...random.below(2) {
                let place = random.below(text.count)
                switch random.next() % 3 {
                case 0: text[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: text.remove(at: place)
                default: text.insert(random.pick(Array(":,\n0x ".utf8)), at: place)
                }
            }
            do {
                let acl = try LongFormText.read(text, names: names)
                accepted += 1
                #expect(try LongFormText.read(LongFormText.write(acl, names: names), names: names) == acl)
            } catch { refused += 1 }
        }
        #expect(accepted > 200 && refused > 5000, "\(accepted) accepted, \(refused) refused")
    }
}
