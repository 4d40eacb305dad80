import Foundation
import Glibc
import TestSupport
import Testing

/// Pages of `aclfs report` in a real browser, and how long and large a report is (docs/guide/report.md).
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ReportBrowserTests {
    private let fixture: MountFixture

    init() throws { fixture = try MountFixture(options: nil) }

    private static let hasBrowser = isInstalled("chromium")

    /// What a browser has after it has loaded a page.
    private func document(_ page: String, _ options: [String] = []) throws -> String {
        let result = try browser(["--dump-dom"] + options + ["file://\(page)"])
        #expect(result.status == 0 && result.output.contains("</html>"), "\(result)")
        return result.output
    }

    private func browser(_ words: [String]) throws -> CommandResult {
        let profile = try ScratchDirectory("browser")
        return try Spawn.run(
            [
                "timeout", "60", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--user-data-dir=\(profile.path)",
            ]
                + words)
    }

    /// Names that try to become markup, and users without and with rights.
    private func page() throws -> String {
        let script = #"""
            set -e; cd "$1"; umask 022
            mkdir team team/private 'x"><img src=x onerror=alert(1)>' $'bidi\u202etxt' 'tag<'; chmod 700 team/private
            touch team/a team/b team/private/key $'raw\xff\x1b[31m'; chmod 666 team/b; chown 4242 team/a
            mkdir "a folder with a rather long name"; touch "a folder with a rather long name/$(printf 'x%.0s' {1..200})"
            mkdir 'tag</script><script>document.title=1<'; mkdir -m 1777 drop; mkdir shut; touch shut/x; chmod 600 shut/x
            """#
        let made = try Spawn.run(["bash", "-c", script, "bash", fixture.backing])
        #expect(made.status == 0, "\(made)")
        let page = fixture.top + "/page.html"
        let result = try Spawn.run([MountTesting.program("aclfs"), "report", "--offline", "-o", page, fixture.backing])
        #expect(result.status == 0, "\(result)")
        return page
    }

    /// The page with another script in place of its policy's end, which does what a user does.
    private func changed(_ page: String, _ script: String) throws -> String {
        var text = try String(contentsOfFile: page, encoding: .utf8)
        let policy = try #require(text.range(of: #"<meta http-equiv="Content-Security-Policy"[^>]*>"#, options: .regularExpression))
        text.removeSubrange(policy)
        text = text.replacingOccurrences(of: "</body>", with: "<script>\(script)</script></body>")
        let path = fixture.top + "/changed.html"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test(.enabled(if: hasBrowser, "no chromium")) func thePageWorks() throws {
        let page = try page()
        let loaded = try document(page)
        // The policy lets the script run: it shows the form and counts the places.
        #expect(loaded.contains(#"<form id="filter" role="search">"#))
        #expect(loaded.contains(#"class="fold""#) && loaded.range(of: #"[0-9]+ of [0-9]+ places"#, options: .regularExpression) != nil)
        #expect(!loaded.contains("<img") && !loaded.contains("<title>1"))
        // A script that is not the page's own does not run.
        let other = fixture.top + "/other.html"
        try String(contentsOfFile: page, encoding: .utf8).replacingOccurrences(of: "form.hidden = false;", with: "form.hidden = false ;")
            .write(toFile: other, atomically: true, encoding: .utf8)
        // Everything is there without it.
        let without = try document(other)
        #expect(without.contains(#"<form id="filter" role="search" hidden"#) && !without.contains(#"class="fold""#))
        #expect(without.contains("team/private") && without.contains("everyone may write"))
    }

    @Test(.enabled(if: MountTesting.isLong && hasBrowser, "with ACLFS_TEST_LONG=1 and chromium")) func aUserFiltersAndFolds() throws {
        let page = try page()
        let filtered = try document(
            changed(
                page,
                """
                who.value = [...who.options].find((option) => option.textContent === "uid 4242").value;
                who.dispatchEvent(new Event("change"));
                document.title = [...document.querySelectorAll("#table tbody:not([hidden])")].map((place) => place.dataset.p).join("|")
                  + "#" + document.querySelectorAll("td.yes").length + "#" + document.getElementById("status").textContent;
                """))
        let title = try #require(filtered.components(separatedBy: "<title>").last?.components(separatedBy: "</title>").first)
        #expect(title.contains("team/a") && !title.contains("team/private") && title.contains("uid 4242 may do something in"), "\(title)")
        let found = try document(
            changed(
                page,
                """
                where.value = "TEAM/PRIV";
                where.dispatchEvent(new Event("input"));
                document.title = [...document.querySelectorAll("#table tbody:not([hidden])")].map((place) => place.dataset.p).join("|");
                """))
        #expect(found.contains("<title>team/private</title>"))
        let folded = try document(
            changed(
                page,
                """
                document.querySelector(".fold").click();
                document.title = document.querySelectorAll("#table tbody:not([hidden])").length
                  + " " + document.querySelector(".fold").getAttribute("aria-expanded");
                """))
        #expect(folded.contains("<title>1 false</title>"))
    }

    /// Labels, headers of rows and columns, and no line that is wider than a narrow window.
    @Test(.enabled(if: MountTesting.isLong && hasBrowser, "with ACLFS_TEST_LONG=1 and chromium")) func thePageIsUsable() throws {
        let check = """
            const problems = [];
            for (const field of document.querySelectorAll("input, select")) if (field.labels.length !== 1) problems.push(field.id);
            for (const cell of document.querySelectorAll("th")) if (!cell.scope) problems.push(cell.textContent);
            for (const link of document.querySelectorAll("a")) if (!document.getElementById(link.hash.slice(1))) problems.push(link.hash);
            const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
            if (new Set(ids).size !== ids.length) problems.push("ids");
            for (const element of document.querySelectorAll("[aria-labelledby]")) {
              if (!document.getElementById(element.getAttribute("aria-labelledby"))) problems.push("label");
            }
            if (document.documentElement.scrollWidth > window.innerWidth) problems.push("wide " + document.documentElement.scrollWidth);
            const region = document.querySelector(".wide");
            if (region.scrollWidth > region.clientWidth) problems.push("cut at " + region.clientWidth + " of " + region.scrollWidth);
            for (const cell of document.querySelectorAll("td, th")) {
              const box = cell.getBoundingClientRect();
              if (box.width && box.left >= 0 && box.right > window.innerWidth) problems.push("cut: " + cell.textContent);
            }
            parent.postMessage("checked " + window.innerWidth + " " + problems.join(","), "*");
            """
        let page = try changed(page(), check)
        // A window of the browser itself is never so narrow.
        let frame = fixture.top + "/frame.html"
        for width in [390, 800, 1201, 1280, 1400] {
            let text = """
                <!DOCTYPE html><iframe style="width:\(width)px;height:900px;border:0" src="changed.html"></iframe>
                <script>onmessage = (event) => { document.title = event.data; };</script>
                """
            try text.write(toFile: frame, atomically: true, encoding: .utf8)
            let loaded = try document(frame, ["--virtual-time-budget=3000", "--window-size=1500,900"])
            let title = try #require(loaded.components(separatedBy: "<title>").last?.components(separatedBy: "</title>").first)
            #expect(title == "checked \(width) ", "\(title)")
        }
        for (name, scheme, width) in [("light", 1, 1400), ("dark", 0, 1400), ("narrow", 1, 400)] {
            let picture = fixture.top + "/\(name).png"
            let result = try browser([
                "--screenshot=\(picture)", "--window-size=\(width),1000", "--blink-settings=preferredColorScheme=\(scheme)",
                "file://\(page)",
            ])
            var status = stat()
            #expect(stat(picture, &status) == 0 && status.st_size > 10_000, "\(result)")
        }
    }

    /// 100 000 objects of many owners and modes, on the mount and without it.
    @Test(.enabled(if: MountTesting.isLong, "with ACLFS_TEST_LONG=1")) func aLargeTreeMakesASmallPage() throws {
        let script = """
            import os, sys
            os.chdir(sys.argv[1])
            for a in range(100):
                os.makedirs(f"d{a}/e")
                for b in range(990):
                    path = f"d{a}/e/f{b}" if b % 2 else f"d{a}/f{b}"
                    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
                    if b % 9 == 0: os.chmod(path, [0o600, 0o640, 0o664, 0o666, 0o755][(a + b) % 5])
                    if b % 7 == 0: os.chown(path, 1000 + (a * 31 + b) % 400, 100 + a % 20)
            """
        #expect(try Spawn.run(["python3", "-c", script, fixture.backing]).status == 0)
        for mounted in [false, true] {
            if mounted { try fixture.mount() }
            let page = fixture.top + "/large\(mounted).html"
            let start = Date()
            let result = try Spawn.run([
                MountTesting.program("aclfs"), "report", "--offline", "-o", page, mounted ? fixture.mountpoint : fixture.backing,
            ])
            let seconds = Date().timeIntervalSince(start)
            var status = stat()
            #expect(result.status == 0 && stat(page, &status) == 0, "\(result)")
            #expect(status.st_size <= 5 << 20, "\(status.st_size) bytes")
            print(
                "ReportBrowserTests: 100 000 objects \(mounted ? "on a mount" : "without a mount"): \(seconds) s, \(status.st_size) bytes")
        }
    }
}
