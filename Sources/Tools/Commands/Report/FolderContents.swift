/// The contents of a folder that is being read. Memory depends on how many of them differ.
struct FolderContents {
    private var alike: [ReportPlace.Signature: ReportPlace] = [:]
    private var alone: [ReportPlace] = []
    private var omitted = (places: 0, objects: 0)

    /// The number of places that are kept.
    private(set) var places = 0

    mutating func add(_ place: ReportPlace) {
        if place.isAlone {
            places += place.places
            return alone.append(place)
        }
        let signature = place.signature
        if alike[signature] == nil {
            places += 1
            alike[signature] = place
        } else {
            alike[signature]?.merge(place)
        }
    }

    /// Keeps no more than so many places. The rest is counted.
    mutating func limit(to most: Int) {
        guard places > most else { return }
        var folder = ReportPlace(path: [], level: 0, kind: .folder, look: nil)
        folder.children = sorted
        let limited = folder.limited(to: most)
        (alike, alone, places) = ([:], [], 0)
        omitted.places += limited.omitted.places
        omitted.objects += limited.omitted.objects
        for child in limited.children { add(child) }
    }

    /// Moves the contents into their folder: what agrees becomes a line, what differs a place below it.
    func close(_ folder: inout ReportPlace) {
        let usual = usualLooks(in: folder)
        var rest = FolderContents()
        folder.omitted.places += omitted.places
        folder.omitted.objects += omitted.objects
        for place in sorted { Self.fold(place, into: &folder, usual, &rest) }
        folder.children = rest.sorted
    }

    private static func fold(_ place: ReportPlace, into folder: inout ReportPlace, _ usual: [Int?], _ rest: inout FolderContents) {
        guard let look = place.look, agrees(place, with: usual) else { return rest.add(place) }
        count(.init(look: look, count: place.count, path: place.path), in: &folder.lines[place.kind.rawValue])
        for (index, line) in place.lines.enumerated() { if let line { count(line, in: &folder.lines[index]) } }
        folder.add(place.findings)
        folder.omitted.places += place.omitted.places
        folder.omitted.objects += place.omitted.objects
        for child in place.children { fold(child, into: &folder, usual, &rest) }
    }

    private var sorted: [ReportPlace] { (Array(alike.values) + alone).sorted { $0.path.lexicographicallyPrecedes($1.path) } }

    private static func count(_ more: ReportPlace.Line, in line: inout ReportPlace.Line?) {
        let count = (line?.count ?? 0) + more.count
        line = ReportPlace.Line(look: more.look, count: count, path: count == 1 ? more.path : nil)
    }

    /// For each kind, how at least half of the contents look. A single object is a place of its own if it differs from its folder, or
    /// lies deeper.
    private func usualLooks(in folder: ReportPlace) -> [Int?] {
        var weights = [[Int: Int]](repeating: [:], count: KindGroup.allCases.count)
        var direct = [Set<Int>](repeating: [], count: KindGroup.allCases.count)
        func weigh(_ place: ReportPlace) {
            guard let look = place.look, place.closed == nil else { return }
            weights[place.kind.rawValue][look, default: 0] += place.count
            for (index, line) in place.lines.enumerated() { if let line { weights[index][line.look, default: 0] += line.count } }
        }
        for place in Array(alike.values) + alone {
            weigh(place)
            place.children.forEach(weigh)
            if let look = place.look { direct[place.kind.rawValue].insert(look) }
        }
        return KindGroup.allCases.map { kind in
            let (weights, direct) = (weights[kind.rawValue], direct[kind.rawValue])
            func rank(_ look: Int) -> (Int, Int, Int) { (weights[look] ?? 0, direct.contains(look) ? 1 : 0, -look) }
            guard let look = weights.keys.max(by: { rank($0) < rank($1) }), let weight = weights[look] else { return nil }
            let isEnough = weight > 1 || (kind == .folder ? look == folder.look : weights.count == 1 || direct == [look])
            return weight * 2 >= weights.values.reduce(0, +) && isEnough ? look : nil
        }
    }

    private static func agrees(_ place: ReportPlace, with usual: [Int?]) -> Bool {
        guard let look = place.look, place.closed == nil, usual[place.kind.rawValue] == look else { return false }
        return place.lines.enumerated().allSatisfy { index, line in line == nil || line?.look == usual[index] }
    }
}
