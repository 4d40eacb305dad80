import ACLFormats

/// Why a command line is wrong.
package struct UsageError: Error, Sendable, Hashable {
    package var message: String
    package init(_ message: String) { self.message = message }

    /// An unknown option, with the known ones.
    static func unknownOption(_ option: [UInt8], known: [String]) -> UsageError {
        let nearest = option.starts(with: "--".utf8) ? nearestWord(to: option, in: ["--help"]) : nil
        let hint = nearest.map { "; did you mean '\($0)'?" } ?? "; the options are \(known.joined(separator: " "))"
        return UsageError("unknown option '\(escapedName(option))'\(hint)")
    }
}

/// Options of one letter, several of which may follow one dash.
struct LetterOptions {
    /// The letters in their order.
    private(set) var letters: [UInt8] = []
    private(set) var operands: [[UInt8]] = []
    private(set) var wantsHelp = false

    /// Options end at `--`, at a single dash and at the first operand.
    /// - Parameter known: the letters that exist.
    /// - Throws: an option is unknown.
    init(_ arguments: [[UInt8]], known: String) throws(UsageError) {
        var rest = arguments[...]
        // -h is an option of some commands, but alone it means help.
        if arguments.count == 1, arguments[0].elementsEqual("-h".utf8) { (wantsHelp, rest) = (true, []) }
        while let argument = rest.first, argument.first == UInt8(ascii: "-"), argument.count > 1 {
            rest = rest.dropFirst()
            if argument.elementsEqual("--".utf8) { break }
            if argument.elementsEqual("--help".utf8) {
                wantsHelp = true
                continue
            }
            for letter in argument.dropFirst() {
                guard known.utf8.contains(letter) else {
                    let shown = argument.starts(with: "--".utf8) ? argument : [UInt8(ascii: "-"), letter]
                    throw .unknownOption(shown, known: known.map { "-\($0)" })
                }
                letters.append(letter)
            }
        }
        operands = Array(rest)
    }
}

extension WalkOptions {
    /// Applies one letter that chmod and chflags share. The last of -H, -L and -P counts.
    /// - Returns: `false` if it is another letter.
    mutating func take(_ letter: UInt8) -> Bool {
        switch letter {
        case UInt8(ascii: "R"): isRecursive = true
        case UInt8(ascii: "H"): links = .named
        case UInt8(ascii: "L"): links = .all
        case UInt8(ascii: "P"): links = .none
        case UInt8(ascii: "h"): actsOnLinks = true
        case UInt8(ascii: "x"): staysOnDevice = true
        default: return false
        }
        return true
    }

    func checked() throws(UsageError) -> WalkOptions {
        if isRecursive, actsOnLinks { throw UsageError("-R and -h may not be used together") }
        return self
    }
}
