import ACLFormats
import Testing

@Suite("backup marks and patterns")
struct BackupFormatTests {
    @Test("the property list is the 61 bytes that macOS writes")
    func propertyList() {
        let hex =
            "62706c69737430305f1011636f6d2e6170706c652e6261636b75706408"
            + "0000000000000101000000000000000100000000000000000000000000" + "00001c"
        let value = BackupMark.excludeItem.value
        #expect(value.count == 61)
        #expect(value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == hex)
    }

    @Test("readers of macOS' key look whether it is there, so any value excludes and may be set")
    func anyValueOfTheFirstKey() {
        for value in ["com.apple.backupd", "com.apple.backupd\n", "1", ""].map({ Array($0.utf8) }) + [BackupMark.excludeItem.value] {
            #expect(BackupMark.excludeItem.accepts(value) && BackupMark.excludeItem.excludes(value))
            #expect(!BackupMark.mobileBackup.accepts(value) && !BackupMark.robots.accepts(value))
        }
    }

    @Test("the freedesktop key has a value for either state, the others have one")
    func bothStates() {
        #expect(BackupMark.robots.includes(Array("true".utf8)) && !BackupMark.robots.accepts(Array("true".utf8)))
        for value in ["false", "True", "true\n", "", "yes"] { #expect(!BackupMark.robots.includes(Array(value.utf8))) }
        #expect(!BackupMark.mobileBackup.includes(Array("true".utf8)) && !BackupMark.excludeItem.includes(Array("true".utf8)))
    }

    @Test("stored names are found, and no others")
    func names() {
        for mark in BackupMark.allCases { #expect(BackupMark(storedName: mark.storedName) == mark) }
        for name in ["com.apple.MobileBackup", "user.com.apple.mobilebackup", "user.xdg.robots.backup2", "user."] {
            #expect(BackupMark(storedName: Array(name.utf8)) == nil)
        }
    }

    private func text(_ format: BackupListFormat, _ below: [UInt8], _ operand: String = "/m", nul: Bool = false) -> String? {
        format.text(
            BackupListItem(operand: Array(operand.utf8), below: below), endsInNUL: nul, workingDirectory: Array("/w".utf8)
        ).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("each format by its own rules")
    func patterns() {
        let name = Array("a*b\\[c $x ".utf8)
        #expect(text(.lines, name) == "/m/a*b\\[c $x \n")
        #expect(text(.null, name) == "/m/a*b\\[c $x \0")
        #expect(text(.rsync, name) == "/a\\*b\\\\\\[c $x \n")
        #expect(text(.rsync, Array("b\\c".utf8)) == "/b\\c\n")
        #expect(text(.tar, name) == "./a\\*b\\\\\\[c $x[ ]\n")
        #expect(text(.restic, name) == "/m/a\\*b\\\\\\[c $$x[ ]\n")
        #expect(text(.borg, name) == "re:^m/a\\x2ab\\x5c\\x5bc\\x20\\x24x\\x20\\Z\n")
        #expect(text(.borg, Array("a b".utf8)) == "pf:m/a b\n")
        #expect(text(.borg, [0xC3, 0xA9, 0xFF, 0x0A]) == "re:^m/\\U000000e9\\udcff\\x0a\\Z\n")
        #expect(text(.restic, Array("a\u{A0}".utf8)) == "/m/a[\u{A0}]\n")
        #expect(text(.tar, Array("a\u{A0}".utf8)) == "./a\u{A0}\n")
    }

    @Test("the operand itself, and operands as callers write them")
    func operands() {
        #expect(text(.rsync, []) == "/*\n")
        #expect(text(.tar, []) == ".\n")
        #expect(text(.lines, [], ".") == ".\n")
        #expect(text(.lines, [0x61], "x/") == "x/a\n")
        #expect(text(.restic, [0x61], "x/../y/./z//") == "/w/y/z/a\n")
        #expect(text(.restic, [0x61], "../y") == "/y/a\n")
        #expect(text(.borg, [0x61], ".") == "pf:a\n")
        #expect(text(.borg, [0x61], "../y") == "pf:../y/a\n")
    }

    @Test("what cannot be said is not said")
    func inexpressible() {
        let newline = Array("a\nb".utf8)
        for format in [BackupListFormat.lines, .rsync, .tar, .restic] { #expect(text(format, newline) == nil) }
        #expect(text(.rsync, newline, nul: true) == "/a\nb\0")
        #expect(text(.rsync, Array("a\rb".utf8)) == nil)
        #expect(text(.rsync, [UInt8](repeating: 0x61, count: 4096), nul: true) == nil)
    }

    /// The newline of a borg pattern is its end alone: everything else stands in ASCII.
    @Test("any byte in any place gives borg one line of printable text")
    func borgIsASCII() {
        for byte in UInt8(1)...255 where byte != 0x2F {
            for name in [[byte], [byte, 0x61], [0x61, byte], [0xE2, byte, 0x80]] {
                let line = Array((text(.borg, name) ?? "").utf8)
                #expect(line.last == 0x0A && line.dropLast().allSatisfy { (0x20..<0x7F).contains($0) })
                #expect(line.dropLast().last != 0x20)
            }
        }
    }
}
