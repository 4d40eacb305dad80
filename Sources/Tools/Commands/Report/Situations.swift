import Authorization

/// What the report says about objects in their surroundings, each found once. Most objects of a tree are in the same few situations.
struct Situations {
    /// What decides about one object: its class and its surroundings, by their numbers.
    struct Situation: Hashable {
        var number: Int
        var parent: Int?
        var reach: Int
        var origins: Int
    }
    struct Answer {
        var look: Int
        var findings: [UnusualFact]
        var kinds: FindingKinds
    }
    private struct LookKey: Hashable {
        var kind: KindGroup
        var verdict: Verdict
        var entries: [ACE]
        var origins: [EntryOrigin]
        var isProtected: Bool
    }
    /// A list and its directory, below which others inherit it.
    private struct Inheritance: Hashable {
        var number: Int
        var parent: Int?
        var parentOrigins: Int
        var level: Int
    }
    private struct Step: Hashable {
        var reach: Int
        var number: Int
    }

    let maker: VerdictMaker
    private let rules: FindingRules
    private(set) var looks: [Look] = []
    private var answers: [Situation: Answer] = [:]
    private var lookNumbers: [LookKey: Int] = [:]
    /// The first is that of all callers.
    private var reaches = Numbered(Reach())
    private var reachSteps: [Step: Int] = [:]
    /// Origins of the entries of lists. The first is that of no entries.
    private var lists = Numbered<[EntryOrigin]>([])
    private var listSteps: [Inheritance: Int] = [:]

    init(_ maker: VerdictMaker) { (self.maker, rules) = (maker, FindingRules(subjects: maker.subjects)) }

    /// - Parameter isTop: whether the object is the directory of the report.
    mutating func answer(_ situation: Situation, isTop: Bool) -> Answer {
        if !isTop, let known = answers[situation] { return known }
        let item = maker.classes[situation.number]
        let verdict = maker.verdict(of: situation.number, in: situation.parent, reaches.all[situation.reach])
        let findings = rules.findings(item, lists.all[situation.origins], verdict, isTop: isTop)
        let look = look(of: item, situation.number, verdict, lists.all[situation.origins])
        let kinds = findings.reduce(into: FindingKinds()) { $0.insert(FindingKinds($1.kind)) }
        let answer = Answer(look: look, findings: findings, kinds: kinds)
        if !isTop { answers[situation] = answer }
        return answer
    }

    private mutating func look(of item: ObjectClass, _ number: Int, _ verdict: Verdict, _ origins: [EntryOrigin]) -> Int {
        let kind = KindGroup(item.facts.kind)
        let key = LookKey(
            kind: kind, verdict: kind == .folder ? verdict : verdict.without(.execute, maker.subjects), entries: item.entries,
            origins: origins, isProtected: item.isProtected)
        if let known = lookNumbers[key] {
            if looks[known].verdict != verdict { looks[known].executeVaries = true }
            if !looks[known].classes.contains(number) { looks[known].classes.append(number) }
            return known
        }
        looks.append(
            Look(kind: kind, verdict: verdict, entries: item.entries, origins: origins, isProtected: item.isProtected, classes: [number]))
        lookNumbers[key] = looks.count - 1
        return looks.count - 1
    }

    /// - Returns: the number of the callers who come into a directory, of those who come as far as the one above it.
    mutating func reach(into number: Int, from reach: Int) -> Int {
        let step = Step(reach: reach, number: number)
        if let known = reachSteps[step] { return known }
        let inside = maker.reach(into: number, from: reaches.all[reach])
        let number = reaches.number(of: inside)
        reachSteps[step] = number
        return number
    }

    /// - Parameters:
    ///   - number: the class of an object.
    ///   - parent: that of its directory; nil if that was not read.
    ///   - parentOrigins: the number of the origins of the directory's list.
    ///   - level: the directory's.
    /// - Returns: the number of the origins of the object's list.
    mutating func origins(of number: Int, in parent: Int?, _ parentOrigins: Int, level: Int) -> Int {
        if maker.classes[number].entries.isEmpty { return 0 }
        let key = Inheritance(number: number, parent: parent, parentOrigins: parentOrigins, level: level)
        if let known = listSteps[key] { return known }
        let item = maker.classes[number]
        let list = parent.map { OriginatedList(entries: maker.classes[$0].entries, origins: lists.all[parentOrigins], level: level) }
        let result = lists.number(of: EntryOrigin.of(item.entries, item.facts.kind, in: list))
        listSteps[key] = result
        return result
    }
}
