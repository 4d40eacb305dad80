/// What a subject answers to one call.
public struct CallAnswer: Hashable, Sendable {
    /// `ok` or the name of the errno.
    public var word: String
    /// Empty if the call has no value.
    public var value: [UInt8]
    public init(_ word: String, _ value: [UInt8] = []) { (self.word, self.value) = (word, value) }

    /// The value as text.
    public var text: String { String(decoding: value, as: UTF8.self) }
}

/// Calls and answers as lines: words with tabs between them. A byte that is no plain character is written `\xHH`.
public enum CallLine {
    /// - Returns: the line with its end.
    public static func write(_ words: [[UInt8]]) -> [UInt8] {
        var line: [UInt8] = []
        for (index, word) in words.enumerated() {
            if index > 0 { line.append(0x09) }
            for byte in word { append(byte, to: &line) }
        }
        line.append(0x0A)
        return line
    }

    /// - Parameter line: without its end.
    public static func words(_ line: some Collection<UInt8>) -> [[UInt8]] {
        line.split(separator: 0x09, omittingEmptySubsequences: false).map { unescaped(Array($0)) }
    }

    public static func write(_ answer: CallAnswer) -> [UInt8] {
        write([Array(answer.word.utf8)] + (answer.value.isEmpty ? [] : [answer.value]))
    }

    /// - Parameter line: without its end.
    public static func answer(_ line: some Collection<UInt8>) -> CallAnswer {
        let words = words(line)
        return CallAnswer(String(decoding: words[0], as: UTF8.self), words.count > 1 ? words[1] : [])
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private static func append(_ byte: UInt8, to line: inout [UInt8]) {
        if (0x21..<0x7F).contains(byte), byte != 0x5C {
            line.append(byte)
        } else {
            line += [0x5C, 0x78, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }

    private static func unescaped(_ word: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var index = 0
        while index < word.count {
            if word[index] == 0x5C, index + 3 < word.count, word[index + 1] == 0x78,
                let high = digits.firstIndex(of: word[index + 2]), let low = digits.firstIndex(of: word[index + 3])
            {
                bytes.append(UInt8(high << 4 | low))
                index += 4
            } else {
                bytes.append(word[index])
                index += 1
            }
        }
        return bytes
    }
}
