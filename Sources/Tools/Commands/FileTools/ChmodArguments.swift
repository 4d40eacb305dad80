import ACLFormats
import Authorization

/// A command line of chmod (docs/reference/authorization.md 7.5). No option parser reads it: `+a#` is no option, and `-w` is a mode.
package struct ChmodArguments: Sendable, Hashable {
    /// The requested change.
    package enum Change: Sendable, Hashable {
        case mode(ModeChange)
        /// `+a`, `+ai`, `+a#`, `+ai#`; without an index, at the canonical position.
        case add(text: [UInt8], index: Int?, inherited: Bool)
        /// `-a`
        case subtract(text: [UInt8])
        /// `-a#`
        case remove(index: Int)
        /// `=a#`; `=a` only for objects without an ACL.
        case replace(text: [UInt8], index: Int?)
        /// `-E -C -i -I -N`
        case whole(Whole)
    }
    /// A change of the whole list, by its letter.
    package enum Whole: Character, Sendable, Hashable, CaseIterable {
        case fromInput = "E"
        case checkCanonical = "C"
        case clearInherited = "i"
        case removeInherited = "I"
        case removeList = "N"
    }
    package var change: Change
    package var walk = WalkOptions()
    package var isQuiet = false
    /// The number of -v.
    package var verbosity = 0
    /// --offline: without a note of objects that lie on no mount. It is for modes.
    package var isOffline = false
    package var warnings: [String] = []
    package var paths: [[UInt8]] = []

    package static let usage = """
        usage: aclfs chmod [-fhv] [-R [-H | -L | -P]] [--offline] MODE FILE...
               aclfs chmod [OPTIONS] +a|+ai|-a ENTRY FILE...
               aclfs chmod [OPTIONS] +a#|+ai#|=a# N ENTRY FILE...
               aclfs chmod [OPTIONS] -a# N FILE...
               aclfs chmod [OPTIONS] -E|-C|-i|-I|-N FILE...
        """
    private static let letters = "RHLPhfvECiIN"

    /// - Parameter arguments: after the command's name.
    /// - Returns: `nil` for help.
    /// - Throws: the command line is wrong.
    package static func parse(_ arguments: [[UInt8]]) throws(UsageError) -> ChmodArguments? {
        var parsed = ChmodArguments(change: .whole(.removeList))
        var rest = arguments[...]
        var whole: [Whole] = []
        var verb: [UInt8]?
        var isEnded = false
        while let argument = rest.first, argument.first == UInt8(ascii: "-"), argument.count > 1 {
            // `-a`, `-a#` and modes such as `-w` are changes, not options.
            if isVerbOrMode(argument) { break }
            rest = rest.dropFirst()
            if argument.elementsEqual("--".utf8) {
                isEnded = true
                break
            }
            if argument.elementsEqual("--help".utf8) { return nil }
            if argument.elementsEqual("--offline".utf8) {
                parsed.isOffline = true
                continue
            }
            // -h is an option, but alone it means help.
            if arguments.count == 1, argument.elementsEqual("-h".utf8) { return nil }
            let long = LongOption.letter(of: argument, in: LongOption.ofTrees)
            for letter in long.map({ [$0] }) ?? Array(argument.dropFirst()) {
                if let known = Whole(rawValue: Character(UnicodeScalar(letter))) {
                    whole.append(known)
                } else if letter == UInt8(ascii: "f") {
                    parsed.isQuiet = true
                } else if letter == UInt8(ascii: "v") {
                    parsed.verbosity += 1
                } else if letter == UInt8(ascii: "x") || !parsed.walk.take(letter) {
                    let shown = argument.starts(with: "--".utf8) ? argument : [UInt8(ascii: "-"), letter]
                    throw .unknownOption(shown, known: letters.map { "-\($0)" } + ["-a", "-a#", "--offline"], long: LongOption.ofTrees)
                }
            }
        }
        parsed.walk = try parsed.walk.checked()
        if let first = whole.first {
            if Set(whole).count > 1 {
                throw UsageError("only one of -E, -C, -i, -I and -N may be given")
            }
            parsed.change = .whole(first)
        } else {
            guard let first = rest.popFirst() else { throw UsageError("no mode is given") }
            verb = first
            parsed.change = try change(first, &rest, &parsed.warnings)
        }
        if parsed.isOffline {
            guard case .mode = parsed.change else {
                throw UsageError("--offline is for modes; entries are changed on a mount, or by aclfs acl import --offline")
            }
        }
        parsed.paths = files(rest, isEnded: isEnded)
        if parsed.paths.isEmpty {
            throw UsageError("no file is given" + (verb.map { " after '\(escapedName($0))'" } ?? ""))
        }
        return parsed
    }

    private static func isVerbOrMode(_ argument: [UInt8]) -> Bool {
        "aXrwxstugo".utf8.contains(argument[1])
    }

    private static func change(
        _ verb: [UInt8], _ rest: inout ArraySlice<[UInt8]>, _ warnings: inout [String]
    ) throws(UsageError) -> Change {
        if let mode = ModeChange(verb) { return .mode(mode) }
        guard verb.count >= 2, verb[1] == UInt8(ascii: "a"), "+-=".utf8.contains(verb[0]) else {
            throw UsageError("'\(escapedName(verb))' is neither a mode nor one of +a +ai +a# +ai# -a -a# =a#")
        }
        var suffix = verb.dropFirst(2)
        let inherited = suffix.prefix { $0 == UInt8(ascii: "i") }.count
        suffix = suffix.dropFirst(inherited)
        let isIndexed = suffix.first == UInt8(ascii: "#")
        if isIndexed { suffix = suffix.dropFirst() }
        guard suffix.isEmpty, inherited == 0 || verb[0] != UInt8(ascii: "-") else {
            throw UsageError("'\(escapedName(verb))' is none of +a +ai +a# +ai# -a -a# =a#")
        }
        // All inherited entries count as one generation (docs/reference/authorization.md 7.4).
        if inherited > 1 { warnings.append("'\(escapedName(verb))': generations of inheritance are not told apart") }

        func next(_ what: String) throws(UsageError) -> [UInt8] {
            guard let argument = rest.popFirst() else {
                throw UsageError("\(what) is missing after '\(escapedName(verb))'")
            }
            return argument
        }
        let index = isIndexed ? try position(try next("a position")) : nil
        if verb[0] == UInt8(ascii: "-"), let index { return .remove(index: index) }
        let text = try next("an entry")
        switch verb[0] {
        case UInt8(ascii: "-"): return .subtract(text: text)
        case UInt8(ascii: "+"): return .add(text: text, index: index, inherited: inherited > 0)
        default: return .replace(text: text, index: index)
        }
    }

    /// Decimal, octal with a leading 0, hexadecimal with 0x; 0 to 128 (docs/reference/authorization.md 7.5, E_POSITION).
    static func position(_ text: [UInt8]) throws(UsageError) -> Int {
        let (digits, radix): (String, Int)
        let whole = String(decoding: text, as: UTF8.self)
        if whole.hasPrefix("0x") || whole.hasPrefix("0X") {
            (digits, radix) = (String(whole.dropFirst(2)), 16)
        } else {
            (digits, radix) = (whole, whole.hasPrefix("0") ? 8 : 10)
        }
        guard let first = digits.utf8.first, first != UInt8(ascii: "+"), let index = Int(digits, radix: radix),
            (0...ACL.maximumEntryCount).contains(index)
        else {
            throw UsageError("'\(escapedName(text))' is not a position from 0 to \(ACL.maximumEntryCount)")
        }
        return index
    }
}
