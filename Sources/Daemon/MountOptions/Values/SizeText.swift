/// Numbers of bytes as options have them.
enum SizeText {
    private static let units: [(Character, UInt64)] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)]

    /// A number of bytes, or of the unit that follows it: K, M, G, T, powers of 1024. nil if it is none, or too many.
    static func size(_ text: String) -> UInt64? {
        let unit = text.last.flatMap { last in units.first { last.uppercased() == String($0.0) } }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = UInt64(digits) else { return nil }
        let (size, isTooLarge) = number.multipliedReportingOverflow(by: unit?.1 ?? 1)
        return isTooLarge || size > UInt64(Int64.max) ? nil : size
    }

    static func text(_ size: UInt64) -> String {
        for (letter, unit) in units where size > 0 && size % unit == 0 { return "\(size / unit)\(letter)" }
        return String(size)
    }
}
