import ACLFormats
import Authorization
import Glibc
import Testing

/// The forms of `aclfs acl export` (docs/guide/export.md).
@Suite struct ExportTests {
    private static let isLong = getenv("ACLFS_TEST_LONG").map { String(cString: $0) == "1" } ?? false

    private static func parse(_ text: [UInt8]) throws(ExportProblem) -> (
        items: [ExportItem], header: ExportHeader?, identities: ExportIdentities
    ) {
        let identities = ExportIdentities()
        var parser = ExportParser(identities)
        var items: [ExportItem] = []
        var lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        for line in lines {
            if let item = try parser.read(line) { items.append(item) }
        }
        try parser.finish()
        return (items, parser.header, identities)
    }

    private static func parse(_ text: String) throws(ExportProblem) -> [ExportItem] { try parse(Array(text.utf8)).items }

    private static func write(_ items: [ExportItem], _ form: ExportForm, _ header: ExportHeader) -> [UInt8] {
        var writer = ExportWriter(form, names: ExampleNames())
        var text = writer.header(header)
        for item in items { text += writer.item(item) }
        return text + writer.end()
    }

    private static let example: [ExportItem] = [
        .object(
            ExportedObject(
                path: ExportPath.top, kind: .directory, owner: GUID(user: 501), group: GUID(group: 20), mode: FileMode(rawValue: 0o2755),
                flags: [], isExcluded: false, list: ExportedList.none)),
        .object(
            ExportedObject(
                path: Array(" a\nb".utf8), kind: .file, owner: GUID(group: 30), group: GUID(group: 7777), mode: FileMode(rawValue: 0o644),
                flags: [.userImmutable, .hidden], isExcluded: true,
                list: .entries(
                    ACL([
                        ACE(GUID(user: 502), .deny, .write), ACE(GUID(user: 511), .allow, [.read, .synchronize], flags: .inherited),
                    ])))),
        .unread(Array("secret".utf8), "Permission denied"),
        .object(ExportedObject(path: Array("x".utf8), kind: .symlink, list: .entries(ACL([], listFlags: ACL.noInherit)))),
    ]

    @Test func theTextFormIsAsDocumented() throws {
        let text = String(
            decoding: Self.write(Self.example, .text, ExportHeader(source: Array("/mnt/share".utf8), isOrdered: true)), as: UTF8.self)
        #expect(
            text == """
                # aclfs: export 1
                # source: /mnt/share
                # order: bytes

                # name: user:alice FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5
                # name: group:staff ABCDEFAB-CDEF-ABCD-EFAB-CDEF00000014

                # file: .
                # kind: directory
                # owner: alice
                # group: staff
                # mode: 2755
                # flags: -
                # backup: included
                # acl: none

                # name: group:eng ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000001E
                # name: user:bob FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6
                # name: user:mary jones FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001FF

                # file: \\x20a\\x0ab
                # kind: file
                # owner: group:eng
                # group: #7777
                # mode: 0644
                # flags: uchg,hidden
                # backup: excluded
                user:bob deny write
                user:#511 inherited allow read,synchronize

                # unread: secret
                # reason: Permission denied

                # file: x
                # kind: symlink
                # acl: empty
                !#acl 1 no_inherit

                # end: 4

                """)
        #expect(try Self.parse(text) == Self.example)
    }

    @Test func linesOfJSONAreAsDocumented() throws {
        let text = String(
            decoding: Self.write(Self.example, .json, ExportHeader(source: Array("/mnt".utf8), isOrdered: true)), as: UTF8.self)
        let lines = text.split(separator: "\n")
        #expect(lines.first == #"{"aclfs":"export","version":1,"source":"/mnt","order":"bytes"}"#)
        #expect(lines.contains(#"{"name":"user:mary jones","uuid":"FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001FF"}"#))
        #expect(
            lines.map(String.init).contains(
                ##"{"path_b64":"IGEKYg==","kind":"file","owner":"group:eng","group":"#7777","mode":"0644","flags":"uchg,hidden","##
                    + ##""backup":"excluded","acl":["user:bob deny write","user:#511 inherited allow read,synchronize"]}"##
            ))
        #expect(lines.contains(#"{"unread":"secret","reason":"Permission denied"}"#) && lines.last == #"{"end":4}"#)
        #expect(try Self.parse(text) == Self.example)
    }

    // MARK: Properties

    private static let pieces: [[UInt8]] = [[0x20], [0x5C], [0x78], [0x32], [0x30], [0x0A], [0xFF], [0xC3, 0xBC], [0x61], [0x23], [0x3A]]
    private static let identities: [GUID] = {
        let users: [GUID] = ExampleNames.users.map { GUID(user: $0.1) }
        let groups: [GUID] = ExampleNames.groups.map { GUID(group: $0.1) }
        return users + groups + [.everyone, GUID(user: 4000), GUID(high: 1, low: 2)]
    }()

    private static func name(_ random: inout SeededGenerator) -> [UInt8] {
        var name: [UInt8] = [0x62]
        for _ in 0..<random.next() % 4 { name += pieces.randomElement(using: &random) ?? [] }
        return name
    }

    private static func paths(_ random: inout SeededGenerator) -> [[UInt8]] {
        var paths: Set<[UInt8]> = []
        for _ in 0..<random.next() % 6 {
            var path = name(&random)
            paths.insert([0x20] + path + [0x20])
            for _ in 0..<random.next() % 3 { path += [0x2F] + name(&random) }
            paths.insert(path)
        }
        return paths.sorted { ExportPath.precedes($0, $1) }
    }

    private static func object(_ path: [UInt8], _ random: inout SeededGenerator) -> ExportItem {
        func isStated() -> Bool { random.next() % 4 != 0 }
        func word() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }
        if random.next() % 8 == 0 { return .unread(path, "Permission denied") }
        var object = ExportedObject(path: path, kind: ObjectKind.allCases.randomElement(using: &random) ?? .file)
        if isStated() { object.owner = GUID(user: ExampleNames.users.randomElement(using: &random)?.1 ?? 0) }
        if isStated() { object.group = GUID(group: ExampleNames.groups.randomElement(using: &random)?.1 ?? 0) }
        if isStated() { object.mode = FileMode(rawValue: UInt16(random.next() % 0o10000)) }
        if isStated() { object.flags = FileFlags(rawValue: word()).subtracting(.noDump) }
        if isStated() { object.isExcluded = random.next() % 2 == 0 }
        guard isStated() else { return .object(object) }
        var acl = ACL([], listFlags: word() % 3)
        for _ in 0..<random.next() % 4 {
            let identity: GUID = identities.randomElement(using: &random) ?? .everyone
            acl.entries.append(ACE(guid: identity, flagsWord: word(), rights: Rights(rawValue: word())))
        }
        object.list = acl.entries.isEmpty ? ExportedList.none : .entries(acl)
        return .object(object)
    }

    /// Whatever the objects are, they are read back; and no part of the file is read as a whole one.
    @Test(arguments: ExportForm.allCases) func everyObjectIsReadBack(_ form: ExportForm) throws {
        for seed: UInt64 in 0..<(Self.isLong ? 100 : 30) {
            var random = SeededGenerator(seed)
            let items = Self.paths(&random).map { Self.object($0, &random) }
            let text = Self.write(items, form, ExportHeader(source: [0x2F, 0xFF], isOrdered: true))
            let (read, header, _) = try Self.parse(text)
            #expect(read == items, "seed \(seed): \(String(decoding: text, as: UTF8.self))")
            #expect(header == ExportHeader(source: [0x2F, 0xFF], isOrdered: true))
            for _ in 0..<20 {
                // Without its last line feed it is whole.
                let cut = Array(text.prefix(Int(random.next() % UInt64(text.count - 1))))
                #expect(throws: ExportProblem.self, "seed \(seed): cut at \(cut.count)") { try Self.parse(cut) }
            }
        }
    }

    /// The order is that of a walk that sorts the names of each directory.
    @Test func theOrderIsThatOfNames() {
        let ordered = [".", "a", "a/b", "a/b/c", "a/c", "a b", "a.b", "a.b/c", "ab"].map { Array($0.utf8) }
        for (index, path) in ordered.enumerated() {
            for (otherIndex, other) in ordered.enumerated() {
                #expect(ExportPath.precedes(path, other) == (index < otherIndex), "\(path) \(other)")
            }
        }
        #expect(ExportPath.isBelow(Array("a/b".utf8), Array("a".utf8)) && !ExportPath.isBelow(Array("ab".utf8), Array("a".utf8)))
        #expect(ExportPath.isBelow(Array("a".utf8), ExportPath.top) && !ExportPath.isBelow(ExportPath.top, ExportPath.top))
    }

    // MARK: Bad files

    private static let head = "# aclfs: export 1\n"

    /// Each with the line and a word of the reason.
    @Test(
        arguments: [
            ("", 1, "truncated"), ("x\n", 1, "not an aclfs export"),
            ("# aclfs: export 2\n", 1, "version 2"), ("# aclfs: exports 1\n", 1, "not 'export 1'"),
            (head, 2, "truncated"), (head + "# file: a\n# kind: file\n", 4, "truncated"), (head + "# end: 1\n", 2, "and there are 0"),
            (head + "# file: a\n# kind: file\n# end: 2\n", 4, "and there are 1"), (head + "# end: 0\n# file: a\n", 3, "after the end"),
            (head + "# file: a\n# onwer: b\n", 3, "did you mean 'owner'"), (head + "# file: a\n\n", 2, "'# kind:' is missing"),
            (head + "# file: a\n# kind: pipe\n\n", 3, "not a kind"), (head + "# file: ../a\n# kind: file\n\n", 2, "must be relative"),
            (head + "# file: /a\n# kind: file\n\n", 2, "must be relative"),
            (head + "# file: a//b\n# kind: file\n\n", 2, "must be relative"),
            (head + "# file: a/./b\n# kind: file\n\n", 2, "must be relative"), (head + "# file: \n# kind: file\n\n", 2, "must be relative"),
            (head + "# file: a\\x00b\n# kind: file\n\n", 2, "zero"),
            (head + "# file: a\\x2f..\\x2fb\n# kind: file\n\n", 2, "must be relative"),
            (head + "# file: a\n# kind: file\n# kind: file\n", 4, "twice"), (head + "# mode: 0644\n", 2, "no object"),
            (head + "user:bob allow read\n", 2, "no object"), (head + "# file: a\n# kind: file\n# mode: 0888\n\n", 4, "not a mode"),
            (head + "# file: a\n# kind: file\n# mode: 10644\n\n", 4, "not a mode"),
            (head + "# file: a\n# kind: file\n# flags: uchgg\n\n", 4, "uchg"),
            (head + "# file: a\n# kind: file\n# backup: included\n# flags: nodump\n\n", 5, "nodump"),
            (head + "# file: a\n# kind: file\n# backup: yes\n\n", 4, "neither"),
            (head + "# file: a\n# kind: file\n# owner: \n\n", 4, "not a user"),
            (head + "# file: a\n# kind: file\n# owner: group:everyone\n\n", 4, "cannot be an owner"),
            (head + "# file: a\n# kind: file\n# group: user:#5\n\n", 4, "cannot be a group"),
            (head + "# file: a\n# kind: file\nuser:bob allow read\nuser:bob allow raed\n\n", 5, "did you mean 'read'"),
            (head + "# file: a\n# kind: file\n# acl: none\nuser:bob allow read\n\n", 5, "no list"),
            (head + "# file: a\n# kind: file\n# acl: empty\nuser:bob allow read\n\n", 4, "has entries"),
            (head + "# file: a\n# kind: file\n# acl: some\n\n", 4, "neither"),
            (head + "# name: user:bob FFFF\n", 2, "UUID"), (head + "# name: bob FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5\n", 2, "neither"),
            (head + "# name: group:everyone FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5\n", 2, "everywhere"),
            (
                head + "# name: user:b FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F5\n# name: user:b FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6\n", 3,
                "before"
            ),
            (head + "# order: size\n", 2, "order"),
            (head + "# order: bytes\n# file: b\n# kind: file\n\n# file: a\n# kind: file\n\n", 6, "order"),
            (head + "# order: bytes\n# file: b\n# kind: file\n\n# file: b\n# kind: file\n\n", 6, "twice"),
            (head + "# file: a\n# kind: file\n\n# order: bytes\n", 5, "before all"), (head + "#file: a\n", 2, "form"),
            (head + "# unread: a\n\n", 2, "reason"), (head + "# unread: a\n# kind: file\n", 3, "belong"),
            ("{\"aclfs\":\"export\"}\n", 1, "export 1"), ("{\"end\":0}\n", 1, "missing"),
            ("{\"aclfs\":\"export\",\"version\":1}\n{}\n", 2, "neither an object"),
            ("{\"aclfs\":\"export\",\"version\":1}\n{\"path\":\"a\",\"kind\":\"file\",\"onwer\":\"b\"}\n", 2, "did you mean 'owner'"),
            ("{\"aclfs\":\"export\",\"version\":1}\n{\"path\":\"a\",\"kind\":\"file\",\"acl\":\"b\"}\n", 2, "array"),
            (
                "{\"aclfs\":\"export\",\"version\":1}\n{\"path\":\"a\",\"kind\":\"file\",\"acl\":[\"user:b allow read\\n\"]}\n", 2,
                "not an entry"
            ),
            ("{\"aclfs\":\"export\",\"version\":1}\n{\"path\":\"a\",\"kind\":\"file\",\"acl\":[\"user:b allow raed\"]}\n", 2, "entry 0"),
            ("{\"aclfs\":\"export\",\"version\":1}\n{\"path\":\"../a\",\"kind\":\"file\"}\n", 2, "relative"),
            ("{\"aclfs\":\"export\",\"version\":1}\n{\"path\":\"a\",\"path_b64\":\"YQ==\",\"kind\":\"file\"}\n", 2, "not a path"),
            ("{\"aclfs\":\"export\",\"version\":1}\n[]\n", 2, "not a JSON object"),
            ("{\"aclfs\":\"export\",\"version\":1}\n{\n", 2, "byte"),
        ] as [(String, Int, String)])
    func aBadFileIsNamedByItsLine(_ text: String, _ line: Int, _ word: String) {
        do throws(ExportProblem) {
            _ = try Self.parse(text)
            Issue.record("read: \(text)")
        } catch { #expect(error.line == line && error.reason.contains(word), "\(text): \(error.message)") }
    }

    @Test func limitsAreKept() {
        let long = String(repeating: "a", count: ExportPath.longest + 1)
        #expect(throws: ExportProblem.self) { try Self.parse(Self.head + "# file: \(long)\n# kind: file\n# end: 1\n") }
        let entries = String(repeating: "user:#1 allow read\n", count: ACL.maximumEntryCount + 1)
        #expect(throws: ExportProblem.self) { try Self.parse(Self.head + "# file: a\n# kind: file\n\(entries)# end: 1\n") }
        var parser = ExportParser(ExportIdentities())
        #expect(throws: ExportProblem.self) {
            try parser.read([UInt8](repeating: UInt8(ascii: "{"), count: ExportParser.longestLine + 1)[...])
        }
    }

    // MARK: Names

    /// No name is looked up here: what is not stated has a provisional identity, the same at each place.
    @Test func namesWithoutAnIdentityAreProvisional() throws {
        let text = """
            \(Self.head)# name: user:alice 00000000-0000-0001-0000-000000000002
            # file: a
            # kind: file
            # owner: alice
            # group: eng
            user:alice allow read
            group:eng deny write
            eng deny write
            lab deny write
            user:7000 deny write
            # end: 1

            """
        let (items, _, identities) = try Self.parse(Array(text.utf8))
        guard case .object(let object)? = items.first, case .entries(let acl)? = object.list else {
            Issue.record("\(items)")
            return
        }
        #expect(object.owner == GUID(high: 1, low: 2) && acl.entries[0].guid == object.owner)
        let group = try #require(object.group)
        #expect(ExportIdentities.isProvisional(group) && acl.entries[1].guid == group)
        #expect(identities.exportedName(of: group) == ExportedName(.group, "eng"))
        #expect(acl.entries[2].guid == group)
        // It may be a user or a group.
        #expect(identities.exportedName(of: acl.entries[3].guid) == ExportedName(nil, "lab"))
        #expect(acl.entries[4].guid == GUID(user: 7000))
    }

    @Test func escapesAreReadBack() {
        for seed: UInt64 in 0..<3000 {
            var random = SeededGenerator(seed)
            let pieces: [[UInt8]] = [[0x5C], [0x78], [0x35], [0x63], [0x1B], [0xFF], [0xC3, 0xBC], [0x20]]
            var name: [UInt8] = []
            for _ in 0..<random.next() % 8 { name += pieces.randomElement(using: &random) ?? [] }
            #expect(unescapedName(escapedName(name).utf8) == name)
        }
    }
}
