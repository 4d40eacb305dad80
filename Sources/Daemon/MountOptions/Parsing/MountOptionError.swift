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
        if let instead = OptionTable.instead[name] {
            return MountOptionError(description: "option '\(name)=' is refused: \(instead)")
        }
        // The opposite of a word is only two letters away.
        let negatives = name.hasPrefix("no") ? OptionTable.suggestions.filter { $0.hasPrefix("no") } : []
        let near = nearestWord(to: name.utf8, in: negatives) ?? nearestWord(to: name.utf8, in: OptionTable.suggestions)
        let hint = near.map { "; did you mean '\($0)'?" } ?? ""
        return MountOptionError(description: "unknown option '\(escapedName(name.utf8))'\(hint)")
    }
}

extension OptionTable {
    /// What aclfs has for options of file systems that store neither owners nor modes.
    fileprivate static let instead: [String: String] = {
        let owner =
            "objects keep the owners and groups that SOURCE has; noowners lets every user do what flags allow, "
            + "aclfs chmod -R +a 'user:NAME allow full_control,file_inherit,directory_inherit' gives them to one user, "
            + "and chown -R on SOURCE changes the owner"
        let mode =
            "objects keep the modes that SOURCE has, and the caller's umask counts for new ones; entries with file_inherit and "
            + "directory_inherit give rights to all new objects whatever the umask is (aclfs chmod --help)"
        return ["uid": owner, "gid": owner, "umask": mode, "fmask": mode, "dmask": mode, "file_mode": mode, "dir_mode": mode, "mode": mode]
    }()

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
