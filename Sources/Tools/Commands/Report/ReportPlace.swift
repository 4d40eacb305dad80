import Authorization

/// What the report says about objects that look alike in it: who may do what, and the entries with their origins.
struct Look {
    var kind: KindGroup
    /// With the execute right of files of the first object; see `executeVaries`.
    var verdict: Verdict
    /// Whether the execute right of files differs among the objects. It alone makes no line of its own: programs lie among texts.
    var executeVaries = false
    /// One class, for the entries.
    var entries: [ACE]
    var origins: [EntryOrigin]
    /// Whether the list takes nothing from a directory above.
    var isProtected = false
    /// The classes that were met, by their numbers.
    var classes: [Int] = []
}

/// One place of the report: a folder with all below it that agrees, an object that differs from its surroundings, or several such
/// objects that look alike.
struct ReportPlace {
    /// Objects below a folder that look alike.
    struct Line: Hashable {
        var look: Int
        var count: Int
        /// Of a single object, its path.
        var path: [UInt8]?
    }

    /// From the directory of the report, which has an empty path. Of several objects the first.
    var path: [UInt8]
    var level: Int
    var kind: KindGroup
    /// nil for objects whose facts cannot be read.
    var look: Int?
    /// Why the facts cannot be read.
    var reason: String?
    /// Why the names in the folder cannot be read.
    var closed: String?
    /// The number of objects that look alike, without their contents.
    var count = 1
    /// Some of their paths, `mostExamples` at most, sorted.
    var examples: [[UInt8]]
    /// What lies below and agrees, by `KindGroup`.
    var lines: [Line?] = [nil, nil, nil, nil]
    /// Objects with a finding among those counted here, by `FindingKind`.
    var findings = [Int](repeating: 0, count: FindingKind.allCases.count)
    /// Places below that differ.
    var children: [ReportPlace] = []
    /// Places below that differ and are left out, and the objects in them.
    var omitted = (places: 0, objects: 0)

    static let mostExamples = 6

    init(path: [UInt8], level: Int, kind: KindGroup, look: Int?, reason: String? = nil) {
        (self.path, self.level, self.kind, self.look, self.reason) = (path, level, kind, look, reason)
        examples = [path]
    }

    /// What two places need in common to be shown as one.
    struct Signature: Hashable {
        var kind: KindGroup
        var look: Int?
        var reason: String?
        var closed: String?
        var lines: [Int?]
    }
    var signature: Signature { Signature(kind: kind, look: look, reason: reason, closed: closed, lines: lines.map { $0?.look }) }

    /// Whether it can be shown together with others.
    var isAlone: Bool { !children.isEmpty || omitted.places > 0 }

    /// The number of places, itself included.
    var places: Int { children.reduce(1) { $0 + $1.places } }
    /// The number of objects, itself included.
    var objects: Int { children.reduce(count + below + omitted.objects) { $0 + $1.objects } }
    private var below: Int { lines.reduce(0) { $0 + ($1?.count ?? 0) } }

    mutating func add(_ counts: [Int]) { for index in counts.indices { findings[index] += counts[index] } }

    /// Counts another place of the same signature.
    mutating func merge(_ other: ReportPlace) {
        count += other.count
        for index in lines.indices where lines[index] != nil {
            lines[index]?.count += other.lines[index]?.count ?? 0
            lines[index]?.path = nil
        }
        add(other.findings)
        for example in other.examples {
            if examples.count == Self.mostExamples {
                guard let last = examples.last, example.lexicographicallyPrecedes(last) else { continue }
                examples.removeLast()
            }
            examples.insert(example, at: examples.firstIndex { example.lexicographicallyPrecedes($0) } ?? examples.endIndex)
        }
        (path, level) = (examples[0], path == examples[0] ? level : other.level)
    }

    mutating func leaveOut(_ place: ReportPlace) {
        omitted.places += place.places + place.omittedBelow
        omitted.objects += place.objects
    }
    private var omittedBelow: Int { children.reduce(omitted.places) { $0 + $1.omittedBelow } }
}

extension ReportPlace {
    /// Leaves out the deepest places, until so many are left.
    func limited(to most: Int) -> ReportPlace {
        var counts: [Int] = []
        count(at: 0, &counts)
        var (depth, sum) = (0, 0)
        while depth < counts.count, sum + counts[depth] <= most {
            sum += counts[depth]
            depth += 1
        }
        if depth == counts.count { return self }
        // Of the first level that is too wide, the first ones stay.
        var room = depth <= 1 ? max(0, most - sum) : 0
        return cut(to: max(depth - 1, 0), &room)
    }

    private func count(at depth: Int, _ counts: inout [Int]) {
        if counts.count <= depth { counts.append(0) }
        counts[depth] += 1
        for child in children { child.count(at: depth + 1, &counts) }
    }

    private func cut(to depth: Int, _ room: inout Int) -> ReportPlace {
        var place = self
        place.children = []
        for child in children {
            if depth > 0 {
                place.children.append(child.cut(to: depth - 1, &room))
            } else if room > 0 {
                room -= 1
                var none = 0
                place.children.append(child.cut(to: 0, &none))
            } else {
                place.leaveOut(child)
            }
        }
        return place
    }
}
