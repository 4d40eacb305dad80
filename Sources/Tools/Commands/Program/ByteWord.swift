import ArgumentParser

/// A word of the command line as bytes. Names of files need not be text, but the argument parser takes text: so a byte outside UTF-8
/// becomes a scalar of the last private plane while the parser runs.
struct ByteWord: ExpressibleByArgument {
    let bytes: [UInt8]

    private static let escapes: ClosedRange<UInt32> = 0x10FF00...0x10FFFF

    init(bytes: [UInt8]) { self.bytes = bytes }

    init?(argument: String) {
        var bytes: [UInt8] = []
        for scalar in argument.unicodeScalars {
            if Self.escapes.contains(scalar.value) {
                bytes.append(UInt8(scalar.value - Self.escapes.lowerBound))
            } else {
                bytes += Array(String(scalar).utf8)
            }
        }
        self.bytes = bytes
    }

    /// - Returns: the text from which `init(argument:)` makes these bytes.
    static func text(_ bytes: [UInt8]) -> String {
        var text = String.UnicodeScalarView()
        var rest = bytes[...]
        while let first = rest.first {
            let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            let sequence = rest.prefix(length)
            if let scalar = String(validating: sequence, as: UTF8.self)?.unicodeScalars.first,
                !escapes.contains(scalar.value)
            {
                text.append(scalar)
                rest = rest.dropFirst(length)
            } else {
                text.append(Unicode.Scalar(escapes.lowerBound + UInt32(first)) ?? "?")
                rest = rest.dropFirst()
            }
        }
        return String(text)
    }
}
