// Lists in other encodings than UTF-8: the error has no line, but says how to convert the file.
extension PropertyListOutline {
    /// UTF-16 and UTF-32, by the byte order mark or else by the first `<`.
    static func wideEncoding(of bytes: [UInt8]) -> String? {
        let starts: [([UInt8], String)] = [
            // Before UTF-16, whose mark is a prefix of this one.
            ([0xFF, 0xFE, 0, 0], "UTF-32"), ([0, 0, 0xFE, 0xFF], "UTF-32"), ([0x3C, 0, 0, 0], "UTF-32LE"),
            ([0, 0, 0, 0x3C], "UTF-32BE"), ([0xFF, 0xFE], "UTF-16"), ([0xFE, 0xFF], "UTF-16"), ([0x3C, 0], "UTF-16LE"),
            ([0, 0x3C], "UTF-16BE"),
        ]
        return starts.first { bytes.starts(with: $0.0) }?.1
    }

    /// The parser reads a text with such bytes as another type, or reports nothing.
    static func textFault(in bytes: [UInt8]) -> String? {
        guard let place = firstFault(in: bytes) else { return nil }
        let line = 1 + bytes[..<place].count { $0 == 0x0A }
        return declarationFault(of: bytes) ?? "line \(line): a byte that is no UTF-8 text; \(remedy("ITS-ENCODING"))"
    }

    /// Why the parser refuses a valid list, which it does not report.
    static func declarationFault(of bytes: [UInt8]) -> String? {
        guard let name = declaredEncoding(of: bytes), name.lowercased() != "utf-8" else { return nil }
        return "its first line says that it is in \(name); " + remedy(name)
    }

    static func remedy(_ encoding: String) -> String {
        "write it in UTF-8 (iconv -f \(encoding) -t UTF-8; no other encoding may stand in <?xml … ?>)"
    }

    /// The encoding in `<?xml … encoding="NAME"?>`.
    private static func declaredEncoding(of bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes.prefix(256), as: UTF8.self)
        guard !bytes.starts(with: "bplist".utf8), let begin = text.firstRange(of: "<?xml"),
            let end = text[begin.upperBound...].firstRange(of: "?>"),
            let key = text[begin.upperBound..<end.lowerBound].firstRange(of: "encoding")
        else { return nil }
        let name = text[key.upperBound..<end.lowerBound].drop { " =\"'\t\r\n".contains($0) }
            .prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.:".contains($0)) }
        return name.isEmpty ? nil : String(name)
    }

    /// The offset of the first byte that is not UTF-8.
    private static func firstFault(in bytes: [UInt8]) -> Int? {
        var decoder = UTF8()
        var (place, rest) = (0, bytes.makeIterator())
        while true {
            switch decoder.decode(&rest) {
            case .scalarValue(let scalar): place += UTF8.width(scalar)
            case .emptyInput: return nil
            case .error: return place
            }
        }
    }
}
