import BackingStore
import Testing

@testable import ACLFileSystem

/// docs/decisions/0033-small-cookies.md
struct DirectoryCookiesTests {
    private let room = CookieRoom(total: 16, forOneUser: 4)
    private func numbered(of user: UInt32 = 501) -> NumberedCookies { NumberedCookies(CookieRoom.Charge(room, payer: user)) }
    /// Not in order, and none of 32 bits.
    private func positions(_ count: Int) -> [Int64] { (1...count).map { Int64($0) &* 0x1E37_79B9_7F4A_7C15 & .max | 1 << 40 } }

    private func list(_ positions: some Sequence<Int64>, _ cookies: inout NumberedCookies) throws -> [UInt64] {
        var found: [UInt64] = []
        for position in positions { found.append(try cookies.cookie(of: position)) }
        return found
    }

    @Test func numbersAreSmallAndStandForTheirPosition() throws {
        var cookies = numbered()
        let positions = positions(10_000)
        let found = try list(positions, &cookies)
        #expect(Set(found).count == 10_000 && found.allSatisfy { $0 <= DirectoryCookies.largest })
        for index in stride(from: 9_999, to: 0, by: -77) { #expect(cookies.position(of: found[index]) == positions[index]) }
        // From any place on, the same names have the same numbers.
        _ = cookies.position(of: found[4_999])
        #expect(try list(positions[5_000...], &cookies) == Array(found[5_000...]))
        cookies.rewind()
        #expect(try list(positions, &cookies) == found)
        #expect(cookies.position(of: 7) == nil && cookies.position(of: .max) == nil)
        #expect(try cookies.cookie(of: 7) == 7)
    }

    @Test func namesThatComeAndGoLeaveTheOthersTheirNumbers() throws {
        var cookies = numbered()
        var positions = positions(1_000)
        let found = Dictionary(uniqueKeysWithValues: zip(positions, try list(positions, &cookies)))
        positions.removeSubrange(100..<110)
        positions.insert(contentsOf: [3 << 50, 5 << 50], at: 500)
        cookies.rewind()
        let again = try list(positions, &cookies)
        for (position, number) in zip(positions, again) {
            if let known = found[position] { #expect(known == number) }
            _ = number
        }
        #expect(Set(again).count == again.count)
    }

    @Test func aDirectoryThatChangesAllTheTimeStaysSmall() throws {
        var cookies = numbered()
        for round in 0..<1_000 {
            cookies.rewind()
            let found = try list((1...1_000).map { Int64($0 + round * 1_000) << 40 }, &cookies)
            #expect(found.allSatisfy { $0 < NumberedCookies.first + 10_000 })
        }
    }

    @Test func whoTakesAllTheRoomKeepsLargeCookies() throws {
        var cookies = [numbered(), numbered(of: 502), numbered(of: 503), numbered(of: 504), numbered(of: 505)]
        let most = 4 * CookieRoom.step
        for index in 0..<4 {
            for position in 0..<most { _ = try cookies[index].cookie(of: Int64(position) + 1 << 32) }
            #expect(try cookies[index].cookie(of: 1 << 50) == 1 << 50)
            // It could not be told from a number.
            #expect(throws: (any Error).self) { _ = try cookies[index].cookie(of: Int64(NumberedCookies.first)) }
        }
        #expect(try cookies[4].cookie(of: 1 << 50) == 1 << 50)
        cookies[0] = numbered()
        #expect(try cookies[4].cookie(of: 1 << 51) <= DirectoryCookies.largest)
    }

    @Test func collidingNamesHaveCookiesOfTheirOwn() {
        let table = CollidingCookies()
        let positions = (0..<3).map { 5 << 32 | Int64($0) }
        #expect(table.cookie(of: positions[0], isColliding: false) == 5)
        #expect(table.cookie(of: positions[1], isColliding: true) == 6)
        #expect(table.cookie(of: positions[2], isColliding: true) == 7)
        // Whose own number has been taken.
        #expect(table.cookie(of: 6 << 32 | 9, isColliding: false) == 8)
        #expect(table.cookie(of: 9 << 32, isColliding: false) == 9)
        // The first of them was removed, and the next is no longer seen to collide.
        #expect(table.cookie(of: positions[1], isColliding: false) == 6)
        #expect(table.position(of: 6) == positions[1] && table.position(of: 7) == positions[2] && table.position(of: 8) == 6 << 32 | 9)
        #expect(table.position(of: 5) == nil)
        // The end is the end.
        #expect(table.cookie(of: .max, isColliding: false) == DirectoryCookies.largest)
        #expect(table.cookie(of: 0x7FFF_FFFE << 32 | 1, isColliding: true) == 0x7FFF_FFFE << 32 | 1)
        for number in 0..<Int64(CollidingCookies.capacity) { _ = table.cookie(of: (number * 2 + 100) << 32 | 1, isColliding: true) }
        #expect(table.cookie(of: 1 << 50 | 1, isColliding: true) == 1 << 50 | 1)
    }
}
