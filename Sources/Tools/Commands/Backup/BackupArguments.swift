import ACLFormats
import SandboxPolicy

/// A command line of `aclfs backup`.
package struct BackupArguments: Sendable, Hashable {
    /// The first word.
    package enum Verb: String, CaseIterable, Sendable { case exclude, include, status, list, layout }
    package var verb: Verb
    /// Behind `layout`: what directories declare; nil: nothing more.
    package var layout: DeclaredLayout?
    package var format = BackupListFormat.lines
    /// -0: items end in NUL.
    package var endsInNUL = false
    package var wantsJSON = false
    /// --offline: the paths lie in a backing directory.
    package var isOffline = false
    package var paths: [[UInt8]] = []

    package static let usage = """
        usage: aclfs backup exclude PATH...
               aclfs backup include PATH...
               aclfs backup status [--json] [--offline] PATH...
               aclfs backup list [-0] [--format=FORMAT] [--offline] PATH...
               aclfs backup layout ios|container|none PATH...
        """
    package static let help =
        usage + """


            Options:

              --json           prints the status as JSON
              -0, --null       ends each item of a list in NUL
              --format=FORMAT  for which program a list is: lines (default), null, rsync,
                               tar, restic or borg
              --offline        reads a backing directory instead of a mount
            """

    /// - Parameter arguments: after the command's name.
    /// - Returns: `nil` for help.
    /// - Throws: the command line is wrong.
    package static func parse(_ arguments: [[UInt8]]) throws(UsageError) -> BackupArguments? {
        let words = Verb.allCases.map(\.rawValue)
        guard let first = arguments.first else { throw UsageError("one of \(words.joined(separator: ", ")) is needed") }
        if isHelp(first) || first.elementsEqual("help".utf8) { return nil }
        guard let verb = Verb(rawValue: String(decoding: first, as: UTF8.self)) else {
            throw UsageError(unknown("word", first, words))
        }
        var parsed = BackupArguments(verb: verb)
        var takesOptions = true
        var rest = arguments.dropFirst()
        while let word = rest.popFirst() {
            guard takesOptions, word.first == UInt8(ascii: "-"), word.count > 1 else {
                parsed.paths.append(word)
                continue
            }
            if isHelp(word) { return nil }
            if word.elementsEqual("--".utf8) {
                takesOptions = false
            } else if word.elementsEqual("--format".utf8) {
                guard let value = rest.popFirst() else { throw UsageError("--format needs a value") }
                try parsed.take(format: value, option: word)
            } else if word.starts(with: "--format=".utf8) {
                try parsed.take(format: Array(word.dropFirst("--format=".utf8.count)), option: word)
            } else if verb == .list, word.elementsEqual("-0".utf8) || word.elementsEqual("--null".utf8) {
                parsed.endsInNUL = true
            } else if verb == .status, word.elementsEqual("--json".utf8) {
                parsed.wantsJSON = true
            } else if verb == .status || verb == .list, word.elementsEqual("--offline".utf8) {
                parsed.isOffline = true
            } else {
                throw parsed.unknownOption(word)
            }
        }
        return try parsed.checked()
    }

    private mutating func take(format: [UInt8], option: [UInt8]) throws(UsageError) {
        guard verb == .list else { throw unknownOption(option) }
        guard let known = BackupListFormat(rawValue: String(decoding: format, as: UTF8.self)) else {
            throw UsageError(Self.unknown("format", format, BackupListFormat.allCases.map(\.rawValue)))
        }
        self.format = known
    }

    private static let noLayout = "none"

    private func checked() throws(UsageError) -> BackupArguments {
        if verb == .layout { return try withLayout() }
        if paths.isEmpty { throw UsageError("no path is given after '\(verb.rawValue)'") }
        if endsInNUL, format != .null, format != .lines, format != .rsync {
            throw UsageError("\(format.rawValue) cannot read a list whose items end in NUL (-0)")
        }
        if verb == .list, format.isRelative, paths.count > 1 {
            throw UsageError("patterns for \(format.rawValue) are relative to a directory; name only one")
        }
        return self
    }

    /// The first operand is the word of a layout.
    private func withLayout() throws(UsageError) -> BackupArguments {
        let words = DeclaredLayout.allCases.map(\.rawValue) + [Self.noLayout]
        var parsed = self
        guard let word = paths.first else { throw UsageError("one of \(words.joined(separator: ", ")) is needed after 'layout'") }
        parsed.layout = DeclaredLayout(value: word)
        if parsed.layout == nil, !word.elementsEqual(Self.noLayout.utf8) { throw UsageError(Self.unknown("layout", word, words)) }
        parsed.paths.removeFirst()
        if parsed.paths.isEmpty { throw UsageError("no path is given after '\(String(decoding: word, as: UTF8.self))'") }
        return parsed
    }

    private func unknownOption(_ option: [UInt8]) -> UsageError {
        let known: [String] =
            switch verb {
            case .exclude, .include, .layout: ["--help"]
            case .status: ["--json", "--offline", "--help"]
            case .list: ["-0", "--null", "--format", "--offline", "--help"]
            }
        return UsageError(Self.unknown("option", option, known))
    }

    private static func isHelp(_ word: [UInt8]) -> Bool {
        word.elementsEqual("--help".utf8) || word.elementsEqual("-h".utf8)
    }

    private static func unknown(_ what: String, _ word: [UInt8], _ known: [String]) -> String {
        let hint =
            nearestWord(to: word, in: known).map { "did you mean '\($0)'?" }
            ?? "expected \(known.joined(separator: ", "))"
        return "unknown \(what) '\(escapedName(word))'; \(hint)"
    }
}
