/// The texts that stand for the values of a setting, behind the equals sign of an option.
struct ValueForm<Value: Sendable>: Sendable {
    /// Those that are named, in the order of an error message.
    var words: [String] = []
    /// What else is taken, as an error message calls it; nil if that is nothing.
    var other: String?
    /// The value that a text stands for; nil if it stands for none.
    var read: @Sendable (String) -> Value?
    /// The text that stands for a value; nil if there is none.
    var write: @Sendable (Value) -> String?

    var expected: [String] { words + (other.map { [$0] } ?? []) }

    /// The form of a setting that may be absent.
    /// - Parameter word: stands for its absence; nil if no word does.
    func orAbsent(_ word: String? = nil) -> ValueForm<Value?> {
        ValueForm<Value?>(
            words: (word.map { [$0] } ?? []) + words, other: other,
            read: { [read] text in
                if text == word { return .some(nil) }
                guard let value = read(text) else { return nil }
                return .some(value)
            },
            write: { [write] value in
                guard let value else { return word }
                return write(value)
            })
    }
}

extension ValueForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One word for each case.
    static var enumeration: ValueForm {
        ValueForm(words: Value.allCases.map { $0.rawValue }, read: { Value(rawValue: $0) }, write: { $0.rawValue })
    }
}

extension ValueForm where Value: FixedWidthInteger {
    /// - Parameter what: what is counted.
    static func number(_ range: ClosedRange<Value>, called what: String = "a number") -> ValueForm {
        ValueForm(
            other: "\(what) from \(range.lowerBound) to \(range.upperBound)",
            read: { text in
                guard let number = Value(text), range.contains(number) else { return nil }
                return number
            },
            write: { String($0) })
    }
}

extension ValueForm<UInt64> {
    /// A number of bytes.
    static var size: ValueForm {
        ValueForm(other: "a size such as 1048576, 64M or 1G", read: { SizeText.size($0) }, write: { SizeText.text($0) })
    }
}

extension ValueForm<String> {
    /// - Parameter what: what the text has to be.
    static func text(_ what: String, where isRight: @escaping @Sendable (String) -> Bool) -> ValueForm {
        ValueForm(other: what, read: { isRight($0) ? $0 : nil }, write: { $0 })
    }

    static var absoluteFile: ValueForm {
        .text("a file's absolute path") { $0.hasPrefix("/") && !$0.hasSuffix("/") && !$0.utf8.contains(0) }
    }
}
