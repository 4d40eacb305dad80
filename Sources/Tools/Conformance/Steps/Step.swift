import ACLFormats
import Authorization

/// What an answer must be.
public enum Expected: Sendable {
    /// `ok` or the name of an errno. The other errno counts as the same answer: the call was permitted, and failed for another reason.
    case word(String, orErrno: String? = nil)
    /// Any errno.
    case refused
    /// Every answer: a later step shows whether the call had an effect.
    case anything
    /// `ok` with a value for which the closure returns true. The text says what is expected.
    case value(String, @Sendable ([UInt8]) -> Bool)

    public static let ok = Expected.word("ok")

    /// `ok` with exactly this value.
    public static func text(_ text: String) -> Expected { .value(text) { $0.elementsEqual(text.utf8) } }

    /// `ok` with a list that equals this one bit by bit. Identities are numbers or UUIDs.
    public static func list(_ text: String) -> Expected {
        .value("the list \(text.split(separator: "\n").joined(separator: "; "))") { value in
            guard let expected = try? ACLAttributeText.parse(text.utf8, names: NoNames()) else { return false }
            return (try? ACLAttributeText.parse(value, names: NoNames())) == expected
        }
    }

    /// - Returns: nil if the answer is the expected one, else a text for people.
    public func difference(from answer: CallAnswer) -> String? {
        switch self {
        case .word(let word, let other):
            if answer.word == word || answer.word == other { return nil }
            return "expected \(word), got \(answer.word)"
        case .refused: return answer.word == "ok" ? "expected a refusal, got ok" : nil
        case .anything: return nil
        case .value(let text, let isRight):
            if answer.word != "ok" { return "expected \(text), got \(answer.word)" }
            return isRight(answer.value) ? nil : "expected \(text), got \(escapedName(answer.value))"
        }
    }
}

/// One call of a subject.
public struct Step: Sendable {
    public var subject: Subject
    /// The call and its arguments (`SubjectCalls`). A word that begins with `./` is a path in the directory of its case.
    public var words: [[UInt8]]
    public var expected: Expected

    public init(_ subject: Subject, _ words: [[UInt8]], _ expected: Expected = .ok) {
        (self.subject, self.words, self.expected) = (subject, words, expected)
    }

    public init(_ subject: Subject, _ words: [String], _ expected: Expected = .ok) {
        self.init(subject, words.map { Array($0.utf8) }, expected)
    }

    /// The words with the directory of the case before paths in it.
    public func words(in directory: String) -> [[UInt8]] {
        words.map { $0.starts(with: "./".utf8) ? Array(directory.utf8) + $0.dropFirst(1) : $0 }
    }

    /// The call for people: a long value is cut.
    public var shown: String {
        words.map { word in
            let text = escapedName(word)
            return text.count > 60 ? text.prefix(60) + "…" : text
        }.joined(separator: " ")
    }
}
