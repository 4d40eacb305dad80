import ACLFormats
import Authorization
import Testing

@Suite("the text that chmod takes (docs/reference/authorization.md 7.1)")
struct ACLTextParserTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        let text: String
        let code: ACLTextError.Code
        let column: Int
        var line = 1
        var suggestion: String?
        var testDescription: String { text.debugDescription }
    }

    static let refusals: [Refusal] = [
        Refusal(text: "", code: .noName, column: 1),
        Refusal(text: "\n\n", code: .noName, column: 1),
        Refusal(text: " allow read", code: .noName, column: 1),
        Refusal(text: "user: allow read", code: .noName, column: 6),
        Refusal(text: ":allow:read", code: .noName, column: 1),
        Refusal(text: "group::allow:read", code: .noName, column: 7),
        Refusal(text: "mary jones allow read", code: .identity, column: 1),
        Refusal(text: "user:eng allow read", code: .identity, column: 6),
        Refusal(text: "group:bob allow read", code: .identity, column: 7),
        Refusal(text: "user:everyone allow read", code: .identity, column: 6),
        Refusal(text: "bob allow:read", code: .identity, column: 1),
        Refusal(text: "1000 allow read", code: .identity, column: 1, suggestion: "user:1000"),
        Refusal(text: "user:4294967295 allow read", code: .identity, column: 6),
        Refusal(text: "user:#12x allow read", code: .identity, column: 6),
        Refusal(text: "group:FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6 allow read", code: .identity, column: 7),
        Refusal(text: "bob", code: .noKind, column: 4),
        Refusal(text: "bob ", code: .noKind, column: 5),
        Refusal(text: "bob  allow read", code: .noKind, column: 5),
        Refusal(text: "user:bob", code: .noKind, column: 9),
        Refusal(text: "bob alow read", code: .badKind, column: 5, suggestion: "allow"),
        Refusal(text: "bob Allow read", code: .badKind, column: 5, suggestion: "allow"),
        Refusal(text: "bob inherited read", code: .badKind, column: 15),
        Refusal(text: "0 allow read", code: .identity, column: 1),
        Refusal(text: "#0 allow read", code: .identity, column: 1),
        Refusal(text: "0:user:bob allow read", code: .identity, column: 1),
        Refusal(text: "12:user:bob allow read", code: .identity, column: 1),
        Refusal(text: "12:allow:read", code: .identity, column: 1, suggestion: "user:12"),
        Refusal(text: "0: ", code: .noName, column: 4),
        Refusal(text: " 0: mary allow read", code: .identity, column: 5),
        Refusal(text: " 0: user:bob allow ", code: .noWords, column: 20),
        Refusal(text: " 0: user:bob unknown read", code: .badKind, column: 14),
        Refusal(text: " 0: 12 allow read", code: .identity, column: 5, suggestion: "user:12"),
        Refusal(text: " 0: bob allow read, write", code: .badWord, column: 20, suggestion: "write"),
        Refusal(text: " bob allow read", code: .noName, column: 1),
        Refusal(text: "owner allow read", code: .identity, column: 1),
        Refusal(text: "OWNER@ allow read", code: .identity, column: 1, suggestion: "owner@"),
        Refusal(text: "user:owner@ allow read", code: .identity, column: 6),
        Refusal(text: "bob allow modify", code: .badWord, column: 11, suggestion: "modify_set"),
        Refusal(text: "bob allow full_contrl", code: .badWord, column: 11, suggestion: "full_control"),
        Refusal(text: "mary jones:permit:read", code: .badKind, column: 12),
        Refusal(text: "bob allow raed", code: .badWord, column: 11, suggestion: "read"),
        Refusal(text: "bob allow read,wirteattr", code: .badWord, column: 16, suggestion: "writeattr"),
        Refusal(text: "bob allow read, write", code: .badWord, column: 16, suggestion: "write"),
        Refusal(text: "bob allow read ", code: .badWord, column: 11, suggestion: "read"),
        Refusal(text: "bob allow  read", code: .badWord, column: 11, suggestion: "read"),
        Refusal(text: "bob allow READ", code: .badWord, column: 11, suggestion: "read"),
        Refusal(text: "bob allow synchronize", code: .badWord, column: 11),
        Refusal(text: "bob allow 0x2", code: .badWord, column: 11),
        Refusal(text: "user:M\u{FC}ller allow raed", code: .badWord, column: 19, suggestion: "read"),
        Refusal(text: "bob allow", code: .noWords, column: 10),
        Refusal(text: "bob allow ", code: .noWords, column: 11),
        Refusal(text: "bob allow ,,", code: .noWords, column: 13),
        Refusal(
            text: "bob allow read\n\nbob deny file_inheri", code: .badWord, column: 10, line: 3,
            suggestion: "file_inherit"),
        Refusal(text: String(repeating: "bob allow read\n", count: 127), code: .tooMany, column: 1, line: 127),
        Refusal(text: String(repeating: "a", count: 4096), code: .tooLong, column: 4096),
    ]

    @Test("what is wrong is named with its place", arguments: refusals)
    func refusal(_ refusal: Refusal) {
        #expect {
            try ACLTextParser.parse(refusal.text, names: ExampleNames())
        } throws: { error in
            guard let error = error as? ACLTextError else { return false }
            #expect(error.code == refusal.code)
            #expect(error.column == refusal.column)
            #expect(error.line == refusal.line)
            #expect(error.suggestion == refusal.suggestion)
            #expect(!error.message.isEmpty)
            return true
        }
    }

    @Test("the message says where, what, and which word was meant")
    func message() {
        #expect {
            try ACLTextParser.parse("bob allow raed", names: ExampleNames())
        } throws: {
            ($0 as? ACLTextError)?.message
                == "column 11: 'raed' is neither a right nor a flag; did you mean 'read'?"
        }
    }

    @Test(
        "words that are not separated by commas alone, and names of one kind",
        arguments: [
            (
                "bob allow read write",
                "column 11: 'read write' is neither a right nor a flag; expected commas, and no blanks, between words"
            ),
            (
                "bob allow read;write",
                "column 11: 'read;write' is neither a right nor a flag; expected commas, and no blanks, between words"
            ),
            (
                "bob allow read, write",
                "column 16: ' write' is neither a right nor a flag; did you mean 'write'? Write commas, and no blanks, between words"
            ),
            ("group:nosuch allow read", "column 7: no group 'nosuch'; expected a group or a UUID"),
            ("user:nosuch allow read", "column 6: no user 'nosuch'; expected a user or a UUID"),
            ("nosuch allow read", "column 1: no user or group 'nosuch'; expected a user, a group or a UUID"),
        ])
    func separatorsAndKinds(text: String, message: String) {
        #expect { try ACLTextParser.parse(text, names: ExampleNames()) } throws: { ($0 as? ACLTextError)?.message == message }
    }

    @Test("every word sets its bit, on whatever object")
    func words() throws {
        for name in RightName.all {
            for word in [name.fileWord, name.directoryWord].compactMap(\.self) {
                #expect(
                    try ACLTextParser.parse("bob allow \(word)", names: ExampleNames()).map(\.rights) == [name.right])
            }
        }
        for name in ACEFlagName.all {
            let entry = try ACLTextParser.parse("bob deny \(name.word)", names: ExampleNames())
            #expect(entry == [ACE(GUID(user: 502), .deny, [], flags: name.flag)])
        }
    }

    @Test(
        "numbers, UUIDs and everyone are identities (Q15, Q20, Q21)",
        arguments: [
            ("user:1000", GUID(user: 1000)), ("user:#1000", GUID(user: 1000)), ("group:#20", GUID(group: 20)),
            ("group:20", GUID(group: 20)), ("user:7000", GUID(user: 512)), ("user:#7000", GUID(user: 7000)),
            ("everyone", .everyone), ("group:everyone", .everyone), ("group:#12", GUID(group: 12)),
            ("group:man", GUID(group: 12)), ("ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000C", .everyone),
            ("abcdefab-cdef-abcd-efab-cdef00000010", .owningGroup), ("admin", GUID(user: 510)),
            ("group:admin", GUID(group: 80)), ("eng", GUID(group: 30)),
        ])
    func identities(text: String, identity: GUID) throws {
        #expect(try ACLTextParser.parse("\(text) allow read", names: ExampleNames()).map(\.guid) == [identity])
    }

    @Test("what ls prints for an unknown identity can be typed back")
    func unknownIdentity() throws {
        let entry = ACE(GUID(high: 0x1234, low: 0x5678), .deny, [.read, .delete])
        let line = ACLTextPrinter.lines(ACL([entry]), isDirectory: false, names: ExampleNames())[0]
        #expect(line == " 0: 00000000-0000-1234-0000-000000005678 deny read,delete")
        #expect(try ACLTextParser.parse(String(line.dropFirst(4)), names: ExampleNames()) == [entry])
    }

    @Test(
        "a line of ls -le is accepted as it is",
        arguments: [
            (" 0: user:bob allow read", "bob allow read"), ("12: user:bob allow read", "bob allow read"),
            (" 0: group:eng inherited deny read,write", "eng deny read,write,inherited"),
            ("group:eng inherited deny read", "eng deny read,inherited"),
            (" 3: user:mary jones allow read", "mary jones:allow:read"),
            (" 3: user:mary jones inherited allow read", "mary jones:allow:read,inherited"),
            (" 3: mary jones:allow:read", "mary jones:allow:read"), ("0: everyone allow read", "everyone allow read"),
            ("ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000A inherited allow read", "owner@ allow read,inherited"),
        ])
    func lineOfLs(line: String, entry: String) throws {
        #expect(try ACLTextParser.parse(line, names: ExampleNames()) == ACLTextParser.parse(entry, names: ExampleNames()))
    }

    @Test("what ls prints for random lists is read as the bits that it shows", arguments: [false, true])
    func linesOfRandomLists(isDirectory: Bool) throws {
        var random = SeededGenerator(11)
        let identities: [GUID] = [
            GUID(user: 502), GUID(user: 511), GUID(group: 30), GUID(group: 4711), .everyone, .owner, .owningGroup, .nobody,
        ]
        var shown: Rights = []
        for name in RightName.all where isDirectory || name.fileWord != nil { shown.formUnion(name.right) }
        var flags: ACEFlags = .inherited
        for name in ACEFlagName.inheritance where isDirectory || name.shownOnFiles { flags.insert(name.flag) }
        for _ in 0..<500 {
            let entries = (0..<random.next() % 5).map { _ in
                ACE(
                    identities.randomElement(using: &random) ?? .everyone, random.next() % 2 == 0 ? .allow : .deny,
                    Rights(rawValue: UInt32(truncatingIfNeeded: random.next())).intersection(shown).union(.read),
                    flags: ACEFlags(rawValue: UInt32(truncatingIfNeeded: random.next())).intersection(flags))
            }
            if entries.isEmpty { continue }
            let lines = ACLTextPrinter.lines(ACL(entries), isDirectory: isDirectory, names: ExampleNames())
            #expect(try ACLTextParser.parse(lines.joined(separator: "\n"), names: ExampleNames()) == entries)
        }
    }

    @Test("a set stands for its rights, and ls shows the guide's words")
    func sets() throws {
        func shown(_ text: String, isDirectory: Bool) throws -> [String] {
            let entries = try ACLTextParser.parse(text, names: ExampleNames(), isDirectory: isDirectory)
            return ACLTextPrinter.lines(ACL(entries), isDirectory: isDirectory, names: ExampleNames())
        }
        #expect(
            try shown("bob allow full_control", isDirectory: true) == [
                " 0: user:bob allow list,add_file,search,delete,add_subdirectory,delete_child,readattr,writeattr,readextattr,"
                    + "writeextattr,readsecurity,writesecurity,chown"
            ])
        #expect(
            try shown("bob allow modify_set,file_inherit", isDirectory: true) == [
                " 0: user:bob allow list,add_file,search,delete,add_subdirectory,delete_child,readattr,writeattr,readextattr,"
                    + "writeextattr,readsecurity,file_inherit"
            ])
        #expect(try shown("bob deny read_set", isDirectory: false) == [" 0: user:bob deny read,readattr,readextattr,readsecurity"])
        #expect(
            try shown("bob allow write_set,execute", isDirectory: false) == [
                " 0: user:bob allow write,execute,append,writeattr,writeextattr"
            ])
        // Nothing is stored that the lines do not show.
        for isDirectory in [false, true] {
            for set in RightSet.all {
                let entry = try ACLTextParser.parse("bob allow \(set.word)", names: ExampleNames(), isDirectory: isDirectory)
                let lines = try shown("bob allow \(set.word)", isDirectory: isDirectory)
                #expect(try ACLTextParser.parse(lines[0], names: ExampleNames()) == entry)
            }
        }
        #expect(AskedOperation(word: "read_set") == nil)
    }

    @Test(
        "NFSv4's words are the well-known identities",
        arguments: [
            ("owner@", GUID.owner), ("group@", .owningGroup), ("everyone@", .everyone),
        ])
    func nfsWords(word: String, identity: GUID) throws {
        #expect(try ACLTextParser.parse("\(word) allow read", names: ExampleNames()).map(\.guid) == [identity])
        #expect(try ACLAttributeText.parse(Array("\(word) allow read".utf8), names: ExampleNames()).entries.map(\.guid) == [identity])
        for prefix in ["user:", "group:"] {
            #expect(throws: ACLTextError.self) { try ACLTextParser.parse("\(prefix)\(word) allow read", names: ExampleNames()) }
        }
    }

    /// docs/reference/authorization.md 7.3: the attribute takes all of 7.1, and means the same by it.
    @Test(
        "what chmod takes, the attribute takes",
        arguments: [
            "bob allow read", "user:bob:deny:write,append", "owner@ allow full_control", "group@:allow:modify_set,file_inherit",
            "everyone@ deny write_set,read", " 0: user:bob inherited allow read_set", "12: group:eng deny delete,only_inherit",
            "mary jones:allow:read", " 3: user:mary jones allow list,search", "group:#20 allow read,inherited",
        ])
    func attributeTakesWhatChmodTakes(line: String) throws {
        for isDirectory in [false, true] {
            let typed = try ACLTextParser.parse(line, names: ExampleNames(), isDirectory: isDirectory)
            let stored = try ACLAttributeText.parse(Array(line.utf8), names: ExampleNames(), isDirectory: isDirectory)
            #expect(stored == ACL(typed))
            let written = ACLAttributeText.write(stored, isDirectory: isDirectory, names: ExampleNames())
            #expect(try ACLAttributeText.parse(written, names: ExampleNames(), isDirectory: isDirectory) == stored)
        }
    }

    @Test("random bytes are refused or read, and never trap")
    func randomBytes() {
        var random = SeededGenerator(7)
        let pieces = [
            "bob", "user:", "group:", " ", ":", ",", "allow", "deny", "read", "\n", "0x1", "\u{FF}", "#", "!#acl 1", "0: ",
            " inherited ", "read_set", "owner@",
        ]
        for _ in 0..<20_000 {
            let text = (0..<random.next() % 9).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            _ = try? ACLTextParser.parse(text, names: ExampleNames())
            _ = try? ACLAttributeText.parse(Array(text.utf8), names: ExampleNames())
        }
    }
}

@Suite("lists as ls -le shows them (docs/reference/authorization.md 7.2)")
struct ACLTextPrinterTests {
    @Test("the words follow the kind of object, and hidden bits stay hidden")
    func words() {
        let all = ACE(
            guid: GUID(user: 502), flagsWord: 1 | 0x1F0, rights: Rights(rawValue: Rights.all.rawValue | 0x8020_0000))
        #expect(
            ACLTextPrinter.lines(ACL([all]), isDirectory: false, names: ExampleNames()) == [
                " 0: user:bob inherited allow read,write,execute,delete,append,readattr,writeattr,readextattr,"
                    + "writeextattr,readsecurity,writesecurity,chown,limit_inherit"
            ])
        #expect(
            ACLTextPrinter.lines(ACL([all]), isDirectory: true, names: ExampleNames(), numeric: true) == [
                " 0: FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6 inherited allow list,add_file,search,delete,"
                    + "add_subdirectory,delete_child,readattr,writeattr,readextattr,writeextattr,readsecurity,"
                    + "writesecurity,chown,file_inherit,directory_inherit,limit_inherit,only_inherit"
            ])
    }

    @Test("reserved kinds, well-known identities and hostile names")
    func unusual() {
        let acl = ACL([
            ACE(guid: .everyone, flagsWord: 3, rights: .read), ACE(.owner, .allow, []),
            ACE(GUID(user: 513), .allow, .read), ACE(GUID(group: 999), .deny, .read),
        ])
        #expect(
            ACLTextPrinter.lines(acl, isDirectory: false, names: ExampleNames()) == [
                " 0: group:everyone unknown read", " 1: ABCDEFAB-CDEF-ABCD-EFAB-CDEF0000000A allow ",
                " 2: user:\\xe2\\x80\\xaeevil allow read", " 3: ABCDEFAB-CDEF-ABCD-EFAB-CDEF000003E7 deny read",
            ])
    }
}
