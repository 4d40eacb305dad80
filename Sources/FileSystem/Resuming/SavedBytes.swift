/// Why what another process left cannot be used, for people.
public struct SavedProblem: Error, Equatable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }

    public static let isCut = SavedProblem("what the daemon left of its tables is cut or damaged")
}

/// Numbers and lists one after the other, little-endian.
struct SavedWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func add(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    mutating func add(bytes added: [UInt8]) {
        add(UInt32(added.count))
        bytes += added
    }

    mutating func add<Element>(_ list: [Element], _ body: (inout SavedWriter, Element) -> Void) {
        add(UInt64(list.count))
        for element in list { body(&self, element) }
    }

    mutating func add(_ range: Range<UInt64>) {
        add(range.lowerBound)
        add(range.upperBound)
    }
}

/// Reads what `SavedWriter` has written, and believes nothing of it.
struct SavedReader {
    private let bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private mutating func take(_ count: Int) throws(SavedProblem) -> Int {
        guard count >= 0, bytes.count - at >= count else { throw .isCut }
        defer { at += count }
        return at
    }

    mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) throws(SavedProblem) -> Number {
        let start = try take(MemoryLayout<Number>.size)
        return Number(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: Number.self) })
    }

    mutating func flag() throws(SavedProblem) -> Bool {
        let value: UInt8 = try number()
        guard value < 2 else { throw .isCut }
        return value == 1
    }

    mutating func byteList() throws(SavedProblem) -> [UInt8] {
        let count = Int(try number(UInt32.self))
        let start = try take(count)
        return Array(bytes[start..<start + count])
    }

    mutating func list<Element>(_ body: (inout SavedReader) throws(SavedProblem) -> Element) throws(SavedProblem) -> [Element] {
        // Each element has a byte at least.
        guard let count = Int(exactly: try number(UInt64.self)), count <= bytes.count - at else { throw .isCut }
        var list: [Element] = []
        list.reserveCapacity(count)
        for _ in 0..<count { list.append(try body(&self)) }
        return list
    }

    mutating func range() throws(SavedProblem) -> Range<UInt64> {
        let (start, end): (UInt64, UInt64) = (try number(), try number())
        guard start <= end else { throw .isCut }
        return start..<end
    }

    /// - Throws: there is more.
    func end() throws(SavedProblem) { if at != bytes.count { throw .isCut } }
}
