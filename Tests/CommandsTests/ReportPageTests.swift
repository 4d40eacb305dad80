import ACLFormats
import Authorization
import Glibc
import TestSupport
import Testing
import ToolSupport

@testable import Commands

/// The page itself: no name becomes markup, nothing is loaded, and it stays small (docs/guide/report.md "The page").
struct ReportPageTests {
    private static let evil: [[UInt8]] = [
        Array("</script><script>alert(1)</script>".utf8), Array(#""><img src=x onerror=alert(1)>"#.utf8), Array("'onclick='x".utf8),
        Array("&lt;b&gt;".utf8), Array("\u{202E}txt.exe\u{2066}".utf8), [0x61, 0xFF, 0xC3, 0x28], Array("a\u{1B}[31m\r\n\tb".utf8),
        Array("\u{2028}\u{FEFF}".utf8), Array("</style></title><!--".utf8), Array(#"\x3cb\x3e"#.utf8), Array("javascript:alert(1)".utf8),
    ]

    private var scene: ReportScene {
        var scene = ReportScene()
        scene.folder("")
        for (index, name) in Self.evil.enumerated() {
            // Each a place of its own, with findings.
            scene.add(name, scene.item(.file, 0o666, owner: 600 + UInt32(index)))
            scene.enter(name, scene.item(.directory, 0o777, owner: 700 + UInt32(index)))
            scene.take(.unreadable(name: name, reason: "</script>"))
            scene.leave()
        }
        scene.leave()
        return scene
    }

    @Test func noNameBecomesMarkup() throws {
        let page = scene.page()
        #expect(page.hasPrefix("<!DOCTYPE html>"))
        #expect(page.components(of: "<script").count == 2 && page.components(of: "</script>").count == 2)
        #expect(page.components(of: "<style").count == 2 && page.components(of: "</style").count == 2)
        #expect(!page.contains("<img") && !page.contains("<!--") && !page.contains("<b>"))
        // What is left are the elements and attributes of the page.
        let known: Set<String> = [
            "html", "head", "meta", "title", "style", "body", "a", "header", "h1", "code", "p", "nav", "ul", "li", "main", "section", "h2",
            "h3",
            "details", "summary", "form", "div", "label", "select", "option", "input", "button", "table", "thead", "tbody", "tr", "th",
            "td",
            "span", "strong", "footer", "script",
        ]
        let body = try #require(page.components(of: "</style>").last?.components(of: "<script>").first)
        for piece in body.components(of: "<").dropFirst() {
            let name = piece.drop { $0 == "/" }.prefix { $0.isLetter || $0.isNumber }
            #expect(known.contains(String(name)), "<\(piece.prefix(40))")
            // What stands in quotes is no markup.
            let attributes = piece.prefix { $0 != ">" }
            let markup = attributes.components(of: "\"").enumerated().filter { $0.offset % 2 == 0 }.map { String($0.element) }.joined(
                separator: " ")
            #expect(!markup.lowercased().contains(" on") && !markup.contains("src=") && !markup.contains("style="), "\(attributes)")
            if attributes.contains("href=") { #expect(attributes.contains("href=\"#"), "\(attributes)") }
        }
        #expect(page.contains(#"a\xff\xc3("#) && page.contains(#"\xe2\x80\xaetxt.exe"#) && page.contains(#"\x5cx3cb\x5cx3e"#))
        let unsafe = page.unicodeScalars.first { scalar in
            switch scalar.value {
            case 0x0A: false
            case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
            default: false
            }
        }
        #expect(unsafe == nil, "U+\(String(unsafe?.value ?? 0, radix: 16))")
    }

    /// The policy allows what has these hashes, and nothing else.
    @Test func aPolicyAllowsTheOneScript() throws {
        let page = scene.page()
        let policy = try #require(page.components(of: "Content-Security-Policy\" content=\"").last?.components(of: "\"").first)
        #expect(policy.hasPrefix("default-src &#39;none&#39;; script-src &#39;sha256-"))
        let script = try #require(page.components(of: "<script>").last?.components(of: "</script>").first)
        let style = try #require(page.components(of: "<style>").last?.components(of: "</style>").first)
        for (text, word, known) in [(script, "script-src", PageScript.sha256), (style, "style-src", PageStyle.sha256)] {
            #expect(try sha256(text) == known, "the hash of the text")
            #expect(policy.contains("\(word) &#39;sha256-\(known)&#39;"))
        }
        for word in ["http:", "https:", "url(", "@import", "fetch(", "XMLHttpRequest", "innerHTML", "eval("] {
            #expect(!page.contains(word), "\(word)")
        }
    }

    /// As coreutils compute it, in base64.
    private func sha256(_ text: String) throws -> String {
        let said = try Spawn.run(["sh", "-c", "printf %s \"$1\" | sha256sum", "sh", text]).output
        let digits = Array(said.prefix(64))
        return Base64.encode(stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) })
    }

    /// WCAG 2: the luminance of two colours, in both schemes.
    @Test func coloursHaveContrast() throws {
        let style = PageStyle.text.description
        var schemes: [[String: Double]] = []
        for part in style.components(of: ":root {").dropFirst() {
            var colours: [String: Double] = [:]
            for line in part.prefix(while: { $0 != "}" }).split(separator: ";") {
                let pair = line.split(separator: ":").map { $0.drop { $0 == " " || $0 == "\n" } }
                guard pair.count == 2, pair[1].first == "#", let number = Int(pair[1].dropFirst(), radix: 16) else { continue }
                let parts = [16, 8, 0].map { (shift: Int) -> Double in
                    let value = Double(number >> shift & 0xFF) / 255
                    return value <= 0.03928 ? value / 12.92 : Self.power((value + 0.055) / 1.055)
                }
                colours[String(pair[0])] = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
            }
            schemes.append(colours)
        }
        #expect(schemes.count == 2)
        for colours in schemes {
            for (text, back) in [
                ("--text", "--back"), ("--soft", "--back"), ("--link", "--back"), ("--text", "--band"), ("--soft", "--band"),
                ("--link", "--band"),
                ("--badge", "--badge-back"),
            ] {
                let (one, other) = (try #require(colours[text]), try #require(colours[back]))
                #expect((max(one, other) + 0.05) / (min(one, other) + 0.05) >= 4.5, "\(text) on \(back)")
            }
        }
    }

    private static func power(_ value: Double) -> Double { pow(value, 2.4) }

    @Test func withoutScriptEverythingIsThere() {
        var scene = ReportScene()
        scene.folder("", 0o750, acl: ["group:eng allow list,search", "user:bob deny delete"])
        scene.file("plan", acl: ["user:carol allow read,write"])
        scene.leave()
        let page = scene.page()
        for text in [
            "<th scope=\"row\" role=\"rowheader\">this folder</th>", "group eng", "everyone else", "0: group:eng allow list,search",
            "1: user:bob deny delete", "alice, staff, 0750", "/srv/share", "A note.",
        ] { #expect(page.contains(text), "\(text)") }
        // Only what cannot work without the script is hidden.
        #expect(page.components(of: " hidden>").count == 2 && page.contains("role=\"search\" hidden>"))
        for part in [
            "<main>", "<nav aria-label", "<header>", "<footer>", "<html lang=\"en\">", "<label for=\"who\">", "<label for=\"where\">",
        ] {
            #expect(page.contains(part), "\(part)")
        }
    }

    @Test func aLargeReportStaysBelowTheLimitAndSaysSo() {
        var scene = ReportScene()
        scene.folder("")
        for number in 0..<800 {
            scene.folder("user\(number)", 0o700, owner: 10_000 + UInt32(number))
            scene.file("one", 0o600, owner: 10_000 + UInt32(number))
            scene.file("other", 0o640, owner: 20_000 + UInt32(number))
            scene.leave()
        }
        scene.leave()
        let whole = scene.page()
        #expect(whole.utf8.count > 1_000_000 && whole.utf8.count < ReportPage.largest && !whole.contains("left out, so that"))
        let small = scene.page(largest: 600_000)
        #expect(small.utf8.count <= 600_000 && small.utf8.count > 200_000, "\(small.utf8.count)")
        #expect(small.contains("are left out, so that the page stays small"))
    }

    /// Bytes that are no text are in base64, and each line is JSON.
    @Test func linesForPrograms() throws {
        let report = try #require(scene.report())
        var lines: [JSON] = []
        ReportLines(report: report, names: NoNames()).write { line in
            #expect(line.last == 0x0A && !line.dropLast().contains(0x0A))
            if let value = try? JSONText.parse(line.dropLast()) { lines.append(value) } else { Issue.record("\(line)") }
        }
        #expect(lines.first?["type"]?.string == "report")
        let paths = Set(lines.filter { $0["type"]?.string == "place" }.compactMap { $0.path() })
        #expect(Self.evil.allSatisfy { paths.contains($0) })
        #expect(lines.filter { $0["type"]?.string == "unreadable" }.count == Self.evil.count)
    }
}

extension StringProtocol {
    fileprivate func components(of separator: String) -> [String] {
        var parts: [String] = []
        var rest = Substring(self)
        while let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}
