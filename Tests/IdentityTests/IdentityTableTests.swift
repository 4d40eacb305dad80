import ACLFormats
import Authorization
import Identity
import TestSupport
import Testing

/// docs/reference/identity.md "Identities from elsewhere": the text of the file, and what it makes of callers and names.
@Suite struct IdentityTableTests {
    private let bob = GUID(high: 0x6F0A_11D2_33C4_45E6, low: 0x8708_990A_BBCC_DDEE)
    private let team = GUID(high: 0x6F0A_11D2_33C4_45E6, low: 0x8708_990A_BBCC_DDEF)
    private static let first = "6F0A11D2-33C4-45E6-8708-990ABBCCDDEE"
    private static let second = "6F0A11D2-33C4-45E6-8708-990ABBCCDDEF"
    private static let form = "a line is UUID user:NUMBER or UUID group:NUMBER"

    private func table(_ text: String) throws(IdentityTable.Problem) -> IdentityTable { try IdentityTable(Array(text.utf8)) }

    @Test func linesBlanksAndComments() throws {
        let text = """
            # from the Mac in the studio
            \(Self.first)\tuser:502   # bob

              \(Self.second.lowercased())  group:600
            #\(Self.first) user:1
            """
        for text in [text, text + "\n", text + "\n\n"] {
            let table = try table(text)
            #expect(table.count == 2)
            #expect(table.principal(of: bob) == .user(502) && table.principal(of: team) == .group(600))
            #expect(table.principal(of: GUID(user: 502)) == nil)
        }
        #expect(try table("").count == 0)
        // A user and a group may have the same number, and one of the numbers with a namespace of their own.
        let both = try table("\(Self.first) user:12\n\(Self.second) group:12")
        #expect(both.principal(of: team) == .group(12))
    }

    @Test(arguments: [
        ("bob user:502", 1, "'bob' is no UUID; \(Self.form)"),
        ("\n\(Self.first)", 2, Self.form), ("\(Self.first) user:502 bob", 1, Self.form),
        ("\(Self.first) user:bob", 1, "'user:bob' is neither user:NUMBER nor group:NUMBER; \(Self.form)"),
        ("\(Self.first) 502", 1, "'502' is neither user:NUMBER nor group:NUMBER; \(Self.form)"),
        ("\(Self.first) user:", 1, "'user:' is neither user:NUMBER nor group:NUMBER; \(Self.form)"),
        ("\(Self.first) user:-1", 1, "'user:-1' is neither user:NUMBER nor group:NUMBER; \(Self.form)"),
        ("\(Self.first) user:4294967295", 1, "'user:4294967295' is neither user:NUMBER nor group:NUMBER; \(Self.form)"),
        ("\(Self.first) user:4294967195", 1, "'user:4294967195' is neither user:NUMBER nor group:NUMBER; \(Self.form)"),
        ("\(Self.first) user:1\u{1B}[2J", 1, "'user:1\\x1b[2J' is neither user:NUMBER nor group:NUMBER; \(Self.form)"),
        (
            "\(Self.first) user:502\n\n\(Self.first) user:503", 3,
            "\(Self.first) stands in line 1 already; remove one of the two"
        ),
        ("\(Self.first) user:502\n\(Self.second) user:502", 2, "user 502 has another UUID in line 1 already; remove one of the two"),
        ("\(Self.first) group:502\n\(Self.second) group:502", 2, "group 502 has another UUID in line 1 already; remove one of the two"),
        (
            "FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5 user:502", 1,
            "FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5 stands for user 501 everywhere; remove the line"
        ),
        (
            "ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000C group:20", 1,
            "ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000C stands for everyone everywhere; remove the line"
        ),
        (
            "ACF5ACF5-ACF5-4CF5-8CF5-ACF50000000C group:20", 1,
            "ACF5ACF5-ACF5-4CF5-8CF5-ACF50000000C stands for group 12 everywhere; remove the line"
        ),
    ])
    func aWrongLineIsNamed(_ text: String, _ line: Int, _ message: String) throws {
        do throws(IdentityTable.Problem) {
            _ = try table(text)
            Issue.record("accepted: \(text)")
        } catch { #expect(error.line == line && error.message == message, "\(error)") }
    }

    /// Any bytes are a table or a problem with a line that there is, and a table never has an identity whose meaning is fixed.
    @Test(arguments: [1, 2, 3]) func anyBytes(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let pieces: [String] = [Self.first, Self.second, " ", "\n", "#", "user:", "group:", "502", "\t", "\0", "é", "-", "user:7 x"]
        for _ in 0..<5_000 {
            var text: [UInt8] = []
            for _ in 0..<random.below(12) { text += Array(random.pick(pieces).utf8) }
            if random.chance(30), !text.isEmpty { text[random.below(text.count)] = UInt8(truncatingIfNeeded: random.next()) }
            do throws(IdentityTable.Problem) {
                let table = try IdentityTable(text)
                #expect(table.principal(of: .everyone) == nil && table.principal(of: GUID(user: 502)) == nil)
            } catch {
                let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false).count
                #expect((1...lines).contains(error.line) && error.message.allSatisfy { !$0.isNewline })
            }
        }
    }

    @Test func aCallerIsWhatTheTableSays() throws {
        let map = IdentityMap(try table("\(Self.first) user:502\n\(Self.second) group:600"))
        var known = DirectoryCredential(uid: 502, gid: 20, groups: [20, 600])
        #expect(known.membership(of: bob) == .notMember)
        known.identities = map
        #expect(known.membership(of: bob) == .member && known.membership(of: team) == .member)
        var stranger = DirectoryCredential(uid: 503, gid: 20, groups: nil)
        stranger.identities = map
        #expect(stranger.membership(of: bob) == .notMember)
        // Of a group that nobody can tell about: no help, and no excuse.
        #expect(stranger.membership(of: team) == .unknown)
        var request = RequestCredential(uid: 502, gid: 600, tid: 0, cache: GroupCache(identities: map))
        #expect(request.membership(of: bob) == .member && request.membership(of: team) == .member)
        map.replace(by: IdentityTable())
        #expect(request.membership(of: bob) == .notMember && known.membership(of: team) == .notMember)
        // The id -1 is no user's.
        var none = RequestCredential(uid: .max, gid: .max, tid: 0, cache: GroupCache(identities: map))
        #expect(none.membership(of: bob) == .notMember)
    }

    @Test func squashedRootHasNoGroups() {
        var root = RequestCredential(uid: 65534, gid: 65534, tid: 1, cache: GroupCache(), isSquashed: true)
        #expect(root.membership(inGroup: 0) == .notMember && root.membership(inGroup: 65534) == .member)
    }

    /// A name leads to its number's identity on every mount, so that a text means the same with and without the file.
    @Test func namesKeepTheirIdentity() throws {
        let map = IdentityMap(try table("\(Self.first) user:0\n\(Self.second) group:0"))
        let names = AccountIdentityNames(SystemAccounts(), map)
        #expect(names.name(of: bob)?.name == "root" && names.name(of: bob)?.kind == .user)
        #expect(names.name(of: team)?.kind == .group)
        #expect(names.identity(named: "root", kind: .user) == GUID(user: 0))
        #expect(names.name(of: GUID(user: 0))?.name == "root")
    }
}
