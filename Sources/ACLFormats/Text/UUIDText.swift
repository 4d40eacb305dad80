import Authorization

extension GUID {
    /// The identity as upper-case UUID text, the form `ls -le` prints (docs/authorization.md 7.2).
    public var uuidText: String {
        var text = ""
        text.reserveCapacity(36)
        for (half, groups) in [(high, [32, 16, 0]), (low, [48, 0])] {
            for (position, shift) in groups.enumerated() {
                let width = position == 0 ? 64 - shift : groups[position - 1] - shift
                let digits = String(half >> UInt64(shift) & (~0 >> UInt64(64 - width)), radix: 16, uppercase: true)
                if !text.isEmpty { text += "-" }
                text += String(repeating: "0", count: width / 4 - digits.utf8.count) + digits
            }
        }
        return text
    }

    /// Reads UUID text in either letter case; nil for anything else.
    public init?(uuidText: some Collection<UInt8>) {
        guard uuidText.count == 36 else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for (position, byte) in uuidText.enumerated() {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = hexadecimalDigit(byte) else { return nil }
            // The third dash is between the halves.
            if position < 18 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
        }
        self.init(high: high, low: low)
    }

    /// Reads UUID text in either letter case.
    public init?(uuidText: String) { self.init(uuidText: Array(uuidText.utf8)) }
}
