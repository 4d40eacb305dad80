import ACLFormats
import Authorization

/// Why a file is no AppleDouble file, or one that is damaged.
public enum AppleDoubleError: Error, Sendable, Hashable {
    case truncated(String)
    case badMagic
    case badVersion(UInt32)
    case outside(String)
    case tooMany(String, Int)
    case badAttributeName
    case security(FileSecurityError)

    /// One sentence.
    public var message: String {
        switch self {
        case .truncated(let what): "cut within \(what)"
        case .badMagic: "no AppleDouble file: it does not begin with 0x00051607"
        case .badVersion: "an AppleDouble file of an unknown version"
        case .outside(let what): "\(what) is outside of the file"
        case .tooMany(let what, let count): "\(count) \(what), more than are possible"
        case .badAttributeName: "the name of an attribute is no text that ends in zero"
        case .security(let error): "com.apple.system.Security: \(error.message)"
        }
    }
}

/// A file `._NAME`: what a Mac keeps of NAME where the file system has no attributes, and in archives. The list is one of its extended
/// attributes; of all others only the names are kept.
public struct AppleDouble: Sendable, Hashable {
    /// `com.apple.system.Security`, as the system writes it.
    public var security: FileSecurity?
    /// `com.apple.acl.text`, as archives and copies have it (docs/guide/copies.md).
    public var listText: [UInt8]?
    /// The names of the other extended attributes.
    public var otherAttributes: [[UInt8]] = []

    /// The part of a file that has to be read: attributes are stored before the resource fork.
    public static let longestHead = 1 << 20
    static let securityName = "com.apple.system.Security"
    static let listName = "com.apple.acl.text"

    private static let magic: UInt32 = 0x0005_1607
    private static let version: UInt32 = 0x0002_0000
    private static let finderInfo: UInt32 = 9
    /// "ATTR", behind the 32 bytes of Finder info and two bytes of padding.
    private static let attributesMagic: UInt32 = 0x4154_5452
    private static let attributesOffset = 34

    public init(security: FileSecurity? = nil, listText: [UInt8]? = nil, otherAttributes: [[UInt8]] = []) {
        (self.security, self.listText, self.otherAttributes) = (security, listText, otherAttributes)
    }

    /// - Parameters:
    ///   - head: the first bytes of the file, `longestHead` of them or all.
    ///   - size: of the file.
    public init(_ head: [UInt8], size: UInt64) throws(AppleDoubleError) {
        let reader = BigEndian(head)
        guard let magic = reader.number32(at: 0) else { throw .truncated("its header") }
        guard magic == Self.magic else { throw .badMagic }
        guard let version = reader.number32(at: 4), let count = reader.number16(at: 24) else { throw .truncated("its header") }
        guard version == Self.version else { throw .badVersion(version) }
        // Apple's systems write two, and others at most one of each of the 15 kinds.
        if count > 15 { throw .tooMany("parts", Int(count)) }
        for index in 0..<Int(count) {
            let place = 26 + index * 12
            guard let kind = reader.number32(at: place), let offset = reader.number32(at: place + 4),
                let length = reader.number32(at: place + 8)
            else { throw .truncated("the table of its parts") }
            guard UInt64(offset) + UInt64(length) <= size else { throw .outside("part \(kind)") }
            if kind == Self.finderInfo, length > UInt32(Self.attributesOffset) {
                try readAttributes(reader, at: Int(offset) + Self.attributesOffset, end: Int(offset) + Int(length))
            }
        }
    }

    /// The table: mark, tag, size, start and length of the data, 12 bytes, flags, number; then for each attribute offset and length of its
    /// value, flags, length of its name with the final zero, name. Each begins at a multiple of 4.
    private mutating func readAttributes(_ reader: BigEndian, at start: Int, end: Int) throws(AppleDoubleError) {
        guard let magic = reader.number32(at: start) else { throw .truncated("its attributes") }
        // Finder info without attributes.
        if magic != Self.attributesMagic { return }
        guard let total = reader.number32(at: start + 8), let count = reader.number16(at: start + 34) else {
            throw .truncated("the table of its attributes")
        }
        guard Int(total) <= end else { throw .outside("the table of attributes") }
        var place = start + 36
        for _ in 0..<Int(count) {
            guard let offset = reader.number32(at: place), let length = reader.number32(at: place + 4),
                let nameLength = reader.part(at: place + 10, count: 1)?.first,
                let name = reader.part(at: place + 11, count: Int(nameLength))
            else { throw .truncated("the table of its attributes") }
            guard place + 11 + Int(nameLength) <= Int(total) else { throw .outside("the name of an attribute") }
            guard name.last == 0, name.dropLast().allSatisfy({ $0 != 0 }), name.count > 1 else { throw .badAttributeName }
            guard Int(offset) + Int(length) <= Int(total), let value = reader.part(at: Int(offset), count: Int(length)) else {
                throw .outside("the value of \(escapedName(name.dropLast()))")
            }
            try take(Array(name.dropLast()), Array(value))
            place += (11 + Int(nameLength) + 3) & ~3
        }
    }

    private mutating func take(_ name: [UInt8], _ value: [UInt8]) throws(AppleDoubleError) {
        if name.elementsEqual(Self.securityName.utf8) {
            do { security = try FileSecurity(value) } catch { throw .security(error) }
        } else if name.elementsEqual(Self.listName.utf8) {
            listText = value
        } else {
            otherAttributes.append(name)
        }
    }
}
