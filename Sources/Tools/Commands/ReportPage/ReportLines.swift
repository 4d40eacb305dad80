import ACLFormats
import Authorization

/// The same facts for programs: a line of JSON for each (docs/guide/report.md "JSON").
struct ReportLines {
    let report: ReportValue
    let names: any IdentityNames

    /// Hands each line to `write`.
    func write(to write: ([UInt8]) -> Void) {
        func line(_ type: String, _ members: [JSON.Member]) {
            write(JSONText.write(.object([.init("type", .string(type))] + members)) + [0x0A])
        }
        line(
            "report",
            [
                JSON.path(report.directory), Self.number("objects", report.objects), Self.number("unreadable", report.unreadableCount),
                .init("notes", .array(report.notes.map { .string($0) })),
            ])
        for (index, subject) in report.subjects.all.enumerated() { line("subject", members(of: subject, index)) }
        for number in report.shownLooks(report.top).sorted() { line("rights", members(of: report.looks[number], number)) }
        add(report.top, line)
        for item in report.findings {
            for example in item.examples {
                line(
                    "unusual", [.init("kind", .string(item.kind.word)), JSON.path(example.path), .init("detail", .string(example.detail))])
            }
            if item.objects > 0 {
                line(
                    "unusual_count",
                    [
                        .init("kind", .string(item.kind.word)), Self.number("objects", item.objects),
                        Self.number("listed", item.examples.count),
                    ])
            }
        }
        for item in report.unreadable { line("unreadable", [JSON.path(item.path), .init("reason", .string(item.reason))]) }
    }

    private func members(of subject: ReportSubject, _ index: Int) -> [JSON.Member] {
        let (kind, number): (String, UInt32) =
            switch subject.kind {
            case .user(let uid): ("user", uid)
            case .group(let gid): ("group", gid)
            }
        return [
            Self.number("subject", index), .init("kind", .string(kind)), .init("number", .integer(Int64(number))),
            .init("name", subject.name.map { .string($0) } ?? .null),
        ]
    }

    private func members(of look: Look, _ number: Int) -> [JSON.Member] {
        let isDirectory = look.kind == .folder
        func words(_ mask: RightMask) -> JSON { .array(mask.words(isDirectory: isDirectory).map { .string($0) }) }
        let entries = look.entries.map { ACLTextPrinter.line($0, isDirectory: isDirectory, names: names) }
        return [
            Self.number("rights", number), .init("kind", .string(PlaceText.noun(look.kind))),
            .init("everyone_else", words(look.verdict.others)),
            .init("without_account", words(look.verdict.withoutAccount)),
            .init(
                "subjects",
                .array(
                    look.verdict.exceptions.map { exception in
                        .object([Self.number("subject", exception.subject), .init("rights", words(exception.mask))])
                    })),
            .init(
                "entries",
                .array(
                    zip(entries, look.origins).map { entry, origin in
                        .object([.init("text", .string(entry)), .init("origin", Self.json(origin))])
                    })),
            .init("no_inherit", .bool(look.isProtected)), .init("execute_varies", .bool(look.executeVaries)),
        ]
    }

    /// The level of a directory, or a word.
    private static func json(_ origin: EntryOrigin) -> JSON {
        switch origin {
        case .own: .string("own")
        case .level(let level): .integer(Int64(level))
        case .above: .string("above")
        case .nowhere: .string("nowhere")
        }
    }

    private func add(_ place: ReportPlace, _ line: (String, [JSON.Member]) -> Void) {
        var members = [JSON.path(place.path), Self.number("level", place.level), Self.number("count", place.count)]
        if place.count > 1 { members.append(.init("examples", .array(place.examples.map { .object([JSON.path($0)]) }))) }
        if let look = place.look { members.append(Self.number("rights", look)) }
        if let reason = place.reason { members.append(.init("not_readable", .string(reason))) }
        if let closed = place.closed { members.append(.init("contents_not_readable", .string(closed))) }
        let below = zip(KindGroup.allCases, place.lines).compactMap { kind, below in
            below.map { line in
                JSON.object(
                    [
                        .init("kind", .string(PlaceText.noun(kind))), Self.number("count", line.count), Self.number("rights", line.look),
                    ] + (line.path.map { [JSON.path($0)] } ?? []))
            }
        }
        if !below.isEmpty { members.append(.init("below", .array(below))) }
        let unusual = FindingKind.allCases.filter { place.findings[$0.rawValue] > 0 }
            .map { Self.number($0.word, place.findings[$0.rawValue]) }
        if !unusual.isEmpty { members.append(.init("unusual", .object(unusual))) }
        if place.omitted.places > 0 {
            members.append(Self.number("left_out_places", place.omitted.places))
            members.append(Self.number("left_out_objects", place.omitted.objects))
        }
        line("place", members)
        for child in place.children { add(child, line) }
    }

    private static func number(_ name: String, _ value: Int) -> JSON.Member { .init(name, .integer(Int64(value))) }
}
