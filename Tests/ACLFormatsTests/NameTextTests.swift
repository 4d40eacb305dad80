import ACLFormats
import Authorization
import Testing

@Suite("names and UUIDs as text")
struct NameTextTests {
    @Test(
        "what could act on a terminal is shown as \\x..",
        arguments: [
            ([UInt8]("plain name.txt".utf8), "plain name.txt"),
            (Array("M\u{FC}ller \u{1F600}".utf8), "M\u{FC}ller \u{1F600}"),
            ([0x61, 0x0A, 0x1B, 0x5B, 0x7F], "a\\x0a\\x1b[\\x7f"), (Array("a\u{202E}b".utf8), "a\\xe2\\x80\\xaeb"),
            (Array("\u{2066}\u{061C}\u{85}".utf8), "\\xe2\\x81\\xa6\\xd8\\x9c\\xc2\\x85"), ([0xFF, 0x41], "\\xffA"),
            ([0xC0, 0xAF], "\\xc0\\xaf"), ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"), ([0xE2, 0x82], "\\xe2\\x82"),
            ([0xF4, 0x90, 0x80, 0x80], "\\xf4\\x90\\x80\\x80"), (Array("a\\b".utf8), "a\\b"),
            (Array("a\\x41".utf8), "a\\x5cx41"),
            ([], ""),
        ] as [([UInt8], String)])
    func escape(bytes: [UInt8], shown: String) {
        #expect(escapedName(bytes) == shown)
        #expect(isShownUnescaped(bytes) == (shown.utf8.elementsEqual(bytes)))
    }

    @Test("two names are never shown alike")
    func unambiguous() {
        var seen: [String: [UInt8]] = [:]
        var random = SeededGenerator(3)
        let pieces: [[UInt8]] = [[0x5C], [0x78], [0x35], [0x63], [0x1B], [0xFF], [0xC3, 0xBC], [0x61]]
        for _ in 0..<50_000 {
            let name = (0..<random.next() % 7).flatMap { _ in pieces.randomElement(using: &random) ?? [] }
            let shown = escapedName(name)
            #expect(seen[shown] == nil || seen[shown] == name)
            seen[shown] = name
        }
    }

    @Test("UUID text, both ways")
    func uuids() {
        #expect(GUID(user: 502).uuidText == "FFFFEEEE-DDDD-CCCC-BBBB-AAAA000001F6")
        #expect(GUID(high: 0, low: 1).uuidText == "00000000-0000-0000-0000-000000000001")
        #expect(
            GUID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210).uuidText
                == "01234567-89AB-CDEF-FEDC-BA9876543210")
        var random = SeededGenerator(5)
        for _ in 0..<2_000 {
            let guid = random.guid()
            #expect(GUID(uuidText: guid.uuidText) == guid)
            #expect(GUID(uuidText: guid.uuidText.lowercased()) == guid)
        }
        for text in [
            "", "0123456789ABCDEFFEDCBA9876543210", "01234567-89AB-CDEF-FEDC-BA987654321",
            "01234567-89AB-CDEF-FEDC-BA9876543210 ",
            "01234567-89AB-CDEF-FEDC+BA9876543210", "g1234567-89AB-CDEF-FEDC-BA9876543210",
            "+1234567-89AB-CDEF-FEDC-BA9876543210",
        ] {
            #expect(GUID(uuidText: text) == nil)
        }
    }

    @Test(
        "the nearest word",
        arguments: [
            ("raed", "read"), ("exec", "execute"), ("lst", "list"), ("readattributes", "readattr"), ("serch", "search"),
            ("xyzzy", nil),
        ] as [(String, String?)])
    func nearest(typed: String, word: String?) {
        #expect(nearestWord(to: Array(typed.utf8), in: RightName.words) == word)
    }
}
