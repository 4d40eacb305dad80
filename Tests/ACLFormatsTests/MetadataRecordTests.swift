import ACLFormats
import Authorization
import Foundation
import Testing

@Suite("the stored record (docs/reference/record-format.md)")
struct MetadataRecordTests {
    /// The example of docs/reference/record-format.md. Never change it: these bytes are on people's disks.
    static let example = MetadataRecord(
        flags: [.userImmutable, .hidden], groupGUID: GUID(group: 30),
        acl: ACL(
            [
                ACE(GUID(user: 502), .deny, .write),
                ACE(.everyone, .allow, [.read, .readAttributes], flags: [.inherited, .fileInherit]),
            ], listFlags: ACL.noInherit))
    static let exampleBytes: [UInt8] = [
        0x41, 0x43, 0x4C, 0x46, 0x01, 0x00, 0x06, 0x00, 0x22, 0x9A, 0xAA, 0x5C, 0x02, 0x80, 0x00, 0x00,
        0xAB, 0xCD, 0xEF, 0xAB, 0xCD, 0xEF, 0xAB, 0xCD, 0xEF, 0xAB, 0xCD, 0xEF, 0x00, 0x00, 0x00, 0x1E,
        0x00, 0x00, 0x02, 0x00, 0x02, 0x00, 0x00, 0x00,
        0xFF, 0xFF, 0xEE, 0xEE, 0xDD, 0xDD, 0xCC, 0xCC, 0xBB, 0xBB, 0xAA, 0xAA, 0x00, 0x00, 0x01, 0xF6,
        0x02, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
        0xAB, 0xCD, 0xEF, 0xAB, 0xCD, 0xEF, 0xAB, 0xCD, 0xEF, 0xAB, 0xCD, 0xEF, 0x00, 0x00, 0x00, 0x0C,
        0x31, 0x00, 0x00, 0x00, 0x82, 0x00, 0x00, 0x00,
    ]

    func decode(_ bytes: [UInt8]) throws(MetadataRecordError) -> MetadataRecord { try MetadataRecord(decoding: bytes) }

    @Test("the documented example, byte for byte")
    func golden() throws {
        #expect(try Self.example.encoded() == Self.exampleBytes)
        #expect(try decode(Self.exampleBytes) == Self.example)
    }

    @Test("the page shows these very bytes")
    func documented() throws {
        let page = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("docs/reference/record-format.md"), encoding: .utf8)
        let dump = page.split(separator: "\n").filter { $0.wholeMatch(of: /[0-9a-f]{4}  .*/) != nil }
        let bytes = dump.flatMap {
            $0.dropFirst(6).prefix(47).split(separator: " ").compactMap { UInt8($0, radix: 16) }
        }
        #expect(bytes == Self.exampleBytes)
    }

    @Test("whatever is stored is read again")
    func roundTrip() throws {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededGenerator(seed)
            let record = random.record()
            #expect(try decode(record.encoded()) == record, "seed \(seed)")
        }
    }

    @Test("no list, an empty list and no record at all are three states")
    func states() throws {
        #expect(try decode(MetadataRecord(acl: nil).encoded()).acl == nil)
        #expect(try decode(MetadataRecord(acl: ACL([])).encoded()).acl == ACL([]))
        #expect(MetadataRecord().isEmpty && !MetadataRecord(acl: ACL([])).isEmpty)
    }

    @Test("128 entries fit in the room that is kept for them; 129 are refused both ways")
    func size() throws {
        let entries = (0..<128).map { ACE(GUID(user: $0), .allow, .all) }
        var record = MetadataRecord(
            flags: .hidden, ownerGUID: .everyone, groupGUID: .everyone, acl: ACL(entries), volume: .acl)
        #expect(try record.encoded().count == MetadataRecord.maximumSize)
        #expect(MetadataRecord.maximumSize <= 3_300)
        record.acl?.entries.append(entries[0])
        #expect(throws: MetadataRecordError.tooManyEntries(129)) { try record.encoded() }
    }

    @Test("no change of up to three bits passes unnoticed")
    func bitFlips() throws {
        let whole = Self.exampleBytes
        for bit in 0..<whole.count * 8 {
            var bytes = whole
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: MetadataRecordError.self) { try decode(bytes) }
        }
        for seed in 0..<20_000 as Range<UInt64> {
            var random = SeededGenerator(seed)
            var bytes = try random.record().encoded()
            let original = bytes
            for _ in 0...random.next() % 3 {
                let bit = Int(random.next() % UInt64(bytes.count * 8))
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            }
            if bytes != original { #expect(throws: MetadataRecordError.self, "seed \(seed)") { try decode(bytes) } }
        }
    }

    @Test("any bytes give an answer")
    func anyBytes() {
        for seed in 0..<20_000 as Range<UInt64> {
            var random = SeededGenerator(seed)
            var bytes = (0..<random.next() % 120).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            // Let many of them get past the mark and the version.
            if seed % 2 == 0 {
                bytes.replaceSubrange(0..<min(7, bytes.count), with: Self.exampleBytes[0..<min(7, bytes.count)])
            }
            #expect(throws: MetadataRecordError.self, "seed \(seed)") { try decode(bytes) }
        }
    }

    @Test("cut short at any length it is truncated, with more behind it it is too long")
    func lengths() {
        for length in 0..<Self.exampleBytes.count {
            #expect {
                try decode(Array(Self.exampleBytes.prefix(length)))
            } throws: {
                if case .truncated(length, _)? = $0 as? MetadataRecordError { true } else { false }
            }
        }
        #expect(throws: MetadataRecordError.trailingBytes(length: 89, expected: 88)) {
            try decode(Self.exampleBytes + [0])
        }
    }

    @Test("each kind of damage has its own error")
    func errors() {
        func damaged(_ change: (inout [UInt8]) -> Void) -> MetadataRecordError? {
            var bytes = Self.exampleBytes
            change(&bytes)
            do throws(MetadataRecordError) { _ = try decode(bytes) } catch { return error }
            return nil
        }
        #expect(damaged { $0[0] = 0x42 } == .badMagic)
        #expect(damaged { $0[4] = 2 } == .newerVersion(2))
        #expect(damaged { $0[4] = 0 } == .badVersion)
        #expect(damaged { $0[7] = 0x80 } == .unknownParts(0x8000))
        #expect(damaged { $0[36] = 129 } == .tooManyEntries(129))
        #expect(damaged { $0[39] = 0xFF } == .tooManyEntries(0xFF00_0002))
        #expect(damaged { $0[36] = 3 } == .truncated(length: 88, needed: 112))
        #expect(damaged { $0[36] = 1 } == .trailingBytes(length: 88, expected: 64))
        #expect(damaged { $0[60] ^= 1 }.map { if case .badChecksum = $0 { true } else { false } } == true)
        #expect(damaged { $0[8] ^= 1 }.map { if case .badChecksum = $0 { true } else { false } } == true)
    }
}
