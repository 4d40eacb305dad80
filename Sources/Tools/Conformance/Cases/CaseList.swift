/// Every case of a run.
public struct CaseList {
    let numbers: Numbers
    var cases: [ConformanceCase] = []

    /// - Parameters:
    ///   - numbers: of the subjects.
    ///   - keepsSystemFlags: why root could not clear `schg` again on this mount; nil if it can.
    /// - Returns: the cases, by the rule that they show first; of one rule, vectors first.
    public static func all(_ numbers: Numbers, keepsSystemFlags: String? = nil) -> [ConformanceCase] {
        var list = CaseList(numbers: numbers)
        list.cases = VectorCases.all(numbers)
        list.addEntries()
        list.addCallers()
        list.addNames()
        list.addNewObjects()
        list.addAttributes()
        list.addForms()
        list.addData()
        list.cases += UnshownRules.all
        if let keepsSystemFlags {
            for index in list.cases.indices where list.cases[index].setsSystemFlags { list.cases[index].skipped = keepsSystemFlags }
        }
        return list.cases.enumerated().sorted { left, right in
            (left.element.rules.first ?? .max, left.offset) < (right.element.rules.first ?? .max, right.offset)
        }.map(\.element)
    }

    mutating func add(_ rules: Int..., title: String, _ build: (inout Scene) -> Void) {
        var scene = Scene(numbers)
        build(&scene)
        var made = ConformanceCase(rules: rules, title: title)
        (made.setup, made.steps, made.skipped) = (scene.setup, scene.steps, scene.skipped)
        cases.append(made)
    }
}

extension ConformanceCase {
    /// Whether root sets a flag that only root at securelevel 0 clears.
    var setsSystemFlags: Bool {
        setup.contains { $0.words.count > 3 && $0.words[2].elementsEqual("system.aclfs.flags".utf8) && $0.words[3].starts(with: "s".utf8) }
    }
}
