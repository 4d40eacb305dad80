/// The value of one hexadecimal digit, or `nil`.
func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// An unsigned number in this radix: digits only, no sign, no blank, no overflow.
func unsignedNumber(_ digits: some Collection<UInt8>, radix: UInt32) -> UInt32? {
    if digits.isEmpty { return nil }
    var value: UInt32 = 0
    for byte in digits {
        guard let digit = hexadecimalDigit(byte), digit < radix else { return nil }
        let (product, overflowed) = value.multipliedReportingOverflow(by: radix)
        let (sum, carried) = product.addingReportingOverflow(UInt32(digit))
        if overflowed || carried { return nil }
        value = sum
    }
    return value
}

/// `0x` and hexadecimal digits.
func prefixedHexadecimal(_ text: some Collection<UInt8>) -> UInt32? {
    guard text.starts(with: "0x".utf8) else { return nil }
    return unsignedNumber(text.dropFirst(2), radix: 16)
}

func hexadecimal(_ value: UInt32) -> String { "0x" + String(value, radix: 16) }

/// Whether bytes are a word. Not `elementsEqual`, which compares by generic code: a value of an attribute has thousands of words to compare.
func spell(_ bytes: UnsafeBufferPointer<UInt8>, _ word: String) -> Bool {
    bytes.count == word.utf8.count
        && word.utf8.withContiguousStorageIfAvailable { word in
            for index in bytes.indices where bytes[index] != word[index] { return false }
            return true
        } ?? bytes.elementsEqual(word.utf8)
}

extension ArraySlice<UInt8> {
    func spells(_ word: String) -> Bool { withUnsafeBufferPointer { spell($0, word) } }
}

/// Lends bytes at one place.
func withBytes<Value>(_ bytes: some Collection<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
    bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
}
