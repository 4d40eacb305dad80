import ACLFormats
import Authorization

/// Changes the list of an object if it is still the one that the caller has read, or single flags. A command sets it as an attribute of the
/// object (docs/reference/control.md "A change of what was read").
public struct ExchangeRequest: Sendable, Equatable {
    /// Reading it gives the list as a record (`record(reading:)`).
    public static let attribute = "system.aclfs.exchange"

    public enum Change: Sendable, Equatable {
        /// nil: none.
        case list(from: ACL?, to: ACL?)
        case flags(set: FileFlags, clear: FileFlags)
        /// Clears flags of a file until the caller sets them again. It keeps others from opening the file for writing meanwhile, which it can
        /// on one mount: while the tree has several, this is refused with ETXTBSY.
        case lift(FileFlags)
    }
    public var change: Change

    public init(_ change: Change) { self.change = change }

    /// The version, the kind of the change, and two parts: the length of the first one with the lowest byte first, and both.
    /// - Throws: a list is too long.
    public func bytes() throws(MetadataRecordError) -> [UInt8] {
        let kind: UInt8
        let parts: (first: [UInt8], second: [UInt8])
        switch change {
        case .list(let old, let new): (kind, parts) = (Self.listKind, (try Self.value(of: old), try Self.value(of: new)))
        case .lift(let flags): (kind, parts) = (Self.liftKind, (littleEndian(flags.rawValue), []))
        case .flags(let set, let clear): (kind, parts) = (Self.flagsKind, (littleEndian(set.rawValue), littleEndian(clear.rawValue)))
        }
        return [Self.version, kind] + littleEndian(UInt16(parts.first.count)) + parts.first + parts.second
    }

    /// - Returns: nil for anything that `bytes` does not write.
    public init?(reading bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count >= Self.headLength, bytes.count <= Self.headLength + 2 * MetadataRecord.maximumSize, bytes[0] == Self.version
        else {
            return nil
        }
        let length = Int(number(bytes[2..<Self.headLength]))
        let (first, second) = (bytes[Self.headLength...].prefix(length), bytes[Self.headLength...].dropFirst(length))
        guard first.count == length else { return nil }
        switch bytes[1] {
        case Self.listKind:
            guard let old = Self.record(reading: first), let new = Self.record(reading: second) else { return nil }
            change = .list(from: old.acl, to: new.acl)
        case Self.flagsKind:
            guard first.count == 4, second.count == 4 else { return nil }
            change = .flags(
                set: FileFlags(rawValue: UInt32(truncatingIfNeeded: number(first))),
                clear: FileFlags(rawValue: UInt32(truncatingIfNeeded: number(second))))
        case Self.liftKind:
            guard first.count == 4, second.isEmpty else { return nil }
            change = .lift(FileFlags(rawValue: UInt32(truncatingIfNeeded: number(first))))
        default: return nil
        }
    }

    /// A list as a record of docs/reference/record-format.md that has nothing else.
    /// - Throws: it is too long.
    public static func value(of list: ACL?) throws(MetadataRecordError) -> [UInt8] { try MetadataRecord(acl: list).encoded() }

    /// - Returns: nil for anything that `value(of:)` does not write.
    public static func record(reading bytes: some Collection<UInt8>) -> MetadataRecord? {
        guard let record = try? MetadataRecord(decoding: Array(bytes)), record == MetadataRecord(acl: record.acl) else { return nil }
        return record
    }

    private static let version: UInt8 = 1
    private static let headLength = 4
    private static let listKind: UInt8 = 1
    private static let flagsKind: UInt8 = 2
    private static let liftKind: UInt8 = 3
}

private func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
    (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
}

private func number(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
