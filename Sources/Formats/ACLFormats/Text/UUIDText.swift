import Authorization

extension GUID {
    /// The identity as upper-case UUID text, the form `ls -le` prints (docs/reference/authorization.md 7.2).
    public var uuidText: String {
        let (high, low) = (high, low)
        return String(unsafeUninitializedCapacity: Self.textLength) { text in
            var digit = 0
            for position in 0..<Self.textLength {
                if Self.isDash(at: position) {
                    text[position] = UInt8(ascii: "-")
                    continue
                }
                let half = digit < 16 ? high : low
                let value = UInt8(truncatingIfNeeded: half >> UInt64(60 - digit % 16 * 4) & 0xF)
                text[position] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") - 10 + value
                digit += 1
            }
            return Self.textLength
        }
    }

    /// Reads UUID text in either letter case; nil for anything else.
    public init?(uuidText: some Collection<UInt8>) {
        guard let guid = withBytes(uuidText, Self.reading) else { return nil }
        self = guid
    }

    /// Reads UUID text in either letter case.
    public init?(uuidText: String) { self.init(uuidText: Array(uuidText.utf8)) }

    private static let textLength = 36

    private static func isDash(at position: Int) -> Bool { position == 8 || position == 13 || position == 18 || position == 23 }

    /// Without generic code: a value of an attribute has hundreds of them.
    private static func reading(_ text: UnsafeBufferPointer<UInt8>) -> GUID? {
        guard text.count == textLength else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for position in 0..<textLength {
            let byte = text[position]
            if isDash(at: position) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = hexadecimalDigit(byte) else { return nil }
            // The third dash is between the halves.
            if position < 18 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
        }
        return GUID(high: high, low: low)
    }
}
