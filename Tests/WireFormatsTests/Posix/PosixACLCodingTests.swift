import Authorization
import Testing

@testable import WireFormats

/// The value of `system.posix_acl_access` (docs/reference/authorization.md Q22).
@Suite struct PosixACLCodingTests {
    private func value(version: UInt32 = 2, _ entries: [(tag: UInt16, permissions: UInt16, id: UInt32)]) -> [UInt8] {
        func bytes(_ number: UInt32, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) } }
        return bytes(version, 4) + entries.flatMap { bytes(UInt32($0.tag), 2) + bytes(UInt32($0.permissions), 2) + bytes($0.id, 4) }
    }

    private func decoded(_ bytes: [UInt8], groupBits: UInt16 = 6) -> PosixACL? {
        PosixACL.decoding(bytes.span.bytes, groupBits: groupBits)
    }

    private let none = UInt32.max

    @Test func readsWhatSetfaclWrites() {
        // setfacl -m u:503:rw,g:600:r on a file of mode 0600.
        let bytes = value([(1, 6, none), (2, 6, 503), (4, 0, none), (8, 4, 600), (16, 6, none), (32, 0, none)])
        #expect(decoded(bytes) == PosixACL([.init(.user(503), 6), .init(.owningGroup, 0), .init(.group(600), 4)]))
    }

    @Test func aListThatSaysNoMoreThanTheModeIsNone() {
        #expect(decoded(value([(1, 6, none), (4, 4, none), (32, 4, none)])) == nil)
        #expect(decoded(value([])) == nil)
        // With a mask it does: the group's rights are not the mode's.
        #expect(decoded(value([(1, 6, none), (4, 0, none), (16, 6, none), (32, 0, none)])) == PosixACL([.init(.owningGroup, 0)]))
    }

    @Test func aMaskThatIsNotTheModesCuts() {
        let bytes = value([(1, 6, none), (2, 6, 503), (4, 6, none), (16, 4, none), (32, 0, none)])
        #expect(decoded(bytes, groupBits: 6) == PosixACL([.init(.user(503), 4), .init(.owningGroup, 4)]))
    }

    static let broken: [[(tag: UInt16, permissions: UInt16, id: UInt32)]] = [
        [(1, 6, 0)], [(1, 6, 0), (4, 6, 0)], [(1, 6, 0), (4, 6, 0), (16, 6, 0)], [(4, 6, 0), (1, 6, 0), (32, 0, 0)],
        [(1, 6, 0), (2, 6, 503), (4, 6, 0), (32, 0, 0)], [(1, 6, 0), (4, 6, 0), (8, 6, 600), (32, 0, 0)],
        [(1, 6, 0), (4, 6, 0), (2, 6, 503), (16, 6, 0), (32, 0, 0)], [(1, 8, 0), (4, 6, 0), (32, 0, 0)],
        [(1, 6, 0), (4, 6, 0), (32, 0, 0), (32, 0, 0)], [(1, 6, 0), (1, 6, 0), (4, 6, 0), (32, 0, 0)], [(64, 6, 0)],
    ]

    @Test(arguments: broken)
    func whatMakesNoSenseIsUnreadable(_ entries: [(tag: UInt16, permissions: UInt16, id: UInt32)]) {
        #expect(decoded(value(entries)) == .unreadable)
    }

    @Test func everyOtherLengthAndVersionIsUnreadable() {
        let bytes = value([(1, 6, none), (2, 6, 503), (4, 0, none), (16, 6, none), (32, 0, none)])
        for length in bytes.indices where length != 4 { #expect(decoded(Array(bytes.prefix(length))) == .unreadable, "\(length)") }
        #expect(decoded(value(version: 1, [(1, 6, 0), (4, 6, 0), (32, 0, 0)])) == .unreadable)
    }
}
