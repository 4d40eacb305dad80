import ACLFormats
import Authorization
import Identity

/// The page: HTML without anything from elsewhere (docs/guide/report.md "The page").
struct ReportPage {
    /// What the page says of itself.
    struct Origin {
        /// The version of aclfs.
        var version: String
        /// As people read it.
        var time: String
    }

    let report: ReportValue
    let origin: Origin
    let names: any IdentityNames
    private var html = HTML()
    private let words: PlaceText
    private let who: WhoText

    /// The size at which writing ends: the page will not be used.
    private let limit: Int

    private init(_ report: ReportValue, _ origin: Origin, _ names: some IdentityNames, limit: Int) {
        (self.report, self.origin, self.names, self.limit) = (report, origin, names, limit)
        (words, who) = (PlaceText(report: report), WhoText(subjects: report.subjects))
    }

    /// How many users and groups are listed, and can be chosen.
    private static let mostSubjects = 5000
    /// The largest page, bytes.
    static let largest = 5 << 20

    /// The page. If it would be too large, places that lie deep are left out, and the page says so.
    /// - Parameters:
    ///   - report: the facts.
    ///   - names: of identities in entries.
    ///   - largest: bytes.
    static func make(_ report: ReportValue, _ origin: Origin, names: some IdentityNames, largest: Int = largest) -> [UInt8] {
        var report = report
        var most = 5000
        while true {
            report.top = report.top.limited(to: most)
            var page = ReportPage(report, origin, names, limit: most <= 1 ? .max : largest)
            page.write()
            if page.html.bytes.count <= largest || most <= 1 { return page.html.bytes }
            // In proportion, with room for lines of different lengths.
            most = min(most / 2, max(1, most * largest / page.html.bytes.count * 9 / 10), max(1, report.top.places / 2))
        }
    }

    private mutating func write() {
        head()
        header()
        html.add("<main>\n")
        notes()
        unusual()
        places()
        rights()
        people()
        unreadable()
        html.add("</main>\n<footer><p>Made by aclfs ")
        html.add(text: "\(origin.version), \(origin.time)")
        html.add(".</p></footer>\n<script>")
        html.add(PageScript.text)
        html.add("</script>\n</body>\n</html>\n")
    }

    private mutating func head() {
        html.add(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\""
        )
        let (script, style) = (PageScript.sha256, PageStyle.sha256)
        html.add(
            text: "default-src 'none'; script-src 'sha256-\(script)'; style-src 'sha256-\(style)'; base-uri 'none'; form-action 'none'")
        html.add("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        html.add("<meta name=\"referrer\" content=\"no-referrer\">\n<title>Permissions of ")
        html.add(name: report.directory)
        html.add("</title>\n<style>")
        html.add(PageStyle.text)
        html.add("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#places\">Skip to the table</a>\n")
    }

    private mutating func header() {
        html.add("<header><h1>Permissions of <code>")
        html.add(name: report.directory)
        html.add("</code></h1>\n<p>")
        let counts = KindGroup.allCases.filter { report.counts[$0.rawValue] > 0 }
            .map { PlaceText.counted(report.counts[$0.rawValue], PlaceText.noun($0)) }
        html.add(text: counts.joined(separator: ", "))
        if report.unreadableCount > 0 { html.add(text: "; \(PlaceText.grouped(report.unreadableCount)) not readable") }
        html.add(".</p></header>\n<nav aria-label=\"Sections\"><ul>")
        html.add("<li><a href=\"#unusual\">Unusual</a></li><li><a href=\"#places\">Who may do what where</a></li>")
        html.add("<li><a href=\"#rights\">All rights</a></li><li><a href=\"#people\">Users and groups</a></li>")
        if report.unreadableCount > 0 { html.add("<li><a href=\"#unreadable\">Not readable</a></li>") }
        html.add("</ul></nav>\n")
    }

    private mutating func notes() {
        html.add("<section aria-label=\"About this report\"><p>")
        html.add(
            "Folders with equal permissions are one line with their number. A right counts only where the folders above may be searched. "
        )
        html.add("A group stands for its members whom nothing else names; everyone, for callers whom no entry, owner or group names. ")
        html.add(
            "Root is left out: it may do nearly everything. &ldquo;Partly&rdquo; means some of the rights, such as to list a folder ")
        html.add("but not to enter it.</p>\n")
        for note in report.notes {
            html.add("<p>")
            html.add(text: note)
            html.add("</p>\n")
        }
        let omitted = report.top.omittedInAll
        if omitted.places > 0 {
            html.add("<p><strong>")
            html.add(
                text: "\(PlaceText.counted(omitted.places, "place")) that lie deep and differ from their surroundings "
                    + "(\(PlaceText.counted(omitted.objects, "object"))) are left out, so that the page stays small. "
                    + "Each line says how many lie below it; a report of that folder shows them.")
            html.add("</strong></p>\n")
        }
        html.add("</section>\n")
    }

    // MARK: Unusual

    private mutating func unusual() {
        html.add("<section id=\"unusual\" aria-labelledby=\"unusual-title\"><h2 id=\"unusual-title\">Unusual</h2>\n")
        let found = report.findings.filter { $0.objects > 0 }
        if found.isEmpty { html.add("<p>Nothing.</p>\n") }
        for item in found {
            html.add("<details id=\"f")
            html.add(item.kind.rawValue)
            html.add("\"><summary>")
            html.add(text: "\(item.kind.title): \(PlaceText.counted(item.objects, "object"))")
            html.add("</summary><ul>\n")
            for example in item.examples {
                html.add("<li><code>")
                html.add(name: report.shownPath(example.path, 0))
                html.add("</code>")
                if !example.detail.isEmpty { html.add(text: " \(example.detail)") }
                html.add("</li>\n")
            }
            html.add("</ul>")
            if item.topmost > item.examples.count {
                html.add("<p>")
                html.add(text: "And \(PlaceText.grouped(item.topmost - item.examples.count)) more.")
                html.add("</p>")
            }
            if item.objects > item.topmost {
                html.add("<p>")
                html.add(text: "Not listed: \(PlaceText.counted(item.objects - item.topmost, "object")) below these.")
                html.add("</p>")
            }
            html.add("</details>\n")
        }
        html.add("</section>\n")
    }

    // MARK: Places

    private mutating func places() {
        html.add("<section id=\"places\" aria-labelledby=\"places-title\"><h2 id=\"places-title\">Who may do what where</h2>\n")
        html.add("<form id=\"filter\" role=\"search\" hidden><div><label for=\"who\">Show what one user or group may do</label>")
        html.add("<select id=\"who\"><option value=\"\">all users and groups</option><option value=\"e\">everyone else</option>")
        for (index, subject) in report.subjects.all.prefix(Self.mostSubjects).enumerated() {
            html.add("<option value=\"")
            html.add(index)
            html.add(subject.hasUnknownGroups ? "\" data-a=\"1\">" : "\">")
            html.add(text: WhoText.name(subject))
            html.add("</option>")
        }
        html.add("</select></div><div><label for=\"where\">Show places whose path contains</label><input id=\"where\" type=\"search\" ")
        html.add("autocomplete=\"off\"></div><div><button type=\"reset\">Show all</button></div></form>\n")
        html.add("<p id=\"status\" role=\"status\" class=\"soft\"></p>\n")
        html.add("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Table of places\">")
        html.add("<table id=\"table\" role=\"table\" aria-labelledby=\"places-title\"><thead role=\"rowgroup\"><tr role=\"row\">")
        html.add("<th scope=\"col\" role=\"columnheader\">Path</th><th scope=\"col\" role=\"columnheader\">What</th>")
        for column in ReportColumn.allCases {
            html.add("<th scope=\"col\" role=\"columnheader\" data-m=\"")
            html.add(text: KindGroup.allCases.map { Self.hexadecimal(column.rights(of: $0)) }.joined(separator: " "))
            html.add("\">")
            html.add(text: column.title)
            html.add("</th>")
        }
        html.add("<th scope=\"col\" role=\"columnheader\">Entries</th><th scope=\"col\" role=\"columnheader\">Unusual</th>")
        html.add("<th scope=\"col\" role=\"columnheader\">More</th></tr></thead>\n")
        add(report.top, depth: 0)
        html.add("</table></div></section>\n")
    }

    private mutating func add(_ place: ReportPlace, depth: Int) {
        if html.bytes.count > limit { return }
        let rows = words.rows(place)
        let extra = (place.reason == nil ? 0 : 1) + (place.closed == nil ? 0 : 1) + (place.omitted.places > 0 ? 1 : 0)
        html.add("<tbody role=\"rowgroup\" class=\"d")
        html.add(min(depth, 6))
        html.add("\" data-d=\"")
        html.add(depth)
        html.add("\" data-p=\"")
        html.add(name: report.shownPath(place.path, 0))
        html.add("\">")
        var isFirst = true
        for row in rows {
            open(place, &isFirst, rows: rows.count + extra, look: row.look)
            html.add("<th scope=\"row\" role=\"rowheader\">")
            html.add(text: row.what)
            html.add("</th>")
            cells(of: row.look, at: place, isFirst: row.what == rows.first?.what)
            html.add("</tr>\n")
        }
        if let reason = place.reason {
            let what = place.count == 1 ? "not readable" : "these \(PlaceText.grouped(place.count)) are not readable"
            remark("\(what): \(reason)", place, &isFirst, rows: extra)
        }
        if let closed = place.closed { remark("its contents are not readable: \(closed)", place, &isFirst, rows: rows.count + extra) }
        if place.omitted.places > 0 {
            let text =
                "\(PlaceText.counted(place.omitted.places, "place")) below that differ are left out "
                + "(\(PlaceText.counted(place.omitted.objects, "object")))"
            remark(text, place, &isFirst, rows: rows.count + extra)
        }
        html.add("</tbody>\n")
        for child in place.children { add(child, depth: depth + 1) }
    }

    private mutating func remark(_ text: String, _ place: ReportPlace, _ isFirst: inout Bool, rows: Int) {
        open(place, &isFirst, rows: rows, look: nil)
        html.add("<td role=\"cell\" colspan=\"9\">")
        html.add(text: text)
        html.add("</td></tr>\n")
    }

    /// Begins a row. The first has the path, for all rows of the place.
    private mutating func open(_ place: ReportPlace, _ isFirst: inout Bool, rows: Int, look: Int?) {
        html.add("<tr role=\"row\"")
        if let look {
            html.add(" data-v=\"")
            html.add(look)
            html.add("\" data-k=\"")
            html.add(report.looks[look].kind.rawValue)
            html.add("\"")
        }
        html.add(">")
        guard isFirst else { return }
        isFirst = false
        html.add("<th scope=\"rowgroup\" role=\"rowheader\" rowspan=\"")
        html.add(rows)
        html.add("\">")
        for (index, example) in place.examples.enumerated() {
            html.add(index == 0 ? "<code>" : "<span class=\"more\"><code>")
            html.add(name: report.shownPath(example, 0))
            html.add(index == 0 ? "</code>" : "</code></span>")
        }
        if place.count > place.examples.count {
            html.add("<span class=\"more\">")
            html.add(text: "and \(PlaceText.grouped(place.count - place.examples.count)) more")
            html.add("</span>")
        }
        html.add("</th>")
    }

    private mutating func cells(of number: Int, at place: ReportPlace, isFirst: Bool) {
        let look = report.looks[number]
        for (index, column) in ReportColumn.allCases.enumerated() {
            html.add("<td role=\"cell\" class=\"w c")
            html.add(index)
            html.add("\">")
            html.add(text: who.text(look.verdict, column.rights(of: look.kind)))
            html.add("</td>")
        }
        html.add("<td role=\"cell\" class=\"c5\">")
        for (index, part) in words.entries(look, at: place).enumerated() {
            if index > 0 { html.add(", ") }
            html.add(text: part.text)
            if let directory = part.directory {
                html.add("<code>")
                html.add(name: directory)
                html.add("</code>")
            }
        }
        html.add("</td><td role=\"cell\" class=\"c6\">")
        if isFirst {
            for kind in FindingKind.allCases where place.findings[kind.rawValue] > 0 {
                html.add("<a class=\"badge\" href=\"#f")
                html.add(kind.rawValue)
                html.add("\">")
                html.add(
                    text: kind.badge + (place.findings[kind.rawValue] > 1 ? ": \(PlaceText.grouped(place.findings[kind.rawValue]))" : ""))
                html.add("</a> ")
            }
        }
        html.add("</td><td role=\"cell\" class=\"c7\"><a href=\"#v")
        html.add(number)
        html.add("\">all rights</a></td>")
    }

    // MARK: All rights

    private mutating func rights() {
        html.add("<section id=\"rights\" aria-labelledby=\"rights-title\"><h2 id=\"rights-title\">All rights</h2>\n")
        for number in report.shownLooks(report.top).sorted() { add(look: report.looks[number], number) }
        html.add("</section>\n")
    }

    private mutating func add(look: Look, _ number: Int) {
        if html.bytes.count > limit { return }
        let isDirectory = look.kind == .folder
        html.add("<section class=\"look\" id=\"v")
        html.add(number)
        html.add("\" data-o=\"")
        html.add(text: Self.hexadecimal(look.verdict.others))
        html.add("\" data-a=\"")
        html.add(text: Self.hexadecimal(look.verdict.withoutAccount))
        html.add("\" aria-labelledby=\"h")
        html.add(number)
        html.add("\"><h3 id=\"h")
        html.add(number)
        html.add("\">")
        let noun = PlaceText.noun(look.kind)
        html.add(text: "\(noun.prefix(1).uppercased())\(noun.dropFirst())s, number \(number + 1)")
        html.add("</h3>\n<p>Owner, group, mode: ")
        let most = 8
        let facts = look.classes.prefix(most).map { self.facts(report.classes[$0]) }
        html.add(text: facts.joined(separator: "; ") + (look.classes.count > most ? "; and \(look.classes.count - most) others" : ""))
        html.add(
            look.executeVaries ? ". Some of these may be executed by others than the list says: their mode bits differ.</p>\n" : ".</p>\n")
        entries(of: look, isDirectory)
        html.add(
            "<table><thead><tr><th scope=\"col\">Who</th><th scope=\"col\">Rights</th></tr></thead><tbody>\n<tr><th scope=\"row\">everyone else</th><td>"
        )
        add(look.verdict.others, isDirectory)
        html.add("</td></tr>\n")
        if !report.subjects.unknown.isEmpty, look.verdict.withoutAccount != look.verdict.others {
            html.add("<tr><th scope=\"row\">users without an account</th><td>")
            add(look.verdict.withoutAccount, isDirectory)
            html.add("</td></tr>\n")
        }
        var alike: [RightMask: [Int]] = [:]
        for exception in look.verdict.exceptions { alike[exception.mask, default: []].append(exception.subject) }
        for (mask, subjects) in alike.sorted(by: { $0.value[0] < $1.value[0] }) {
            html.add("<tr data-s=\"")
            html.add(text: subjects.map { String($0) }.joined(separator: " "))
            html.add("\" data-m=\"")
            html.add(text: Self.hexadecimal(mask))
            html.add("\"><th scope=\"row\">")
            html.add(text: subjects.map { WhoText.name(report.subjects.all[$0]) }.joined(separator: ", "))
            html.add("</th><td>")
            add(mask, isDirectory)
            html.add("</td></tr>\n")
        }
        html.add("</tbody></table></section>\n")
    }

    private mutating func add(_ mask: RightMask, _ isDirectory: Bool) {
        let words = mask.words(isDirectory: isDirectory)
        html.add(text: words.isEmpty ? "none" : mask == .everyRight ? "every right" : words.joined(separator: ", "))
    }

    private mutating func entries(of look: Look, _ isDirectory: Bool) {
        if look.isProtected { html.add("<p>Inherits nothing from above (no_inherit).</p>\n") }
        if look.entries.isEmpty { return html.add("<p>No entries: the mode decides.</p>\n") }
        html.add("<p>Entries:</p><ul>\n")
        for line in ACLTextPrinter.lines(ACL(look.entries), isDirectory: isDirectory, names: names) {
            html.add("<li><code>")
            html.add(text: line.drop { $0 == " " }.utf8)
            html.add("</code></li>\n")
        }
        html.add("</ul>\n")
    }

    private func facts(_ item: ObjectClass) -> String {
        let owner = item.facts.ownerGUID.map { displayedIdentity($0, names: names) } ?? name(ofUser: item.facts.owner)
        let group = item.facts.groupGUID.map { displayedIdentity($0, names: names) } ?? name(ofGroup: item.facts.group)
        let digits = String(item.facts.mode.rawValue, radix: 8)
        let flags = item.facts.flags.isEmpty ? "" : ", \(FileFlagsText.shown(item.facts.flags))"
        let posix = item.facts.posixACL == nil ? "" : ", a POSIX ACL of the backing object"
        return "\(owner), \(group), \(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)\(flags)\(posix)"
    }

    private func name(ofUser uid: UInt32) -> String { names.name(of: GUID(user: uid))?.name ?? "uid \(uid)" }
    private func name(ofGroup gid: UInt32) -> String { names.name(of: GUID(group: gid))?.name ?? "gid \(gid)" }

    // MARK: People and gaps

    private mutating func people() {
        html.add("<section id=\"people\" aria-labelledby=\"people-title\"><h2 id=\"people-title\">Users and groups</h2>\n")
        html.add("<p>Those that own an object, or that an entry names, with their groups among these.</p>\n")
        html.add(
            "<table><thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Number</th><th scope=\"col\">Groups</th></tr></thead><tbody>\n")
        for subject in report.subjects.all.prefix(Self.mostSubjects) {
            html.add("<tr><th scope=\"row\">")
            html.add(text: WhoText.name(subject))
            html.add("</th><td>")
            switch subject.kind {
            case .user(let uid):
                html.add(text: "uid \(uid)")
                html.add("</td><td>")
                let groups = report.subjects.all.filter { other in
                    if case .group(let gid) = other.kind { subject.credential.membership(inGroup: gid) == .member } else { false }
                }
                html.add(text: subject.hasUnknownGroups ? "unknown: no account" : groups.map { WhoText.name($0) }.joined(separator: ", "))
            case .group(let gid):
                html.add(text: "gid \(gid)")
                html.add("</td><td>")
            }
            html.add("</td></tr>\n")
        }
        html.add("</tbody></table>")
        if report.subjects.all.count > Self.mostSubjects {
            html.add("<p>")
            html.add(text: "And \(PlaceText.grouped(report.subjects.all.count - Self.mostSubjects)) more, who cannot be chosen above.")
            html.add("</p>")
        }
        html.add("</section>\n")
    }

    private mutating func unreadable() {
        if report.unreadableCount == 0 { return }
        html.add("<section id=\"unreadable\" aria-labelledby=\"unreadable-title\"><h2 id=\"unreadable-title\">Not readable</h2>\n<ul>\n")
        for item in report.unreadable {
            html.add("<li><code>")
            html.add(name: report.shownPath(item.path, 0))
            html.add("</code> ")
            html.add(text: item.reason)
            html.add("</li>\n")
        }
        html.add("</ul>\n")
        if report.unreadableCount > report.unreadable.count {
            html.add("<p>")
            html.add(text: "And \(PlaceText.grouped(report.unreadableCount - report.unreadable.count)) more.")
            html.add("</p>\n")
        }
        html.add("</section>\n")
    }

    private static func hexadecimal(_ mask: RightMask) -> String { String(mask.rawValue, radix: 16) }
}

extension ReportPlace {
    /// The places that are left out here and below, and the objects in them.
    var omittedInAll: (places: Int, objects: Int) {
        children.reduce(omitted) { sum, child in
            let below = child.omittedInAll
            return (sum.places + below.places, sum.objects + below.objects)
        }
    }
}
