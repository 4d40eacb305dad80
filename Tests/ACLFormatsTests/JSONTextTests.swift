import ACLFormats
import Glibc
import Testing

@Suite struct JSONTextTests {
    @Test func readsAndWritesWhatMessagesUse() throws {
        let text = #"{"v":1,"a":[true,false,null,-7,9223372036854775807],"s":"a\"b\\ü","o":{}}"#
        let value = try JSONText.parse(Array(text.utf8))
        #expect(value["v"]?.integer == 1)
        #expect(value["s"]?.string == "a\"b\\ü")
        #expect(String(decoding: JSONText.write(value), as: UTF8.self) == text)
    }

    @Test func readsEscapes() throws {
        let value = try JSONText.parse(Array(#""\u00fc\ud83d\ude00\n\/""#.utf8))
        #expect(value.string == "ü😀\n/")
        #expect(JSONText.write(.string("\u{1}\u{7f}")) == Array(#""\u0001\u007f""#.utf8))
        // What would act on a terminal or turn a line around; whoever reads it finds the same text again.
        let marks = "\u{9b}31m\u{2028}\u{202e}\u{feff}é\u{1f600}"
        #expect(JSONText.write(.string(marks)) == Array("\"\\u009b31m\\u2028\\u202e\\ufeffé\u{1f600}\"".utf8))
        #expect(try JSONText.parse(JSONText.write(.string(marks))) == .string(marks))
    }

    @Test(arguments: [
        "", "{", "[1,]", "{\"a\":1,}", "01", "-", "1.0", "1e3", "9223372036854775808", "\"\\ud800\"", "\"\\x\"", "tru",
        "nullx", "1 2", "{\"a\":1,\"a\":2}", "{a:1}", "\"a", "\"\n\"", "[1 2]",
        String(repeating: "[", count: 40) + String(repeating: "]", count: 40),
    ])
    func refuses(_ text: String) {
        #expect(throws: JSONError.self) { try JSONText.parse(Array(text.utf8)) }
    }

    @Test func refusesWhatIsTooLong() {
        let text = Array("\"".utf8) + [UInt8](repeating: 0x61, count: 70_000) + Array("\"".utf8)
        #expect(throws: JSONError.self) { try JSONText.parse(text) }
    }

    /// Anybody may send such a message, again and again; comparing each name with all others took seconds.
    @Test func manyMembersTakeNoTime() throws {
        let members = (0..<6_000).map { "\"k\($0)\":1" }.joined(separator: ",")
        let text = Array("{\(members)}".utf8)
        let value: JSON
        // Of the processor's time: the machine may have other work.
        var (start, end) = (timespec(), timespec())
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start)
        value = try JSONText.parse(text)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
        #expect(value["k5999"]?.integer == 1)
        #expect(end.tv_sec - start.tv_sec < 2)
        let twice = Array("{\(members),\"k17\":1}".utf8)
        #expect(throws: JSONError.self) { try JSONText.parse(twice) }
    }

    @Test func refusesInvalidUTF8() {
        #expect(throws: JSONError.self) { try JSONText.parse([0x22, 0xFF, 0x22]) }
    }

    @Test(arguments: [[], [0x61], [0x61, 0x62], [0xFF, 0, 1], Array("a/ü".utf8), [0x0A], Array(0...255)] as [[UInt8]])
    func pathsAreBytes(_ bytes: [UInt8]) throws {
        let value = try JSONText.parse(JSONText.write(.object([JSON.path(bytes)])))
        #expect(value.path() == (bytes.contains(0) ? nil : bytes))
    }

    @Test func aPathHasOneSpelling() {
        #expect(JSON.object([.init("path", .string("a")), .init("path_b64", .string("YQ=="))]).path() == nil)
        for wrong in ["YQ", "YQ=", "YR==", "Y===", "Y Q="] {
            #expect(JSON.object([.init("path_b64", .string(wrong))]).path() == nil, "\(wrong)")
        }
    }

    @Test func explanationsAsText() {
        var explanation = Explanation()
        explanation.steps = [
            .init(place: .init(depth: 0), words: ["search"], isAllowed: true, stage: "posix:other:object"),
            .init(
                place: .init(isSecondPath: true, depth: 2), words: ["read"], isAllowed: false, stage: "acl:object[0]",
                entry: "user:bob deny read"),
        ]
        explanation.considered = [
            .init(place: .init(depth: 1), index: 0, entry: "user:bob deny read", effect: "denies read")
        ]
        explanation.notes = ["a note"]
        explanation.denial = "EACCES"
        let lines = explanation.text { Array(($0.depth == 0 ? "/m" : "/m/file").utf8) }
        #expect(
            lines == [
                "/m       search  allowed  posix:other:object", "/m/file  read    denied   acl:object[0]       user:bob deny read",
                "note: a note", "denied: EACCES",
            ])
    }
}
