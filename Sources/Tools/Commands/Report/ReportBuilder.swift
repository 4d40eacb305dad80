import Authorization

/// Makes a report from what a walk met. It keeps the directories above the present one, and what differs in them.
struct ReportBuilder {
    private struct Frame {
        var place: ReportPlace
        var number: Int
        /// Who may come into it.
        var reach: Int
        var origins: Int
        var kinds: FindingKinds
        var contents = FolderContents()
        /// The length of `path` above it.
        var length: Int
    }

    private var situations: Situations
    private let mostPlaces: Int
    private var frames: [Frame] = []
    private var path: [UInt8] = []
    private var found = FindingKind.allCases.map { ReportValue.FoundKind(kind: $0) }
    private var unreadable: [ReportValue.Unreadable] = []
    private var unreadableCount = 0
    private var counts = [Int](repeating: 0, count: KindGroup.allCases.count)
    private var top: ReportPlace?
    /// Why the directory of the report cannot be read.
    var topFailure: String? { top == nil ? unreadable.first?.reason : nil }
    /// The classes of the directories above, the lowest last.
    private let above: [Int]
    private var kept = 0

    /// - Parameters:
    ///   - maker: asks the authorizer.
    ///   - above: the classes of the directories above the report's directory, as far as they were read, the lowest last.
    ///   - mostPlaces: about how many places are kept in memory.
    init(_ maker: VerdictMaker, above: [Int] = [], mostPlaces: Int = 20_000) {
        (situations, self.above, self.mostPlaces) = (Situations(maker), above, mostPlaces)
    }

    mutating func take(_ event: ReportEvent) {
        switch event {
        case .enter(let name, let number): enter(name, number)
        case .object(let name, let number): add(name, number)
        case .unreadable(let name, let reason): miss(name, reason)
        case .unlisted(let reason):
            guard let last = frames.indices.last else { return }
            frames[last].place.closed = reason
            note(path, "its contents: \(reason)")
        case .leave: leave()
        }
    }

    /// - Returns: the report; nil if the directory itself was never met.
    func report(of directory: [UInt8], notes: [String]) -> ReportValue? {
        guard let top else { return nil }
        var sorted = found
        for index in sorted.indices { sorted[index].examples.sort { $0.path.lexicographicallyPrecedes($1.path) } }
        return ReportValue(
            directory: directory, top: top, looks: situations.looks, classes: situations.maker.classes, subjects: situations.maker.subjects,
            findings: sorted, unreadable: unreadable.sorted { $0.path.lexicographicallyPrecedes($1.path) },
            unreadableCount: unreadableCount, counts: counts, notes: notes)
    }

    // MARK: The walk

    private mutating func enter(_ name: [UInt8], _ number: Int) {
        let length = path.count
        push(name)
        guard let parent = frames.last else { return enterTop(number) }
        let origin = situations.origins(of: number, in: parent.number, parent.origins, level: frames.count - 1)
        let answer = situations.answer(
            Situations.Situation(number: number, parent: parent.number, reach: parent.reach, origins: origin), isTop: false)
        begin(number, answer, reach: situations.reach(into: number, from: parent.reach), origins: origin, length: length)
    }

    private mutating func enterTop(_ number: Int) {
        // Level by level from the highest directory that was read.
        var (reach, origin) = (0, 0)
        var parent: Int?
        for (index, directory) in above.enumerated() {
            origin = situations.origins(of: directory, in: parent, origin, level: index - above.count - 1)
            reach = situations.reach(into: directory, from: reach)
            parent = directory
        }
        origin = situations.origins(of: number, in: parent, origin, level: -1)
        let answer = situations.answer(Situations.Situation(number: number, parent: parent, reach: reach, origins: origin), isTop: true)
        begin(number, answer, reach: situations.reach(into: number, from: reach), origins: origin, length: 0)
    }

    private mutating func begin(_ number: Int, _ answer: Situations.Answer, reach: Int, origins: Int, length: Int) {
        var place = ReportPlace(path: path, level: frames.count, kind: .folder, look: answer.look)
        note(answer, in: &place)
        counts[KindGroup.folder.rawValue] += 1
        frames.append(Frame(place: place, number: number, reach: reach, origins: origins, kinds: answer.kinds, length: length))
    }

    private mutating func add(_ name: [UInt8], _ number: Int) {
        guard let parent = frames.last else { return }
        let origin = situations.origins(of: number, in: parent.number, parent.origins, level: frames.count - 1)
        let answer = situations.answer(
            Situations.Situation(number: number, parent: parent.number, reach: parent.reach, origins: origin), isTop: false)
        let kind = KindGroup(situations.maker.classes[number].facts.kind)
        counts[kind.rawValue] += 1
        let length = path.count
        push(name)
        var place = ReportPlace(path: path, level: frames.count, kind: kind, look: answer.look)
        note(answer, in: &place)
        path.removeLast(path.count - length)
        keep(place)
    }

    private mutating func miss(_ name: [UInt8], _ reason: String) {
        let length = path.count
        push(name)
        note(path, reason)
        let place = ReportPlace(path: path, level: frames.count, kind: .special, look: nil, reason: reason)
        path.removeLast(path.count - length)
        if frames.isEmpty { return }
        keep(place)
    }

    private mutating func leave() {
        guard var frame = frames.popLast() else { return }
        let before = frame.contents.places
        frame.contents.close(&frame.place)
        kept -= before
        path.removeLast(path.count - frame.length)
        if frames.isEmpty { top = frame.place } else { keep(frame.place) }
    }

    private mutating func keep(_ place: ReportPlace) {
        let last = frames.count - 1
        let before = frames[last].contents.places
        frames[last].contents.add(place)
        kept += frames[last].contents.places - before
        guard kept > mostPlaces else { return }
        kept = 0
        for index in frames.indices {
            frames[index].contents.limit(to: mostPlaces / 2 / frames.count)
            kept += frames[index].contents.places
        }
    }

    private mutating func push(_ name: [UInt8]) {
        if !path.isEmpty { path.append(UInt8(ascii: "/")) }
        path += name
    }

    // MARK: Findings

    private mutating func note(_ answer: Situations.Answer, in place: inout ReportPlace) {
        let above = frames.last?.kinds ?? []
        for finding in answer.findings {
            let index = finding.kind.rawValue
            place.findings[index] += 1
            found[index].objects += 1
            if finding.kind.coversContents, above.contains(FindingKinds(finding.kind)) { continue }
            found[index].topmost += 1
            if found[index].examples.count < ReportValue.FoundKind.mostExamples {
                found[index].examples.append((path: place.path, detail: finding.detail))
            }
        }
    }

    private mutating func note(_ path: [UInt8], _ reason: String) {
        unreadableCount += 1
        if unreadable.count < ReportValue.Unreadable.most { unreadable.append(.init(path: path, reason: reason)) }
    }
}
