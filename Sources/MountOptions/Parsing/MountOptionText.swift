/// The grammar of one `-o` list.
public enum MountOptionText {
    /// Splits at commas outside double quotes; a backslash takes the next character literally.
    public static func split(_ text: String) throws(MountOptionError) -> [String] {
        var words: [String] = []
        var word = String.UnicodeScalarView()
        var quoted = false
        var escaped = false
        for character in text.unicodeScalars {
            if escaped {
                word.append(character)
                escaped = false
            } else if character == "\\" {
                escaped = true
            } else if character == "\"" {
                quoted.toggle()
            } else if character == ",", !quoted {
                words.append(String(word))
                word.removeAll()
            } else {
                word.append(character)
            }
        }
        if quoted { throw MountOptionError(description: "unbalanced quote in options '\(text)'") }
        if escaped { throw MountOptionError(description: "options '\(text)' end in a lone backslash") }
        words.append(String(word))
        return words
    }

    private static let units: [(Character, UInt64)] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)]

    /// A number of bytes, or of the unit that follows it: K, M, G, T, powers of 1024. nil if it is none, or too many.
    static func size(_ text: String) -> UInt64? {
        let unit = text.last.flatMap { last in units.first { last.uppercased() == String($0.0) } }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = UInt64(digits) else { return nil }
        let (size, isTooLarge) = number.multipliedReportingOverflow(by: unit?.1 ?? 1)
        return isTooLarge || size > UInt64(Int64.max) ? nil : size
    }

    static func text(ofSize size: UInt64) -> String {
        for (letter, unit) in units where size > 0 && size % unit == 0 { return "\(size / unit)\(letter)" }
        return String(size)
    }

    /// One list that `split` takes apart into these words again.
    public static func join(_ words: [String]) -> String {
        words.map { word in
            word.unicodeScalars.map { $0 == "," || $0 == "\\" || $0 == "\"" ? "\\\($0)" : String($0) }.joined()
        }.joined(separator: ",")
    }
}
