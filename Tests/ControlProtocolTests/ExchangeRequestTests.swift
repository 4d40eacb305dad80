import ACLFormats
import Authorization
import ControlProtocol
import Testing

/// The attribute with which a command changes a list that it has read (docs/reference/control.md "A change of what was read").
@Suite struct ExchangeRequestTests {
    private let list = ACL([ACE(.everyone, .deny, [.write])])
    private func reads(_ bytes: [UInt8]) -> ExchangeRequest? { ExchangeRequest(reading: bytes) }

    @Test func theBytesAreThoseOfTheDocument() throws {
        let record = try MetadataRecord(acl: list).encoded()
        let none = try MetadataRecord().encoded()
        let request = ExchangeRequest(.list(from: nil, to: list))
        #expect(try request.bytes() == [1, 1, 16, 0] + none + record)
        #expect(none.count == 16)
        #expect(reads(try request.bytes()) == request)
        #expect(reads([1, 1, 48, 0] + record + none) == ExchangeRequest(.list(from: list, to: nil)))
        let flags = ExchangeRequest(.flags(set: FileFlags(rawValue: 0x8000), clear: FileFlags(rawValue: 0x0102)))
        #expect(try flags.bytes() == [1, 2, 4, 0, 0, 0x80, 0, 0, 2, 1, 0, 0])
        #expect(reads(try flags.bytes()) == flags)
        let lift = ExchangeRequest(.lift(FileFlags(rawValue: 0x0102)))
        #expect(try lift.bytes() == [1, 3, 4, 0, 2, 1, 0, 0])
        #expect(reads(try lift.bytes()) == lift)
        #expect(ExchangeRequest.record(reading: record)?.acl == list)
        let long = ACL((0...128).map { _ in list.entries[0] })
        #expect(throws: MetadataRecordError.tooManyEntries(129)) { try ExchangeRequest(.list(from: nil, to: long)).bytes() }
    }

    @Test func nothingElseIsRead() throws {
        let none = try MetadataRecord().encoded()
        let more = try MetadataRecord(flags: .noDump).encoded()
        for bytes: [UInt8] in [[], [1], [1, 1, 16], [1, 1, 16, 0]] { #expect(reads(bytes) == nil) }
        #expect(reads([2, 1, 16, 0] + none + none) == nil)
        for kind: UInt8 in [0, 3, 4] { #expect(reads([1, kind, 16, 0] + none + none) == nil) }
        #expect(reads([1, 3, 4, 0] + [UInt8](repeating: 0, count: 5)) == nil)
        for length: UInt8 in [0, 15, 17, 32, 255] { #expect(reads([1, 1, length, 0] + none + none) == nil) }
        #expect(reads([1, 1, 0, 255] + none + none) == nil)
        #expect(reads([1, 1, 16, 0] + none + more) == nil, "no list alone")
        #expect(reads([1, 1, 16, 0] + more + none) == nil)
        #expect(reads([1, 2, 4, 0] + [UInt8](repeating: 0, count: 7)) == nil)
        #expect(reads([1, 2, 5, 0] + [UInt8](repeating: 0, count: 9)) == nil)
        #expect(reads([1, 1, 16, 0] + none + none + [0]) == nil)
        #expect(reads([UInt8](repeating: 1, count: 100_000)) == nil)
    }
}
