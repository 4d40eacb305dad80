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

    /// One list that `split` takes apart into these words again.
    public static func join(_ words: [String]) -> String {
        words.map { word in
            word.unicodeScalars.map { $0 == "," || $0 == "\\" || $0 == "\"" ? "\\\($0)" : String($0) }.joined()
        }.joined(separator: ",")
    }
}
