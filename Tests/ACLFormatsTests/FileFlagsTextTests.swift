import ACLFormats
import Authorization
import Testing

@Suite("flag words (docs/reference/authorization.md 6.6)")
struct FileFlagsTextTests {
    func change(_ text: String) throws -> FileFlagsChange { try FileFlagsText.parseChange(Array(text.utf8)) }

    @Test("every word sets, its opposite clears")
    func words() throws {
        for name in FileFlagName.all {
            for word in name.words {
                let opposite = word == "nodump" ? "dump" : "no" + word
                #expect(try change(word) == FileFlagsChange(set: name.flag))
                #expect(try change(opposite) == FileFlagsChange(cleared: name.flag))
            }
        }
    }

    @Test("a number is the whole new value, in octal")
    func octal() throws {
        #expect(try change("2").applied(to: [.hidden]) == .userImmutable)
        #expect(try change("0").applied(to: [.hidden]) == [])
        #expect(try change("0400002") == FileFlagsChange(set: [.systemImmutable, .userImmutable], replacesAll: true))
        for text in ["9", "08", "0x2", "77777777777", "2,uchg"] {
            #expect(throws: FileFlagsTextError.self) { try change(text) }
        }
    }

    @Test("words combine, and what is named both ways is cleared")
    func combine() throws {
        #expect(try change("uchg,nohidden").applied(to: [.hidden, .noDump]) == [.userImmutable, .noDump])
        #expect(try change("uchg,nouchg").applied(to: []) == [])
        #expect(try change(",uchg,") == FileFlagsChange(set: .userImmutable))
    }

    @Test("a wrong word gets the nearest right one")
    func wrong() {
        #expect { try change("uchg,nohiden") } throws: {
            $0 as? FileFlagsTextError == FileFlagsTextError(column: 6, found: "nohiden", suggestion: "nohidden")
        }
        // `no` before a word that has one already: the nearest word would set what is to be cleared.
        #expect { try change("nonodump") } throws: { ($0 as? FileFlagsTextError)?.suggestion == "dump" }
        #expect { try change("nodmp") } throws: { ($0 as? FileFlagsTextError)?.suggestion == "nodump" }
        #expect { try change("") } throws: { ($0 as? FileFlagsTextError)?.found == "" }
    }

    @Test("the attribute keeps every bit")
    func attribute() throws {
        #expect(FileFlagsText.attribute([]) == "-")
        #expect(FileFlagsText.attribute([.userImmutable, .hidden, .systemAppend]) == "sappnd,uchg,hidden")
        #expect(FileFlagsText.attribute(FileFlags(rawValue: 0x80_0042)) == "uchg,0x800040")
        #expect(FileFlagsText.attribute(.tracked) == "0x40")
        #expect(FileFlagsText.shown(FileFlags(rawValue: 0x80_0042)) == "uchg")
        #expect(FileFlagsText.shown(.tracked) == "-")
        var random = SeededGenerator(1)
        for _ in 0..<5_000 {
            let flags = FileFlags(rawValue: random.bits32() & random.bits32())
            #expect(try FileFlagsText.parseAttribute(Array(FileFlagsText.attribute(flags).utf8)) == flags)
        }
        for text in ["", "-", "-\n"] { #expect(try FileFlagsText.parseAttribute(Array(text.utf8)) == []) }
        #expect(try FileFlagsText.parseAttribute(Array("uchg\n".utf8)) == .userImmutable)
        for text in ["nouchg", "uchg,", "-,uchg", "uchg hidden", "2"] {
            #expect(throws: FileFlagsTextError.self) { try FileFlagsText.parseAttribute(Array(text.utf8)) }
        }
    }
}
