import ACLFormats
import Authorization
import Testing

@Suite("the value of system.aclfs.acl")
struct ACLAttributeTextTests {
    func text(_ acl: ACL, directory: Bool = false) -> String {
        String(decoding: ACLAttributeText.write(acl, isDirectory: directory, names: ExampleNames()), as: UTF8.self)
    }
    func parse(_ text: String) throws -> ACL { try ACLAttributeText.parse(Array(text.utf8), names: ExampleNames()) }

    @Test("every stored bit has its word")
    func words() {
        let entry = ACE(
            guid: GUID(user: 502), flagsWord: 1 | 0x1F0 | 0x600,
            rights: [.read, .deleteChild, .synchronize, .genericRead, Rights(rawValue: 0x4000_0001)])
        #expect(
            text(ACL([entry])) == "user:bob inherited allow read,delete_child,synchronize,generic_read,0x40000001,"
                + "file_inherit,directory_inherit,limit_inherit,only_inherit,flags=0x600\n")
        #expect(text(ACL([ACE(.everyone, .deny, .list)]), directory: true) == "group:everyone deny list\n")
        #expect(
            text(ACL([ACE(guid: .nobody, flagsWord: 3, rights: [])]))
                == "ABCDEFAB-CDEF-ABCD-EFAB-CDEFFFFFFFFE 0x3 0x0\n")
        #expect(text(ACL([], listFlags: 0x2_0003)) == "!#acl 1 no_inherit,0x3\n")
        #expect(text(ACL([])).isEmpty)
    }

    @Test(
        "a name stands only where it leads back to the same identity",
        arguments: [
            (GUID(user: 502), "user:bob"), (GUID(user: 511), "user:#511"), (GUID(user: 512), "user:#512"),
            (GUID(user: 513), "user:#513"), (GUID(user: 514), "user:#514"), (GUID(user: 515), "user:#515"),
            (GUID(group: 999), "group:#999"), (GUID(group: 12), "group:man"),
            (GUID(user: 4000), "FFFFEEEE-DDDD-CCCC-BBBB-AAAA00000FA0"),
            // The other spelling of the gid of staff, which a number would not lead back to.
            (GUID(high: 0xACF5_ACF5_ACF5_4CF5, low: 0x8CF5_ACF5_0000_0014), "ACF5ACF5-ACF5-4CF5-8CF5-ACF500000014"),
        ])
    func identities(identity: GUID, who: String) throws {
        let acl = ACL([ACE(identity, .allow, .read)])
        #expect(text(acl) == "\(who) allow read\n")
        #expect(try parse(text(acl)) == acl)
    }

    @Test("read and written back it is the same list", arguments: [false, true])
    func roundTrip(directory: Bool) throws {
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SeededGenerator(seed)
            let acl = random.acl(maximum: seed % 50 == 0 ? 128 : 8)
            #expect(try parse(text(acl, directory: directory)) == acl, "seed \(seed)")
            let numeric = ACLAttributeText.write(acl, isDirectory: directory, names: NoNames())
            #expect(try ACLAttributeText.parse(numeric, names: NoNames()) == acl, "seed \(seed)")
        }
    }

    @Test("the order that chmod takes is accepted, empty lines and a missing last newline too")
    func otherOrder() throws {
        let expected = ACL([ACE(GUID(user: 502), .allow, .read, flags: .inherited), ACE(.everyone, .deny, .write)])
        #expect(try parse("bob allow read,inherited\n\nmary jones:deny:write") != expected)
        #expect(try parse("bob allow read,inherited\n\neveryone:deny:write") == expected)
        #expect(try parse("user:bob inherited allow read\neveryone deny add_file\n") == expected)
        #expect(try parse("") == ACL([]))
        #expect(try parse("\n") == ACL([]))
    }

    @Test(
        "anything else is refused as a whole",
        arguments: [
            ("bob allow raed", ACLTextError.Code.badWord), ("bob allow 0x", .badWord),
            ("bob allow flags=0x1", .badWord),
            ("bob allow flags=600", .badWord), ("bob 0x10 read", .badKind),
            ("bob inherited inherited allow read", .badKind),
            ("nobodyknows allow read", .identity), ("bob allow ", .noWords), ("bob inherited", .noKind),
            ("!#acl 1 defer_inherit\n", .badList), ("!#acl 1,0x1", .badList), ("!#acl 1 ", .badList),
            ("bob allow read\n!#acl 1 0x1", .identity), ("bob allow read\0", .badWord),
        ])
    func refusals(text: String, code: ACLTextError.Code) {
        #expect { try parse(text) } throws: { ($0 as? ACLTextError)?.code == code }
    }

    @Test("128 entries and 64 KiB are the limits")
    func limits() throws {
        #expect(try parse(String(repeating: "bob allow read\n", count: 128)).entries.count == 128)
        #expect { try parse(String(repeating: "bob allow read\n", count: 129)) } throws: {
            ($0 as? ACLTextError)?.code == .tooMany
        }
        #expect(try parse(String(repeating: "\n", count: 65_536)) == ACL([]))
        #expect { try parse(String(repeating: "\n", count: 65_537)) } throws: {
            ($0 as? ACLTextError)?.code == .tooLong
        }
    }

    @Test("the longest list fits")
    func longest() {
        let entry = ACE(guid: GUID(high: .max, low: .max), flagsWord: .max, rights: Rights(rawValue: .max))
        let acl = ACL(Array(repeating: entry, count: 128), listFlags: .max)
        #expect(
            ACLAttributeText.write(acl, isDirectory: true, names: NoNames()).count <= ACLAttributeText.maximumLength)
    }
}
