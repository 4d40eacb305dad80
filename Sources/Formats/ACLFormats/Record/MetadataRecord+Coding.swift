import Authorization

/// The layout (docs/reference/record-format.md): integers little-endian, a GUID in the order of its text.
private enum Layout {
    static let magic: UInt32 = 0x464C_4341  // "ACLF"
    static let version: UInt16 = 1
    static let versionOffset = 4
    static let partsOffset = 6
    static let checksumOffset = 8
    static let flagsOffset = 12
    static let headerSize = 16
    static let guidSize = 16
    static let listHeaderSize = 8
    static let entrySize = 24

    static let owner: UInt16 = 1 << 0
    static let group: UInt16 = 1 << 1
    static let acl: UInt16 = 1 << 2
    static let volume: UInt16 = 1 << 3
    static let knownParts: UInt16 = owner | group | acl | volume
}

extension MetadataRecord {
    /// The longest record: every part, and 128 entries.
    public static let maximumSize =
        Layout.headerSize + 2 * Layout.guidSize + 4 + Layout.listHeaderSize
        + ACL.maximumEntryCount * Layout.entrySize
    /// The size of one entry, in bytes.
    public static let entrySize = Layout.entrySize
    /// The size of a record with just an ACL of this number of entries, in bytes.
    public static func size(entries: Int) -> Int { Layout.headerSize + Layout.listHeaderSize + entries * entrySize }

    /// The bytes to store.
    ///
    /// - Throws: `tooManyEntries` for more than 128 entries, because no such record could be read.
    public func encoded() throws(MetadataRecordError) -> [UInt8] {
        if let count = acl?.entries.count, count > ACL.maximumEntryCount {
            throw .tooManyEntries(UInt32(clamping: count))
        }
        var parts: UInt16 = 0
        if ownerGUID != nil { parts |= Layout.owner }
        if groupGUID != nil { parts |= Layout.group }
        if acl != nil { parts |= Layout.acl }
        if volume != nil { parts |= Layout.volume }

        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.maximumSize)
        append(Layout.magic, to: &bytes)
        append(Layout.version, to: &bytes)
        append(parts, to: &bytes)
        append(UInt32(0), to: &bytes)
        append(flags.rawValue, to: &bytes)
        for guid in [ownerGUID, groupGUID] { if let guid { append(guid, to: &bytes) } }
        if let volume { append(volume.rawValue, to: &bytes) }
        if let acl {
            append(acl.listFlags, to: &bytes)
            append(UInt32(acl.entries.count), to: &bytes)
            for entry in acl.entries {
                append(entry.guid, to: &bytes)
                append(entry.flagsWord, to: &bytes)
                append(entry.rights.rawValue, to: &bytes)
            }
        }
        let checksum = checksum(of: bytes.span.bytes)
        for index in 0..<4 {
            bytes[Layout.checksumOffset + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * index))
        }
        return bytes
    }

    /// Reads stored bytes. It accepts any bytes: the result is the record that was written, or an error.
    public init(decoding bytes: RawSpan) throws(MetadataRecordError) {
        let length = bytes.byteCount
        func require(_ needed: Int) throws(MetadataRecordError) {
            if length < needed { throw .truncated(length: length, needed: needed) }
        }
        // Magic number and version have the same offset in every version, so that a newer record is recognized.
        try require(Layout.partsOffset)
        if load(UInt32.self, bytes, 0) != Layout.magic { throw .badMagic }
        let version = load(UInt16.self, bytes, Layout.versionOffset)
        if version > Layout.version { throw .newerVersion(version) }
        if version == 0 { throw .badVersion }
        try require(Layout.headerSize)
        let parts = load(UInt16.self, bytes, Layout.partsOffset)
        if parts & ~Layout.knownParts != 0 { throw .unknownParts(parts & ~Layout.knownParts) }

        var needed = Layout.headerSize
        func offset(of part: UInt16, size: Int) -> Int? {
            if parts & part == 0 { return nil }
            defer { needed += size }
            return needed
        }
        let ownerOffset = offset(of: Layout.owner, size: Layout.guidSize)
        let groupOffset = offset(of: Layout.group, size: Layout.guidSize)
        let volumeOffset = offset(of: Layout.volume, size: 4)
        let listOffset = offset(of: Layout.acl, size: Layout.listHeaderSize)
        try require(needed)
        if let listOffset {
            let count = load(UInt32.self, bytes, listOffset + 4)
            if count > UInt32(ACL.maximumEntryCount) { throw .tooManyEntries(count) }
            needed += Int(count) * Layout.entrySize
            try require(needed)
        }
        if length > needed { throw .trailingBytes(length: length, expected: needed) }

        let stored = load(UInt32.self, bytes, Layout.checksumOffset)
        let computed = checksum(of: bytes)
        if stored != computed { throw .badChecksum(stored: stored, computed: computed) }

        self.init(flags: FileFlags(rawValue: load(UInt32.self, bytes, Layout.flagsOffset)))
        ownerGUID = ownerOffset.map { loadGUID(bytes, $0) }
        groupGUID = groupOffset.map { loadGUID(bytes, $0) }
        volume = volumeOffset.map { VolumeSettings(rawValue: load(UInt32.self, bytes, $0)) }
        if let listOffset {
            var list = ACL([], listFlags: load(UInt32.self, bytes, listOffset))
            var offset = listOffset + Layout.listHeaderSize
            list.entries.reserveCapacity((needed - offset) / Layout.entrySize)
            while offset < needed {
                list.entries.append(
                    ACE(
                        guid: loadGUID(bytes, offset), flagsWord: load(UInt32.self, bytes, offset + 16),
                        rights: Rights(rawValue: load(UInt32.self, bytes, offset + 20))))
                offset += Layout.entrySize
            }
            acl = list
        }
    }

    public init(decoding bytes: [UInt8]) throws(MetadataRecordError) { try self.init(decoding: bytes.span.bytes) }
}

/// Over the whole record, with zero for the checksum itself.
private func checksum(of bytes: RawSpan) -> UInt32 {
    var crc = CRC32C()
    crc.update(bytes, in: 0..<Layout.checksumOffset)
    crc.updateZeros(4)
    crc.update(bytes, in: Layout.checksumOffset + 4..<bytes.byteCount)
    return crc.value
}

private func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
}

private func append(_ guid: GUID, to bytes: inout [UInt8]) {
    for half in [guid.high, guid.low] { append(half.byteSwapped, to: &bytes) }
}

/// An integer of a stored value. The access is bounds-checked: `unsafe` in the name refers to the type only, and every bit pattern
/// is an integer.
func load<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type, _ bytes: RawSpan, _ offset: Int) -> T {
    T(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
}

private func loadGUID(_ bytes: RawSpan, _ offset: Int) -> GUID {
    GUID(
        high: load(UInt64.self, bytes, offset).byteSwapped, low: load(UInt64.self, bytes, offset + 8).byteSwapped)
}
