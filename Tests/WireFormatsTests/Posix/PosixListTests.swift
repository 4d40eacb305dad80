import LibACL
import TestSupport
import Testing

@testable import WireFormats

private struct NoMemory: Error {}

/// The value of `system.posix_acl_*`, and which lists are valid.
@Suite struct PosixListTests {
    private typealias Entry = PosixWireEntry

    private static let whole = PosixList(
        owner: 7, users: [.init(502, 6), .init(501, 0)], group: 5, groups: [.init(600, 4)], mask: 7, other: 1)

    @Test func bytesAndBack() throws {
        let bytes = PosixWire.bytes(Self.whole.wireEntries)
        #expect(
            bytes.prefix(20) == [2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 0, 0, 0xF5, 1, 0, 0])
        #expect(try PosixList(PosixWire.entries(bytes.span.bytes)) == Self.whole)
        // Ids of one kind may stand in any order.
        #expect(
            try PosixList([
                Entry(.owner, 6), Entry(.user, 4, id: 9), Entry(.user, 4, id: 3), Entry(.owningGroup, 4), Entry(.mask, 4), Entry(.other, 0),
            ])
            .users.map(\.id) == [3, 9])
        #expect(try PosixWire.entries(([2, 0, 0, 0] as [UInt8]).span.bytes).isEmpty)
    }

    static let malformed: [([PosixWireEntry], PosixWireError, String)] = [
        ([], .missing(.owner), "no entry for the owner"),
        ([Entry(.owner, 6), Entry(.owner, 6), Entry(.owningGroup, 4), Entry(.other, 4)], .duplicate(.owner, at: 1), "second one"),
        ([Entry(.owner, 6), Entry(.owningGroup, 4)], .missing(.other), "no entry for others"),
        ([Entry(.owner, 6), Entry(.other, 4)], .missing(.owningGroup), "no entry for the owning group"),
        ([Entry(.owner, 6), Entry(.user, 6, id: 1), Entry(.owningGroup, 4), Entry(.other, 4)], .missing(.mask), "no mask"),
        ([Entry(.owner, 6), Entry(.owningGroup, 4), Entry(.group, 6, id: 1), Entry(.other, 4)], .missing(.mask), "needs one"),
        ([Entry(.owningGroup, 4), Entry(.owner, 6), Entry(.other, 4)], .order(.owner, at: 1), "stands too late"),
        (
            [Entry(.owner, 6), Entry(.owningGroup, 4), Entry(.user, 6, id: 1), Entry(.mask, 6), Entry(.other, 4)], .order(.user, at: 2),
            "the order is owner, users, owning group, groups, mask, others"
        ),
        (
            [Entry(.owner, 6), Entry(.user, 6, id: 1), Entry(.user, 4, id: 1), Entry(.owningGroup, 4), Entry(.mask, 6), Entry(.other, 4)],
            .duplicate(.user, at: 2), "entry 2 is a second one"
        ),
        ([Entry(.owner, 6), Entry(.user, 6), Entry(.owningGroup, 4), Entry(.mask, 6), Entry(.other, 4)], .noID(at: 1), "names no user"),
        ([Entry(.owner, 6), Entry(.owningGroup, 4), Entry(.mask, 6), Entry(.mask, 6), Entry(.other, 4)], .duplicate(.mask, at: 3), "mask"),
        ([Entry(.owner, 6), Entry(.owningGroup, 4), Entry(.other, 4), Entry(.other, 4)], .duplicate(.other, at: 3), "others"),
    ]

    @Test(arguments: malformed)
    func aMalformedListIsNamed(_ entries: [PosixWireEntry], _ error: PosixWireError, _ words: String) {
        #expect(throws: error) { try PosixList(entries) }
        #expect(error.message.contains(words), "\(error.message)")
    }

    @Test func everyOtherBytesAreNamed() {
        func error(_ bytes: [UInt8]) -> PosixWireError? {
            do throws(PosixWireError) { _ = try PosixWire.entries(bytes.span.bytes) } catch { return error }
            return nil
        }
        let bytes = PosixWire.bytes(Self.whole.wireEntries)
        for length in bytes.indices where length % 8 != 4 { #expect(error(Array(bytes.prefix(length))) == .size(length)) }
        #expect(error([1] + bytes.dropFirst()) == .version(1))
        #expect(error([2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]) == .unknownTag(3, at: 0))
        #expect(error([2, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0]) == .permissions(8, at: 0))
        let long = (0..<200).map { Entry(.user, 7, id: $0) }
        #expect(throws: PosixWireError.tooMany(200)) { try PosixList(long) }
    }

    /// Any bytes give entries or an error, any entries a list or an error, and libacl finds the same lists valid.
    @Test func libaclAgrees() throws {
        var random = SplitMix64(seed: 7)
        var valid = 0
        for _ in 0..<20_000 {
            var entries = Self.whole.wireEntries
            for _ in 0..<random.below(3) {
                let index = random.below(entries.count)
                switch random.below(4) {
                case 0: entries.remove(at: index)
                case 1: entries.insert(entries[random.below(entries.count)], at: index)
                case 2:
                    entries[index] = PosixWireEntry(
                        random.pick(PosixWireEntry.Tag.allCases), UInt16(random.below(8)), id: 500 + UInt32(random.below(4)))
                default: entries[index].permissions = UInt16(random.below(8))
                }
                if entries.isEmpty { break }
            }
            #expect(try PosixWire.entries(PosixWire.bytes(entries).span.bytes) == entries)
            guard let check = PosixListCheck(entries) else { throw NoMemory() }
            var problem: PosixWireError?
            do throws(PosixWireError) { _ = try PosixList(entries) } catch { problem = error }
            // An order means nothing to libacl.
            if case .order = problem { continue }
            #expect((problem == nil) == (check.problem == nil), "\(entries): \(problem as Any), libacl: \(check.problem as Any)")
            if problem == nil { valid += 1 }
        }
        #expect(valid > 2000)
    }

    @Test func libaclWritesAList() throws {
        guard let check = PosixListCheck(Self.whole.wireEntries) else { throw NoMemory() }
        #expect(check.text == "u::rwx,u:501:---,u:502:rw-,g::r-x,g:600:r--,m::rwx,o::--x")
    }

    @Test func randomBytesAreAListOrAnError() {
        var random = SplitMix64(seed: 9)
        for _ in 0..<20_000 {
            let bytes =
                [2, 0, 0, 0]
                + (0..<random.below(60)).map { _ in UInt8(truncatingIfNeeded: random.chance(70) ? UInt64(random.below(9)) : random.next()) }
            do throws(PosixWireError) {
                let entries = try PosixWire.entries(bytes.span.bytes)
                #expect(PosixWire.bytes(entries) == bytes)
                _ = try PosixList(entries)
            } catch { #expect(!error.message.isEmpty) }
        }
    }

    /// As XFS has them, with room for entries that are not there, as old kernels write them.
    @Test func theFormOfXFS() throws {
        let entries: [(UInt32, UInt32, UInt8)] = [(1, 0, 6), (2, 1504, 0), (4, 0, 4), (16, 0, 4), (32, 0, 4)]
        func big(_ number: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
        let bytes = big(5) + entries.flatMap { big($0.0) + big($0.1) + [0, $0.2, 0, 0] }
        let expected = PosixWire.bytes([
            PosixWireEntry(.owner, 6), PosixWireEntry(.user, 0, id: 1504), PosixWireEntry(.owningGroup, 4), PosixWireEntry(.mask, 4),
            PosixWireEntry(.other, 4),
        ])
        #expect(try PosixWire.bytes(ofXFS: bytes.span.bytes) == expected)
        #expect(try PosixWire.bytes(ofXFS: (bytes + [UInt8](repeating: 0xAA, count: 30)).span.bytes) == expected)
        let broken: [[UInt8]] = [[], [0, 0, 0], Array(bytes.dropLast()), big(.max) + bytes.dropFirst(4)]
        for wrong in broken {
            #expect(throws: PosixWireError.size(wrong.count)) { try PosixWire.bytes(ofXFS: wrong.span.bytes) }
        }
        #expect(throws: PosixWireError.unknownTag(1, at: 0)) {
            try PosixWire.bytes(ofXFS: (big(1) + big(0x10001) + big(0) + big(0)).span.bytes)
        }
    }
}
