import ACLFormats

/// What a wrong `-o` option is answered with; the text names the option and what would be right.
public struct MountOptionError: Error, Sendable, CustomStringConvertible {
    public let description: String
}

extension MountOptionError {
    static func wrongValue(_ name: String, _ refused: RefusedValue) -> MountOptionError {
        MountOptionError(description: "option '\(name)=\(refused.value)': expected \(refused.expected.joined(separator: ", "))")
    }

    static func needsValue(_ name: String) -> MountOptionError {
        MountOptionError(description: "option '\(name)' needs a value: \(name)=…")
    }

    static func takesNoValue(_ name: String, _ value: String) -> MountOptionError {
        MountOptionError(description: "option '\(name)' takes no value, but '\(value)' was given")
    }

    static func refused(_ name: String, because reason: String) -> MountOptionError {
        MountOptionError(description: "\(name) is refused: \(reason); leave it out")
    }

    /// - Parameter word: as it was said.
    static func unavailable(_ word: String) -> MountOptionError {
        MountOptionError(description: "option '\(word)' is not available yet; leave it out")
    }

    static func unknown(_ name: String) -> MountOptionError {
        // The opposite of a word is only two letters away.
        let negatives = name.hasPrefix("no") ? OptionTable.suggestions.filter { $0.hasPrefix("no") } : []
        let near = nearestWord(to: name.utf8, in: negatives) ?? nearestWord(to: name.utf8, in: OptionTable.suggestions)
        let hint = near.map { "; did you mean '\($0)'?" } ?? ""
        return MountOptionError(description: "unknown option '\(escapedName(name.utf8))'\(hint)")
    }
}

extension OptionTable {
    /// What a mistyped word may have been meant as. Of words that are equally near the first one is said: settings come before what is
    /// ignored, and those without a value before those with one.
    fileprivate static let suggestions: [String] = {
        func names(_ isMeant: (OptionRow, OptionWord) -> Bool) -> [String] {
            rows.flatMap { row in row.words.filter { isMeant(row, $0) }.map(\.name) }
        }
        let alone = names { $0.kind == .setting && $1.form == .alone }
        let valued = names { $0.kind == .setting && $0.subject != .kernel && $1.form != .alone && !alone.contains($1.name) }
        let ignored = names { $0.kind == .ignored && $1.form != .prefix }.sorted()
        let unavailable = names { row, _ in if case .unavailable = row.kind { true } else { false } }.sorted()
        return alone + valued + ignored + unavailable
    }()
}
