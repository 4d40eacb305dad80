/// A JSON value as control messages use it: integers only, members in order.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case string(String)
    case array([JSON])
    case object([Member])

    /// A member of an object.
    public struct Member: Sendable, Hashable {
        public var name: String
        public var value: JSON
        public init(_ name: String, _ value: JSON) { (self.name, self.value) = (name, value) }
    }
}

extension JSON {
    /// The value of a member; nil if there is none, or the value is no object.
    public subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }

    /// A path, which is bytes: the member `NAME` if they can be shown as text, else `NAME_b64`.
    public static func path(_ bytes: some Collection<UInt8>, name: String = "path") -> Member {
        if isShownUnescaped(bytes) { return Member(name, .string(String(decoding: bytes, as: UTF8.self))) }
        return Member("\(name)_b64", .string(Base64.encode(bytes)))
    }

    /// The approximate size of a path in either spelling, without decoding it; never more than the real size.
    public func pathSize(_ name: String = "path") -> Int? {
        self[name]?.string?.utf8.count ?? self["\(name)_b64"]?.string.map { max(0, $0.utf8.count / 4 * 3 - 2) }
    }

    /// Whether a path stands there in either spelling, well formed or not.
    public func hasPath(_ name: String = "path") -> Bool { self[name] != nil || self["\(name)_b64"] != nil }

    /// The bytes of a path in either spelling. nil if there is none, or both, or one with a NUL.
    public func path(_ name: String = "path") -> [UInt8]? {
        let bytes: [UInt8]?
        switch (self[name]?.string, self["\(name)_b64"]?.string) {
        case (let plain?, nil): bytes = Array(plain.utf8)
        case (nil, let encoded?): bytes = Base64.decode(encoded.utf8)
        default: bytes = nil
        }
        return bytes.flatMap { $0.contains(0) ? nil : $0 }
    }
}

/// Why a text is not read.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// Reads and writes JSON strictly: one value and nothing else, no fractions, no duplicate names.
public enum JSONText {
    public static let maximumSize = 65536
    public static let maximumDepth = 16

    /// - Parameter limit: in bytes.
    /// - Throws: the first error, with its offset.
    public static func parse(_ text: [UInt8], limit: Int = maximumSize) throws(JSONError) -> JSON {
        if text.count > limit { throw JSONError("message longer than \(limit) bytes") }
        var reader = Reader(text: text)
        reader.skipBlanks()
        let value = try reader.value(depth: 0)
        reader.skipBlanks()
        guard reader.position == text.count else { throw reader.wrong("unexpected text after the end") }
        return value
    }

    /// - Returns: the text on one line, in UTF-8.
    public static func write(_ value: JSON) -> [UInt8] {
        var out: [UInt8] = []
        append(value, to: &out)
        return out
    }

    private static func append(_ value: JSON, to out: inout [UInt8]) {
        switch value {
        case .null: out += "null".utf8
        case .bool(let value): out += (value ? "true" : "false").utf8
        case .integer(let value): out += String(value).utf8
        case .string(let value): append(value, to: &out)
        case .array(let values):
            out.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                append(value, to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                append(member.name, to: &out)
                out.append(UInt8(ascii: ":"))
                append(member.value, to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    private static func append(_ text: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\"".utf8
            case "\\": out += "\\\\".utf8
            // Messages are also read on terminals.
            case _ where isUnsafeToShow(scalar.value):
                let digits = String(scalar.value, radix: 16)
                out += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            default: out += UTF8.encode(scalar).unsafelyUnwrapped
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}

private struct Reader {
    let text: [UInt8]
    var position = 0

    var next: UInt8? { position < text.count ? text[position] : nil }

    func wrong(_ what: String) -> JSONError { JSONError("not understood at byte \(position): \(what)") }

    mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    mutating func value(depth: Int) throws(JSONError) -> JSON {
        // The limit protects the stack of the process that reads the text.
        guard depth < JSONText.maximumDepth else { throw wrong("nested too deeply") }
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || byte >= 0x30 && byte <= 0x39: return try integer()
        default: throw wrong("expected a value")
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let length = word.utf8CodeUnitCount
        let matches = word.withUTF8Buffer { text[position...].starts(with: $0) }
        guard matches else { throw wrong("expected a value") }
        position += length
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSON {
        position += 1
        var members: [JSON.Member] = []
        // Other users send objects with thousands of members, so that a linear search for each name would be slow.
        var names: Set<String> = []
        skipBlanks()
        if take(UInt8(ascii: "}")) { return .object([]) }
        while true {
            skipBlanks()
            guard next == UInt8(ascii: "\"") else { throw wrong("expected the name of a member") }
            let name = try string()
            // With duplicate names two programs could read different requests in one message.
            guard names.insert(name).inserted else { throw wrong("a member appears twice") }
            skipBlanks()
            guard take(UInt8(ascii: ":")) else { throw wrong("expected a colon") }
            skipBlanks()
            members.append(JSON.Member(name, try value(depth: depth + 1)))
            skipBlanks()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { throw wrong("expected a comma") }
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSON {
        position += 1
        var values: [JSON] = []
        skipBlanks()
        if take(UInt8(ascii: "]")) { return .array([]) }
        while true {
            skipBlanks()
            values.append(try value(depth: depth + 1))
            skipBlanks()
            if take(UInt8(ascii: "]")) { return .array(values) }
            guard take(UInt8(ascii: ",")) else { throw wrong("expected a comma") }
        }
    }

    private mutating func integer() throws(JSONError) -> JSON {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let digits = position
        while let byte = next, byte >= 0x30, byte <= 0x39 { position += 1 }
        if position == digits { throw wrong("a minus without a number") }
        if text[digits] == 0x30, position > digits + 1 { throw wrong("a leading zero") }
        if let byte = next, byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") {
            throw wrong("only whole numbers are understood")
        }
        guard let value = Int64(String(decoding: text[start..<position], as: UTF8.self)) else {
            throw wrong("the number is too large")
        }
        return .integer(value)
    }

    private mutating func string() throws(JSONError) -> String {
        position += 1
        var bytes: [UInt8] = []
        while true {
            guard let byte = next else { throw wrong("a string without an end") }
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: bytes, as: UTF8.self) else { throw wrong("not UTF-8") }
                return string
            case UInt8(ascii: "\\"): try escape(&bytes)
            case 0..<0x20: throw wrong("a control character in a string")
            default: bytes.append(byte)
            }
        }
    }

    private mutating func escape(_ bytes: inout [UInt8]) throws(JSONError) {
        guard let byte = next else { throw wrong("a string without an end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(byte)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            var code = try unit()
            if (0xD800..<0xDC00).contains(code) {
                guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw wrong("half of a surrogate pair") }
                let low = try unit()
                guard (0xDC00..<0xE000).contains(low) else { throw wrong("half of a surrogate pair") }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw wrong("half of a surrogate pair") }
            bytes += String(Character(scalar)).utf8
        default: throw wrong("an unknown escape")
        }
    }

    private mutating func unit() throws(JSONError) -> UInt32 {
        guard position + 4 <= text.count,
            let value = unsignedNumber(text[position..<position + 4], radix: 16)
        else { throw wrong("expected four hexadecimal digits") }
        position += 4
        return value
    }
}

/// RFC 4648 with padding; anything else is an error.
public enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        let bytes = Array(bytes)
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let word = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for index in 0..<4 {
                out.append(index <= group.count ? alphabet[Int(word >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// - Returns: nil if the text is no such encoding.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let text = Array(text)
        guard text.count % 4 == 0 else { return nil }
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        guard text.count - digits.count <= 2, text[digits.count...].allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            return nil
        }
        var out: [UInt8] = []
        var (word, bits): (UInt32, UInt32) = (0, 0)
        for digit in digits {
            guard let value = alphabet.firstIndex(of: digit) else { return nil }
            word = word << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                out.append(UInt8(truncatingIfNeeded: word >> bits))
                word &= 1 << bits - 1
            }
        }
        // Unused bits must be zero, so that each value has one spelling.
        return word == 0 ? out : nil
    }
}
