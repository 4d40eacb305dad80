/// One entry of `system.posix_acl_access` or `system.posix_acl_default`, as the bytes have it.
public struct PosixWireEntry: Hashable, Sendable {
    /// Whom an entry is for: the kernel's numbers.
    public enum Tag: UInt16, Sendable, CaseIterable {
        case owner = 0x01
        case user = 0x02
        case owningGroup = 0x04
        case group = 0x08
        case mask = 0x10
        case other = 0x20

        /// Whether the entry names a uid or gid.
        public var isNamed: Bool { self == .user || self == .group }
    }

    public var tag: Tag
    /// Read, write, execute = 4, 2, 1.
    public var permissions: UInt16
    /// The uid or gid; of other entries the kernel writes 0xFFFFFFFF.
    public var id: UInt32

    public init(_ tag: Tag, _ permissions: UInt16, id: UInt32 = .max) {
        (self.tag, self.permissions, self.id) = (tag, permissions, id)
    }
}

/// Why bytes are no POSIX ACL. Positions count from 0.
public enum PosixWireError: Error, Hashable, Sendable {
    /// Neither a header alone nor a header with whole entries.
    case size(Int)
    case version(UInt32)
    case unknownTag(UInt16, at: Int)
    /// Bits besides read, write and execute.
    case permissions(UInt16, at: Int)
    /// A named entry without an id.
    case noID(at: Int)
    /// An entry that stands after one that it belongs before.
    case order(PosixWireEntry.Tag, at: Int)
    /// A second entry for the same subject.
    case duplicate(PosixWireEntry.Tag, at: Int)
    case missing(PosixWireEntry.Tag)
    /// More entries than a list of aclfs can hold.
    case tooMany(Int)

    /// What is wrong, where, and what is right.
    public var message: String {
        switch self {
        case .size(let size): "\(size) bytes; a value has 4 bytes and 8 for each entry"
        case .version(let version): "version \(version); only version 2 is known"
        case .unknownTag(let tag, let index): "entry \(index) has the unknown tag \(tag); known are 1, 2, 4, 8, 16 and 32"
        case .permissions(let bits, let index): "entry \(index) has the permissions \(bits); they go from 0 to 7"
        case .noID(let index): "entry \(index) names no user or group"
        case .order(let tag, let index):
            "entry \(index) (\(tag.words)) stands too late; the order is owner, users, owning group, groups, mask, others"
        case .duplicate(let tag, let index): "entry \(index) is a second one for the same subject (\(tag.words))"
        case .tooMany(let count): "\(count) entries; a list has at most \(PosixList.mostEntries)"
        case .missing(let tag):
            tag == .mask ? "no mask; a list that names users or groups needs one" : "no entry for \(tag.words); each list needs one"
        }
    }
}

extension PosixWireEntry.Tag {
    var words: String {
        switch self {
        case .owner: "the owner"
        case .user: "a user"
        case .owningGroup: "the owning group"
        case .group: "a group"
        case .mask: "the mask"
        case .other: "others"
        }
    }
}

/// The bytes of a POSIX ACL in extended attributes: the kernel's version 2, integers little-endian.
public enum PosixWire {
    static let version: UInt32 = 2
    static let headerSize = 4
    static let entrySize = 8

    /// Calls `body` with each entry of a value.
    /// - Parameter bytes: the value; it may be any bytes.
    /// - Throws: an error of the bytes alone: size, version, tags, permissions.
    public static func forEachEntry(
        _ bytes: RawSpan, _ body: (_ index: Int, PosixWireEntry) throws(PosixWireError) -> Void
    ) throws(PosixWireError) {
        let size = bytes.byteCount - headerSize
        guard size >= 0, size % entrySize == 0 else { throw .size(bytes.byteCount) }
        let version = load(UInt32.self, bytes, 0)
        guard version == Self.version else { throw .version(version) }
        for index in 0..<size / entrySize {
            let place = headerSize + index * entrySize
            let (tag, permissions) = (load(UInt16.self, bytes, place), load(UInt16.self, bytes, place + 2))
            guard let known = PosixWireEntry.Tag(rawValue: tag) else { throw .unknownTag(tag, at: index) }
            guard permissions <= 7 else { throw .permissions(permissions, at: index) }
            try body(index, PosixWireEntry(known, permissions, id: load(UInt32.self, bytes, place + 4)))
        }
    }

    /// The entries of a value, in its order. They need not make a list.
    public static func entries(_ bytes: RawSpan) throws(PosixWireError) -> [PosixWireEntry] {
        var entries: [PosixWireEntry] = []
        try forEachEntry(bytes) { (_, entry) throws(PosixWireError) in entries.append(entry) }
        return entries
    }

    /// The value of a list.
    public static func bytes(_ entries: [PosixWireEntry]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(headerSize + entries.count * entrySize)
        append(version, to: &bytes)
        for entry in entries {
            append(entry.tag.rawValue, to: &bytes)
            append(entry.permissions, to: &bytes)
            append(entry.id, to: &bytes)
        }
        return bytes
    }

    /// The value of a list that XFS shows as `trusted.SGI_ACL_FILE` or `trusted.SGI_ACL_DEFAULT`: a count, and a tag, an id, permissions and
    /// two bytes of nothing for each entry, integers big-endian.
    /// - Parameter bytes: any bytes.
    public static func bytes(ofXFS bytes: RawSpan) throws(PosixWireError) -> [UInt8] {
        let (header, entrySize) = (4, 12)
        guard bytes.byteCount >= header else { throw .size(bytes.byteCount) }
        func number(_ place: Int) -> UInt32 { UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt32.self)) }
        let count = Int(number(0))
        // Old kernels write room for entries that are not there.
        guard count <= (bytes.byteCount - header) / entrySize else { throw .size(bytes.byteCount) }
        var entries: [PosixWireEntry] = []
        for index in 0..<count {
            let place = header + index * entrySize
            guard let tag = UInt16(exactly: number(place)), let known = PosixWireEntry.Tag(rawValue: tag) else {
                throw .unknownTag(UInt16(truncatingIfNeeded: number(place)), at: index)
            }
            entries.append(PosixWireEntry(known, UInt16(number(place + 8) >> 16), id: known.isNamed ? number(place + 4) : .max))
        }
        return Self.bytes(entries)
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        for index in 0..<number.bitWidth / 8 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    private static func load<Number: FixedWidthInteger & BitwiseCopyable>(_: Number.Type, _ bytes: RawSpan, _ place: Int) -> Number {
        Number(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: place, as: Number.self))
    }
}
