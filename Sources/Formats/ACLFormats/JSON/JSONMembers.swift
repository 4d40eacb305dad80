/// A type with one form in JSON.
public protocol JSONValue: Sendable {
    init(json: JSON) throws(JSONError)
    var json: JSON { get }
}

/// A type that is an object in JSON. It lists its members once, and is read and written by that list.
public protocol JSONObject: JSONValue {
    /// What is read into.
    init()
    mutating func list(_ members: inout JSONMembers) throws(JSONError)
}

extension JSONObject {
    /// - Throws: a member is missing, malformed, or not in the list.
    public init(json: JSON) throws(JSONError) {
        self.init()
        guard case .object = json else { throw JSONError("no object") }
        var members = JSONMembers(reading: json)
        try list(&members)
        try members.end()
    }

    public var json: JSON {
        var (copy, members) = (self, JSONMembers())
        // Only reading throws.
        try? copy.list(&members)
        return .object(members.written)
    }
}

/// The members of an object while they are read or written.
public struct JSONMembers {
    /// nil while they are written.
    private let source: JSON?
    private var asked: Set<String> = []
    fileprivate private(set) var written: [JSON.Member] = []

    fileprivate init(reading source: JSON? = nil) { self.source = source }

    public mutating func required<Value: JSONValue>(_ name: String, _ value: inout Value) throws(JSONError) {
        guard let source else { return written.append(.init(name, value.json)) }
        asked.insert(name)
        guard let found = source[name] else { throw JSONError("no \(name)") }
        value = try Self.read(found, name)
    }

    /// Nothing is written for nil; null is read as nil, too.
    public mutating func optional<Value: JSONValue>(_ name: String, _ value: inout Value?) throws(JSONError) {
        if source != nil, source?[name] == .null {
            asked.insert(name)
            return
        }
        try stated(name, &value)
    }

    /// Nothing is written for nil; null is a value.
    public mutating func stated<Value: JSONValue>(_ name: String, _ value: inout Value?) throws(JSONError) {
        guard let source else {
            written += value.map { [.init(name, $0.json)] } ?? []
            return
        }
        asked.insert(name)
        if let found = source[name] { value = try Self.read(found, name) }
    }

    /// Members that are not kept.
    public mutating func ignore(_ names: String...) { asked.formUnion(names) }

    private static func read<Value: JSONValue>(_ json: JSON, _ name: String) throws(JSONError) -> Value {
        do { return try Value(json: json) } catch { throw JSONError("\(name): \(error)") }
    }

    fileprivate func end() throws(JSONError) {
        guard case .object(let members)? = source else { return }
        if let unknown = members.first(where: { !asked.contains($0.name) }) { throw JSONError("unknown member \(unknown.name)") }
    }
}

extension Bool: JSONValue {
    public init(json: JSON) throws(JSONError) {
        guard let value = json.bool else { throw JSONError("neither true nor false") }
        self = value
    }
    public var json: JSON { .bool(self) }
}

extension String: JSONValue {
    public init(json: JSON) throws(JSONError) {
        guard let value = json.string else { throw JSONError("no string") }
        self = value
    }
    public var json: JSON { .string(self) }
}

extension JSONValue where Self: FixedWidthInteger {
    public init(json: JSON) throws(JSONError) {
        guard let value = json.integer.flatMap({ Self(exactly: $0) }) else { throw JSONError("no number, or one out of range") }
        self = value
    }
    public var json: JSON { .integer(Int64(clamping: self)) }
}

extension Int: JSONValue {}
extension Int32: JSONValue {}
extension UInt32: JSONValue {}

extension Array: JSONValue where Element: JSONValue {
    public init(json: JSON) throws(JSONError) {
        guard let values = json.array else { throw JSONError("no list") }
        self = []
        for value in values { append(try Element(json: value)) }
    }
    public var json: JSON { .array(map(\.json)) }
}

extension Set: JSONValue where Element: JSONValue & Comparable {
    public init(json: JSON) throws(JSONError) { self = Set(try [Element](json: json)) }
    public var json: JSON { sorted().json }
}

extension Dictionary: JSONValue where Key == String, Value: JSONValue {
    public init(json: JSON) throws(JSONError) {
        guard case .object(let members) = json else { throw JSONError("no object") }
        self = [:]
        for member in members { self[member.name] = try Value(json: member.value) }
    }
    public var json: JSON { .object(sorted { $0.key < $1.key }.map { .init($0.key, $0.value.json) }) }
}
