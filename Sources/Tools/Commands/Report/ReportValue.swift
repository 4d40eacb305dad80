import Authorization

/// All that a report says: what the page and the lines of JSON are made of.
struct ReportValue {
    /// Objects with a finding.
    struct FoundKind {
        var kind: FindingKind
        /// All objects, those below another with the same finding included.
        var objects = 0
        /// The paths of the topmost ones, with what was found; `mostExamples` at most.
        var examples: [(path: [UInt8], detail: String)] = []
        /// How many topmost ones there are.
        var topmost = 0

        static let mostExamples = 200
    }
    struct Unreadable {
        var path: [UInt8]
        var reason: String
        static let most = 500
    }

    /// The directory of the report, as a real path.
    var directory: [UInt8]
    var top: ReportPlace
    var looks: [Look]
    var classes: [ObjectClass]
    var subjects: ReportSubjects
    var findings: [FoundKind]
    var unreadable: [Unreadable]
    var unreadableCount: Int
    /// By `KindGroup`; unreadable objects are not among them.
    var counts: [Int]
    /// Sentences about what the report rests on.
    var notes: [String]

    var objects: Int { counts.reduce(0, +) }

    /// The looks that a place, or one below it, shows.
    func shownLooks(_ place: ReportPlace) -> Set<Int> {
        var shown = Set(place.lines.compactMap { $0?.look })
        if let look = place.look { shown.insert(look) }
        for child in place.children { shown.formUnion(shownLooks(child)) }
        return shown
    }

    /// The path of a directory on the way to an object.
    /// - Parameters:
    ///   - level: of the directory; see `EntryOrigin`.
    ///   - path: of the object, from the directory of the report.
    func directory(at level: Int, above path: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        if level < 0 { return self.directory.split(separator: slash).dropLast(-level).reduce(into: []) { $0 += [slash] + $1 } }
        return Array(path.split(separator: slash).prefix(level).joined(separator: [slash]))
    }
}
