/// A property list's structure, checked before it is decoded. Foundation's parser recurses until the stack ends, silently uses the
/// last of two equal keys, and reads a third, obsolete form. For XML see `PropertyListText.swift`.
struct PropertyListOutline {
    /// The type of the outermost value, which must be `dict`.
    var top = ""
    /// The outermost keys, as in the file.
    var keys: [String] = []

    static let deepest = 16
    /// The limit of values in a binary list, which may refer to one object many times.
    static let most = 65536

    struct Wrong: Error {
        var message: String
        init(_ message: String) { self.message = message }
    }

    init(_ bytes: [UInt8]) throws(Wrong) {
        if bytes.starts(with: "bplist".utf8) {
            try readBinary(bytes)
        } else {
            if let name = Self.wideEncoding(of: bytes) { throw Wrong("an XML property list in \(name); \(Self.remedy(name))") }
            let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
            guard let first = bytes[start...].first(where: { $0 > 0x20 }), first == UInt8(ascii: "<") else {
                throw Wrong("not a property list: neither XML (<plist>…) nor binary (bplist00)")
            }
            guard !bytes.contains(0) else { throw Wrong("an XML property list must be UTF-8 text without NUL bytes") }
            if let fault = Self.textFault(in: bytes) { throw Wrong("not a property list that can be read: \(fault)") }
            try readXML(bytes[start...])
        }
    }

    /// A key that occurs twice.
    var repeatedKey: String? {
        var seen: Set<String> = []
        return keys.first { !seen.insert($0).inserted }
    }
}

// MARK: Binary

extension PropertyListOutline {
    private mutating func readBinary(_ bytes: [UInt8]) throws(Wrong) {
        let list = try BinaryList(bytes)
        var budget = Self.most
        try list.measure(list.top, depth: 0, &budget)
        let top = try list.object(list.top)
        guard case .dictionary(let keys, _) = top else {
            self.top = top.name
            return
        }
        self.top = "dict"
        for key in keys { self.keys.append(try list.text(key)) }
    }
}

/// The containers of a binary property list. No read leaves its bytes.
private struct BinaryList {
    enum Object {
        case array([Int])
        case dictionary(keys: [Int], values: [Int])
        case other(name: String)

        var name: String {
            switch self {
            case .array: "array"
            case .dictionary: "dict"
            case .other(let name): name
            }
        }
    }

    let bytes: [UInt8]
    let top: Int
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private let table: Int
    private static let damaged = PropertyListOutline.Wrong("a damaged binary property list")

    init(_ bytes: [UInt8]) throws(PropertyListOutline.Wrong) {
        self.bytes = bytes
        guard bytes.count >= 40 else { throw Self.damaged }
        func number(_ offset: Int) throws(PropertyListOutline.Wrong) -> Int {
            guard let value = Self.number(bytes[offset..<offset + 8]) else { throw Self.damaged }
            return value
        }
        let trailer = bytes.count - 32
        (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        count = try number(trailer + 8)
        top = try number(trailer + 16)
        table = try number(trailer + 24)
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), (1...trailer).contains(count),
            table >= 8, table <= trailer, count <= (trailer - table) / offsetSize, top < count
        else { throw Self.damaged }
    }

    /// nil for a number too large for an offset.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return value > UInt64(Int32.max) ? nil : Int(value)
    }

    private func start(_ index: Int) throws(PropertyListOutline.Wrong) -> Int {
        guard index < count else { throw Self.damaged }
        let place = table + index * offsetSize
        guard let start = Self.number(bytes[place..<place + offsetSize]), start >= 8, start < table else {
            throw Self.damaged
        }
        return start
    }

    /// The length after a marker, and the offset of the content.
    private func length(_ start: Int) throws(PropertyListOutline.Wrong) -> (count: Int, content: Int) {
        let low = Int(bytes[start] & 0x0F)
        if low < 15 { return (low, start + 1) }
        guard start + 1 < table, bytes[start + 1] & 0xF0 == 0x10, bytes[start + 1] & 0x0F <= 3 else { throw Self.damaged }
        let size = 1 << Int(bytes[start + 1] & 0x0F)
        guard start + 2 + size <= table, let count = Self.number(bytes[start + 2..<start + 2 + size]) else {
            throw Self.damaged
        }
        return (count, start + 2 + size)
    }

    func object(_ index: Int) throws(PropertyListOutline.Wrong) -> Object {
        let start = try start(index)
        switch bytes[start] >> 4 {
        case 0xA, 0xC:
            let (count, content) = try length(start)
            return .array(try references(count, content))
        case 0xD:
            let (count, content) = try length(start)
            let keys = try references(count, content)
            return .dictionary(keys: keys, values: try references(count, content + count * referenceSize))
        case 0x5, 0x6, 0x7: return .other(name: "string")
        case 0x1: return .other(name: "integer")
        case 0x2: return .other(name: "real")
        case 0x3: return .other(name: "date")
        case 0x4: return .other(name: "data")
        default: return .other(name: "single value")
        }
    }

    private func references(_ count: Int, _ content: Int) throws(PropertyListOutline.Wrong) -> [Int] {
        guard content <= table, count <= (table - content) / referenceSize else { throw Self.damaged }
        var found: [Int] = []
        for place in 0..<count {
            let start = content + place * referenceSize
            guard let index = Self.number(bytes[start..<start + referenceSize]) else { throw Self.damaged }
            found.append(index)
        }
        return found
    }

    func text(_ index: Int) throws(PropertyListOutline.Wrong) -> String {
        let start = try start(index)
        let (count, content) = try length(start)
        switch bytes[start] >> 4 {
        case 0x5 where content + count <= table: return String(decoding: bytes[content..<content + count], as: UTF8.self)
        case 0x6 where content + 2 * count <= table:
            let units = (0..<count).map { UInt16(bytes[content + 2 * $0]) << 8 | UInt16(bytes[content + 2 * $0 + 1]) }
            return String(decoding: units, as: UTF16.self)
        default: throw Self.damaged
        }
    }

    /// Checks depth and number of values: a list may contain itself, or one object so often that it never ends.
    func measure(_ index: Int, depth: Int, _ budget: inout Int) throws(PropertyListOutline.Wrong) {
        budget -= 1
        guard budget > 0 else { throw .init("it holds more than \(PropertyListOutline.most) values") }
        guard depth < PropertyListOutline.deepest else {
            throw .init("its values are nested deeper than \(PropertyListOutline.deepest)")
        }
        switch try object(index) {
        case .array(let values): for value in values { try measure(value, depth: depth + 1, &budget) }
        case .dictionary(let keys, let values):
            for value in keys + values { try measure(value, depth: depth + 1, &budget) }
        case .other: break
        }
    }
}
