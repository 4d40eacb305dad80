import ProfileFiles
import SandboxPolicy
import SandboxProfiles
import Testing

/// Property lists as they come: good ones in both forms, and every way in which one is none.
@Suite struct EntitlementsFileTests {
    private static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        """

    private func read(_ body: String) throws -> Entitlements {
        try EntitlementsFile.entitlements(Array((Self.head + body + "</plist>\n").utf8))
    }

    private func refusal(_ bytes: [UInt8]) -> String {
        do {
            _ = try EntitlementsFile.entitlements(bytes)
            return "accepted"
        } catch { return error.description }
    }

    private func refusal(_ body: String) -> String { refusal(Array((Self.head + body + "</plist>\n").utf8)) }

    private let sandboxed = "<key>com.apple.security.app-sandbox</key><true/>"

    @Test func xml() throws {
        let entitlements = try read(
            """
            <!-- what the <application> may -->
            <dict>
                \(sandboxed)
                <key>com.apple.security.files.user-selected.read-only</key><true/>
                <key>com.apple.security.application-groups</key>
                <array><string>group.one</string><string><![CDATA[group.<two>]]></string></array>
            </dict>
            """)
        #expect(entitlements.userSelected == .readOnly)
        #expect(entitlements.applicationGroups == ["group.one", "group.<two>"])
        #expect(entitlements.warnings.isEmpty)
    }

    @Test func binary() throws {
        // {com.apple.security.app-sandbox: true, x: [true, true]}
        let key = "com.apple.security.app-sandbox"
        let list = BinaryWriter(objects: [
            [0xD2, 1, 2, 3, 4], [0x5F, 0x10, UInt8(key.utf8.count)] + key.utf8, [0x51, 0x78], [0x09], [0xA2, 3, 3],
        ])
        let entitlements = try EntitlementsFile.entitlements(list.bytes)
        #expect(entitlements.isSandboxed)
        #expect(entitlements.warnings.map(\.key) == ["x"])
    }

    @Test func unknownKeysAreNamed() throws {
        let entitlements = try read("<dict>\(sandboxed)<key>com.apple.security.files.all</key><true/><key>own</key><dict/></dict>")
        #expect(entitlements.warnings.map(\.key) == ["com.apple.security.files.all", "own"])
    }

    @Test func notAPropertyList() {
        #expect(refusal(Array("hello".utf8)).contains("neither XML"))
        #expect(refusal(Array("{ a = 1; }".utf8)).contains("neither XML"), "the form that Apple gave up")
        #expect(refusal(Array("{\"a\":true}".utf8)).contains("neither XML"))
        #expect(refusal([]).contains("neither XML"))
        #expect(refusal(Array("<a\u{0}".utf8)).contains("UTF-8"))
        #expect(refusal(Array((Self.head + "<dict><key>a</key>").utf8)).contains("not a property list that can be read"))
        #expect(refusal(Array("<html><body/></html>".utf8)).contains("'html'"))
        #expect(refusal(Array("bplist00".utf8)).contains("damaged"))
        #expect(refusal(Array("<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><dict/></plist>".utf8)).contains("entities"))
    }

    /// No line says what is wrong with them.
    @Test func otherEncodings() {
        let list = Self.head + "<dict>\(sandboxed)<key>a</key><string>\u{FC}</string></dict></plist>\n"
        let wide = list.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let wider = list.unicodeScalars.flatMap { scalar in [24, 16, 8, 0].map { UInt8(scalar.value >> $0 & 0xFF) } }
        #expect(refusal(wide).contains("in UTF-16LE; write it in UTF-8 (iconv -f UTF-16LE -t UTF-8"))
        #expect(refusal([0xFF, 0xFE] + wide).contains("in UTF-16; write it in UTF-8 (iconv -f UTF-16 -t UTF-8"))
        #expect(refusal(wider).contains("in UTF-32BE; "))
        let latin = list.unicodeScalars.map { UInt8($0.value) }
        #expect(refusal(latin).contains("line 3: a byte that is no UTF-8 text; "))
        let declared = String(decoding: latin, as: UTF8.self).replacing("UTF-8", with: "ISO-8859-1")
        #expect(refusal(declared.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }).contains("says that it is in ISO-8859-1; "))
    }

    /// By the line on which the fault stands, which is nowhere near the first; `head` has three.
    @Test(arguments: [
        ("<dict>\n<key>a</key>\n<tru/>\n</dict>", 5, "'tru' is no element"),
        ("<dict>\n<key>a</key>\n</dict>", 5, "the last key of this <dict> has no value"),
        ("<dict>\n<key>a</key><true/>\n<true/></dict>", 5, "a <true> without a <key>"),
        ("<dict>\n<key>a</key>\n\n<key>b</key></dict>", 6, "a <key> where the value of the key before must stand"),
        ("<dict>\n<key>a</key>\n<array></dict>", 5, "</dict> where </array> must stand"),
        ("<dict>\n<key>a</ky>\n</dict>", 4, "</ky> where </key> must stand"),
        ("<dict>\n<key>a</key><string>b<i/></string>\n</dict>", 4, "'i' is no element"),
        ("<dict>\n<key>a</key><string>b\n<true/></string></dict>", 5, "inside of <string>"),
        ("<dict>\n\nword<key>a</key><true/></dict>", 5, "text outside of a value"),
        ("<dict>\n<key>a</key>\n<true>x</true></dict>", 5, "text outside of a value"),
        ("<dict>\n<key>a</key>\n<string>b & c</string></dict>", 5, "written &amp;"),
        ("<dict>\n<key>a</key>\n<string>\n&b;</string></dict>", 6, "written &amp;"),
        ("<dict/>\n<dict/>", 4, "a second value"),
        ("<dict>\n<!-- </dict>", 4, "a comment has no end"),
        ("<dict>\n<key>a</key>\n<true/", 5, ""),
    ])
    func theLineOfAFault(_ body: String, _ line: Int, _ fault: String) {
        let text = refusal(body)
        #expect(text.contains("line \(line): ") && text.contains(fault), "\(text)")
    }

    /// What stands after the list is not read by anybody, whoever wrote it.
    @Test func theListEndsTheFile() throws {
        let list = Self.head + "<dict>\(sandboxed)</dict></plist>\n"
        for (rest, line) in [("key", 4), ("\n<dict/>", 5), ("\n\n</plist>", 6), ("<plist><dict/></plist>", 4), ("\u{FEFF}", 4)] {
            #expect(refusal(Array((list + rest).utf8)).contains("line \(line): "), "\(rest)")
        }
        for rest in ["", "\n \t\r\n", "<!-- the end -->\n"] {
            #expect(throws: Never.self) { try EntitlementsFile.entitlements(Array((list + rest).utf8)) }
        }
    }

    /// A message says what is there, and which key may have been meant.
    @Test func messagesSayWhatIsThere() throws {
        func said(_ key: String, _ value: String) -> String {
            refusal("<dict>\(sandboxed)<key>com.apple.security.\(key)</key>\(value)</dict>")
        }
        #expect(said("files.downloads.read-only", "<string>true</string>").contains("must be true or false, not the text 'true'"))
        #expect(said("files.downloads.read-only", "<array/>").contains("must be true or false, not a list"))
        #expect(said("application-groups", "<string>x</string>").contains("must be a list of strings, not the text 'x'"))
        #expect(said("application-groups", "<array><true/></array>").contains("must hold nothing but strings, not true"))
        let list = "<dict>\(sandboxed)<key>com.apple.security.files.download.read-only</key><true/></dict>"
        #expect(
            try read(list).warnings.map(\.message)
                == ["unknown key; it allows nothing here; did you mean 'com.apple.security.files.downloads.read-only'?"])
        let other = "<dict>\(sandboxed)<key>com.apple.security.devices.camera</key><true/></dict>"
        #expect(try read(other).warnings.map(\.message) == ["unknown key; it allows nothing here"])
    }

    /// Keys that real applications have besides, and that no file system could enforce, are no reason to warn.
    @Test func keysOfOtherSubjectsAreNoted() throws {
        let keys = [
            "application-identifier", "com.apple.developer.team-identifier", "com.apple.security.automation.apple-events",
            "com.apple.security.device.camera", "com.apple.security.files.bookmarks.app-scope",
            "com.apple.security.files.bookmarks.document-scope", "com.apple.security.files.user-selected.executable",
            "com.apple.security.network.client", "com.apple.security.print",
            "com.apple.security.temporary-exception.mach-lookup.global-name",
            "keychain-access-groups",
        ]
        let list = try read("<dict>\(sandboxed)\(keys.map { "<key>\($0)</key><true/>" }.joined())</dict>")
        #expect(list.warnings.isEmpty && list.notAboutFiles == keys)
        // What looks like another key is a mistake.
        let near = try read("<dict>\(sandboxed)<key>com.aple.security.files.downloads.read-only</key><true/></dict>")
        #expect(
            near.warnings.map(\.message) == [
                "unknown key; it allows nothing here; did you mean 'com.apple.security.files.downloads.read-only'?"
            ])
    }

    @Test func wrongTop() {
        #expect(refusal("<array/>").contains("'array'"))
        #expect(refusal("<string>x</string>").contains("'string'"))
        #expect(refusal("").contains("empty"))
        #expect(refusal(BinaryWriter(objects: [[0xA0]]).bytes).contains("'array'"))
        #expect(refusal("<dict/>").contains("com.apple.security.app-sandbox: must be true"))
    }

    @Test func keysThatStandTwice() {
        #expect(refusal("<dict>\(sandboxed)\(sandboxed)</dict>").contains("'com.apple.security.app-sandbox' stands twice"))
        #expect(refusal("<dict>\(sandboxed)<key>a</key><true/><key>&#97;</key><true/></dict>").contains("3 keys, but only 2"))
        #expect(refusal(BinaryWriter(objects: [[0xD2, 1, 1, 2, 2], [0x51, 0x61], [0x09]]).bytes).contains("'a' stands twice"))
        // Deeper down it is nobody's business.
        #expect(throws: Never.self) { try read("<dict>\(sandboxed)<key>&#97;</key><string>&lt;&#x41;&apos;</string></dict>") }
        #expect(throws: Never.self) { try read("<dict>\(sandboxed)<key>x</key><dict><key>a</key><true/></dict></dict>") }
    }

    @Test func whatHasNoEnd() {
        let deep = String(repeating: "<array>", count: 20000) + String(repeating: "</array>", count: 20000)
        #expect(refusal("<dict>\(sandboxed)<key>a</key>\(deep)</dict>").contains("nested deeper"))
        #expect(refusal(BinaryWriter(objects: [[0xD1, 1, 2], [0x51, 0x61], [0xA1, 2]]).bytes).contains("nested deeper"))
        // Eight arrays of fifteen, each fifteen times the next.
        let fans = (3..<11).map { next in [0xAE] + [UInt8](repeating: UInt8(next), count: 14) }
        #expect(refusal(BinaryWriter(objects: [[0xD1, 1, 2], [0x51, 0x61]] + fans + [[0x09]]).bytes).contains("65536 values"))
    }

    @Test func anyDamageIsRefusedOrRead() throws {
        let key = "com.apple.security.app-sandbox"
        let whole = BinaryWriter(objects: [
            [0xD1, 1, 2], [0x5F, 0x10, UInt8(key.utf8.count)] + key.utf8, [0x09],
        ]).bytes
        for place in whole.indices {
            for value in [UInt8(0), 0x0F, 0x7F, 0xA1, 0xD1, 0xFF] {
                var damaged = whole
                damaged[place] = value
                _ = refusal(damaged)
            }
            _ = refusal(Array(whole.prefix(place)))
        }
    }

    @Test(arguments: [
        ("app-sandbox", "<string>true</string>", "must be true or false"),
        ("files.downloads.read-write", "<integer>1</integer>", "must be true or false"),
        ("application-groups", "<string>x</string>", "must be a list of strings"),
        ("application-groups", "<array><true/></array>", "nothing but strings"),
        ("temporary-exception.files.absolute-path.read-only", "<array><string>etc/</string></array>", "must start with /"),
        ("inherit", "<true/>", "describes none of its own"),
    ])
    func malformedKeys(_ key: String, _ value: String, _ reason: String) {
        let first = key == "app-sandbox" ? "" : sandboxed
        let text = refusal("<dict>\(first)<key>com.apple.security.\(key)</key>\(value)</dict>")
        #expect(text.contains("com.apple.security.\(key)") && text.contains(reason), "\(text)")
    }
}

/// A binary property list with one byte for each offset and reference.
struct BinaryWriter {
    var bytes = Array("bplist00".utf8)

    init(objects: [[UInt8]]) {
        var offsets: [UInt8] = []
        for object in objects {
            offsets.append(UInt8(bytes.count))
            bytes += object
        }
        let table = UInt8(bytes.count)
        bytes += offsets
        bytes += [0, 0, 0, 0, 0, 0, 1, 1]
        for number in [UInt8(objects.count), 0, table] { bytes += [0, 0, 0, 0, 0, 0, 0, number] }
    }
}
