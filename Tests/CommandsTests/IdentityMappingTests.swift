import ACLFormats
import Authorization
import Commands
import Testing

/// How users and groups of an export become those of this host (docs/guide/export.md "Users and groups").
@Suite struct IdentityMappingTests {
    /// alice has 501 here, and bob 2002. The export is of a host where alice had 1001, bob 502 and a robert 503.
    private struct Host: IdentityNames {
        func identity(named name: String, kind: IdentityKind?) -> GUID? {
            switch (name, kind) {
            case ("alice", .user), ("alice", nil): GUID(user: 501)
            case ("bob", .user), ("bob", nil): GUID(user: 2002)
            case ("staff", .group), ("staff", nil): GUID(group: 20)
            default: nil
            }
        }
        func name(of identity: GUID) -> IdentityName? { nil }
    }

    private let alice = (GUID(user: 1001), ExportedName(.user, "alice"))
    private let robert = (GUID(user: 503), ExportedName(.user, "robert"))

    private func mapping(_ users: [String] = [], groups: [String] = [], unknown: IdentityMapping.Unknown = .refuse, isNumeric: Bool = false)
        throws
        -> IdentityMapping
    {
        var mapping = IdentityMapping(unknown: unknown, isNumeric: isNumeric)
        for word in users { try mapping.add(word, kind: .user, host: Host()) }
        for word in groups { try mapping.add(word, kind: .group, host: Host()) }
        return mapping
    }

    private func target(_ mapping: IdentityMapping, _ identity: (GUID, ExportedName?)) throws -> GUID {
        try mapping.target(of: identity.0, named: identity.1, host: Host())
    }

    @Test func aNameIsTheOneOfThisHost() throws {
        #expect(try target(mapping(), alice) == GUID(user: 501))
        // Without a name the identity is kept.
        #expect(try target(mapping(), (GUID(user: 1001), nil)) == GUID(user: 1001))
        #expect(try target(mapping(isNumeric: true), alice) == GUID(user: 1001))
        for identity in [GUID.everyone, .owner, .owningGroup, .nobody] { #expect(try target(mapping(), (identity, nil)) == identity) }
    }

    @Test func anUnknownNameIsRefusedOrKept() throws {
        #expect(throws: IdentityMapping.Refusal.noAccount(robert.1)) { try target(mapping(), robert) }
        #expect(try target(mapping(unknown: .keep), robert) == GUID(user: 503))
        #expect(try target(mapping(isNumeric: true), robert) == GUID(user: 503))
        #expect(IdentityMapping.Refusal.noAccount(robert.1).message.hasPrefix("no user 'robert' here; --map-user robert=NEW"))
    }

    /// A provisional identity is never stored, whatever is asked for.
    @Test func aNameWithoutAnIdentityIsNeverKept() throws {
        let identities = ExportIdentities()
        let known = try #require(identities.identity(named: "bob", kind: .user))
        let unknown = try #require(identities.identity(named: "zoe", kind: nil))
        for mapping in [try mapping(), try mapping(unknown: .keep), try mapping(isNumeric: true)] {
            #expect(try target(mapping, (known, identities.exportedName(of: known))) == GUID(user: 2002))
            #expect(throws: IdentityMapping.Refusal.noIdentity(ExportedName(nil, "zoe"))) {
                try target(mapping, (unknown, identities.exportedName(of: unknown)))
            }
            #expect(throws: IdentityMapping.Refusal.unnamed(unknown)) { try target(mapping, (unknown, nil)) }
        }
    }

    @Test func aMapComesFirst() throws {
        for word in ["robert=alice", "#503=alice", "503=501", "FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F7=FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5"] {
            #expect(try target(mapping([word]), robert) == GUID(user: 501), "\(word)")
            #expect(try target(mapping([word], isNumeric: true), robert) == GUID(user: 501), "\(word)")
        }
        #expect(try target(mapping(["alice=bob"]), alice) == GUID(user: 2002))
        // What is mapped is not mapped again.
        #expect(try target(mapping(["alice=bob", "bob=alice"]), alice) == GUID(user: 2002))
        #expect(try target(mapping(groups: ["alice=staff"]), alice) == GUID(user: 501))
        #expect(try target(mapping(groups: ["alice=staff"]), (GUID(group: 5), ExportedName(nil, "alice"))) == GUID(group: 20))
    }

    @Test(arguments: ["alice", "=alice", "alice=", "alice=robert", "a=b=c"])
    func aBadMapIsRefused(_ word: String) {
        #expect(throws: CommandFailure.self) { try mapping([word]) }
    }

    @Test func linesOfAFileAreAMap() throws {
        var mapping = IdentityMapping()
        try mapping.add(lines: Array("# users\n\nuser:robert=alice\ngroup:eng=staff\n".utf8), host: Host())
        #expect(try target(mapping, robert) == GUID(user: 501))
        #expect(try target(mapping, (GUID(group: 30), ExportedName(.group, "eng"))) == GUID(group: 20))
        for (text, line) in [
            ("user:a=alice\nrobert=alice", 2), ("user:robert", 1), ("user:a=alice\nuser:a=bob", 2), ("\u{0}\nuser:a=zoe", 1),
        ] {
            var mapping = IdentityMapping()
            do throws(CommandFailure) {
                try mapping.add(lines: Array(text.utf8), host: Host())
                Issue.record("read: \(text)")
            } catch { #expect(error.message.hasPrefix("line \(line): "), "\(text): \(error.message)") }
        }
    }
}
