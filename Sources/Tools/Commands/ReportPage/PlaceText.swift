import ACLFormats

/// The words of the table of places.
struct PlaceText {
    let report: ReportValue

    /// A number with its noun.
    static func counted(_ count: Int, _ noun: String) -> String { "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")" }

    /// With a thin gap between thousands.
    static func grouped(_ count: Int) -> String {
        let digits = Array(String(count))
        return digits.enumerated().map { index, digit in
            (index > 0 && (digits.count - index) % 3 == 0 ? "\u{202F}" : "") + String(digit)
        }.joined()
    }

    static func noun(_ kind: KindGroup) -> String {
        switch kind {
        case .folder: "folder"
        case .file: "file"
        case .link: "symbolic link"
        case .special: "special file"
        }
    }

    /// The rows of a place: what each is about, and how it looks.
    func rows(_ place: ReportPlace) -> [(what: String, look: Int)] {
        guard let look = place.look else { return [] }
        var rows: [(what: String, look: Int)] = []
        var own: String = place.count == 1 ? "this \(Self.noun(place.kind))" : "these \(Self.counted(place.count, Self.noun(place.kind)))"
        let folders = place.lines[KindGroup.folder.rawValue]
        if let folders, folders.look == look { own += " and \(Self.counted(folders.count, "folder")) below" }
        rows.append((own, look))
        if let folders, folders.look != look { rows.append((Self.below(folders, .folder), folders.look)) }
        for kind in KindGroup.allCases where kind != .folder {
            guard let line = place.lines[kind.rawValue] else { continue }
            rows.append((Self.below(line, kind), line.look))
        }
        return rows
    }

    private static func below(_ line: ReportPlace.Line, _ kind: KindGroup) -> String {
        "\(counted(line.count, noun(kind))) below\(line.path.map { ": \(escapedName($0))" } ?? "")"
    }

    /// Where the entries of a look come from, as text and directory by turns.
    func entries(_ look: Look, at place: ReportPlace) -> [(text: String, directory: [UInt8]?)] {
        if look.entries.isEmpty { return [("none", nil)] }
        var counts: [EntryOrigin: Int] = [:]
        for origin in look.origins { counts[origin, default: 0] += 1 }
        func rank(_ origin: EntryOrigin) -> Int {
            switch origin {
            case .own: Int.min
            case .level(let level): -level
            case .above: Int.max - 1
            case .nowhere: Int.max
            }
        }
        return counts.sorted { rank($0.key) < rank($1.key) }.map { origin, count in
            switch origin {
            case .own: return ("\(count) of its own", nil)
            case .level(let level):
                // Of objects that are shown together only the directories above all of them are the same.
                if level > place.level || place.count > 1 && level > commonLevel(place) { return ("\(count) from their own folders", nil) }
                if level == place.level { return ("\(count) from this folder", nil) }
                return ("\(count) from ", report.shownPath(report.directory(at: level, above: place.path), level))
            case .above: return ("\(count) from above what was read", nil)
            case .nowhere: return ("\(count) from nowhere", nil)
            }
        }
    }

    /// The level of the deepest directory that all examples of a place have in common.
    private func commonLevel(_ place: ReportPlace) -> Int {
        let slash = UInt8(ascii: "/")
        let paths = place.examples.map { $0.split(separator: slash).dropLast() }
        guard let first = paths.first else { return 0 }
        return paths.dropFirst().reduce(first.count) { level, path in zip(first, path).prefix(level).prefix { $0 == $1 }.count }
    }
}

extension ReportValue {
    /// A path below the report's directory as the page shows it: the directory itself by its whole path.
    func shownPath(_ path: [UInt8], _ level: Int) -> [UInt8] {
        if level < 0 { return path }
        return path.isEmpty ? directory : path
    }
}
