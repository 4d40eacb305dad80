import ACLFormats

extension Explanation {
    /// The explanation as a control message has it (docs/reference/control.md).
    ///
    /// - Parameter path: the path of a place. Without it a place is written as `second` (whether it lies on the second path) and `depth`.
    public func json(path: ((Place) -> [UInt8])? = nil) -> JSON {
        func members(_ place: Place) -> [JSON.Member] {
            if let path { return [.init(.path, path: path(place))] }
            return [.init(.isSecond, place.isSecondPath), .init(.depth, place.depth)]
        }
        let steps = steps.map { step in
            JSON.object(
                members(step.place) + [
                    .init(.rights, .texts(step.words)), .init(.allowed, step.isAllowed), .init(.stage, step.stage),
                    .init(.entry, step.entry.map { .string($0) } ?? .null),
                ])
        }
        let considered = considered.map { entry in
            JSON.object(
                members(entry.place) + [.init(.index, entry.index), .init(.entry, entry.entry), .init(.effect, entry.effect)])
        }
        return .object([
            .init(.allowed, isAllowed), .init(.errno, denial.map { .string($0) } ?? .null), .init(.steps, .array(steps)),
            .init(.considered, .array(considered)), .init(.notes, .texts(notes)),
        ])
    }

    /// Reads the result of `json()`; nil for anything else.
    public init?(json: JSON) {
        self.init()
        guard let allowed = json[.allowed]?.bool, let steps = json[.steps]?.array, let considered = json[.considered]?.array,
            let notes = json[.notes]?.array
        else { return nil }
        denial = json[.errno]?.string
        guard allowed == (denial == nil) else { return nil }
        self.notes = notes.compactMap(\.string)
        for step in steps {
            guard let place = Place(json: step), let words = step[.rights]?.array, let isAllowed = step[.allowed]?.bool,
                let stage = step[.stage]?.string
            else { return nil }
            self.steps.append(
                Step(place: place, words: words.compactMap(\.string), isAllowed: isAllowed, stage: stage, entry: step[.entry]?.string))
        }
        for entry in considered {
            guard let place = Place(json: entry), let index = entry[.index]?.integer, let text = entry[.entry]?.string,
                let effect = entry[.effect]?.string
            else { return nil }
            self.considered.append(Considered(place: place, index: Int(clamping: index), entry: text, effect: effect))
        }
    }
}

extension Explanation.Place {
    fileprivate init?(json: JSON) {
        guard let isSecond = json[.isSecond]?.bool, let depth = json[.depth]?.integer, depth >= 0 else { return nil }
        self.init(isSecondPath: isSecond, depth: Int(clamping: depth))
    }
}
