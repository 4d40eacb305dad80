import ACLFormats

/// Why a command line is wrong.
package struct UsageError: Error, Sendable, Hashable {
    package var message: String
    package init(_ message: String) { self.message = message }

    /// An unknown option, with the known ones.
    static func unknownOption(_ option: [UInt8], known: [String], long: [LongOption] = []) -> UsageError {
        let words = ["--help"] + known.filter { $0.hasPrefix("--") } + long.map(\.word)
        let nearest = option.starts(with: "--".utf8) ? nearestWord(to: option, in: words) : nil
        let hint = nearest.map { "; did you mean '\($0)'?" } ?? "; the options are \((known + long.map(\.word)).joined(separator: " "))"
        return UsageError("unknown option '\(escapedName(option))'\(hint)")
    }
}

/// A GNU word for an option of one letter.
struct LongOption: Sendable {
    let word: String
    let letter: UInt8

    init(_ word: String, _ letter: Unicode.Scalar) { (self.word, self.letter) = (word, UInt8(ascii: letter)) }

    /// Those of chmod and chflags.
    static let ofTrees = [
        LongOption("--recursive", "R"), LongOption("--no-dereference", "h"), LongOption("--quiet", "f"), LongOption("--silent", "f"),
        LongOption("--verbose", "v"),
    ]

    static func letter(of argument: [UInt8], in options: [LongOption]) -> UInt8? {
        options.first { $0.word.utf8.elementsEqual(argument) }?.letter
    }
}

/// Options of one letter, several of which may follow one dash, and their GNU words.
struct LetterOptions {
    /// The letters in their order.
    private(set) var letters: [UInt8] = []
    private(set) var operands: [[UInt8]] = []
    private(set) var wantsHelp = false
    /// Whether a `--` ended the options.
    private(set) var isEnded = false

    /// Options end at `--`, at a single dash and at the first operand.
    /// - Parameters:
    ///   - known: the letters that exist.
    ///   - long: their words.
    /// - Throws: an option is unknown.
    init(_ arguments: [[UInt8]], known: String, long: [LongOption] = []) throws(UsageError) {
        var rest = arguments[...]
        // -h is an option of some commands, but alone it means help.
        if arguments.count == 1, arguments[0].elementsEqual("-h".utf8) { (wantsHelp, rest) = (true, []) }
        while let argument = rest.first, argument.first == UInt8(ascii: "-"), argument.count > 1 {
            rest = rest.dropFirst()
            if argument.elementsEqual("--".utf8) {
                isEnded = true
                break
            }
            if argument.elementsEqual("--help".utf8) {
                wantsHelp = true
                continue
            }
            if let letter = LongOption.letter(of: argument, in: long) {
                letters.append(letter)
                continue
            }
            for letter in argument.dropFirst() {
                guard known.utf8.contains(letter) else {
                    let shown = argument.starts(with: "--".utf8) ? argument : [UInt8(ascii: "-"), letter]
                    throw .unknownOption(shown, known: known.map { "-\($0)" }, long: long)
                }
                letters.append(letter)
            }
        }
        operands = Array(rest)
    }
}

/// The files behind a change. The first `--` of a command line is none of them: it may stand before or behind the change.
func files(_ operands: some Sequence<[UInt8]>, isEnded: Bool) -> [[UInt8]] {
    let operands = Array(operands)
    return !isEnded && operands.first?.elementsEqual("--".utf8) == true ? Array(operands.dropFirst()) : operands
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

/// Why a command does nothing with a path that lies on no mount: a backing directory, or a mount point on which nothing is mounted.
func notMounted(_ path: [UInt8]) -> String {
    "\(escapedName(path)): not mounted: nothing enforces this; mount it, or name a backing directory with --offline"
}
