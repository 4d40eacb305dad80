import BackingStore
import LinuxSystem

/// Numbers for the positions of an open directory whose file system has any: the number of a position counts the positions that were listed
/// before it. Positions that are smaller than all numbers stand for themselves.
struct NumberedCookies {
    /// The first number. The last one is `DirectoryCookies.largest`.
    static let first = DirectoryCookies.largest - UInt64(capacity - 1)
    private static let capacity = 1 << 24
    /// So many names may have been removed in a row before a position that is listed again gets another number.
    private static let mostRemoved = 16

    /// All of the same size, so that nothing is copied when there are more.
    private var steps: [[Int64]] = []
    private var count = 0
    /// The number that the next position has, if the directory has not changed.
    private var expected = 0
    /// Those that were listed since the beginning, and the most of these.
    private var (listed, mostListed) = (0, 0)
    private let charge: CookieRoom.Charge

    init(_ charge: CookieRoom.Charge) { self.charge = charge }

    /// The positions that have numbers, in their order.
    var positions: [Int64] { (0..<count).map { self[$0] } }

    /// - Returns: false if there is no room for all.
    mutating func restore(_ positions: [Int64]) -> Bool { positions.allSatisfy { append($0) } }

    /// - Returns: nil: the cookie is no number.
    mutating func position(of cookie: UInt64) -> Int64? {
        guard cookie >= Self.first, cookie - Self.first < count else { return nil }
        let number = Int(cookie - Self.first)
        expected = number + 1
        return self[number]
    }

    /// A listing begins anew. Numbers from before still count, but those of a directory that changes all the time must not grow without end.
    mutating func rewind() {
        mostListed = max(mostListed, listed)
        if count > 2 * mostListed + CookieRoom.step { count = 0 }
        (expected, listed) = (0, 0)
    }

    /// - Returns: the position itself if it is small, or if there is no room for another number.
    /// - Throws: `nomem` if it could then be taken for a number.
    mutating func cookie(of position: Int64) throws(Errno) -> UInt64 {
        let plain = UInt64(bitPattern: position)
        if plain < Self.first { return plain }
        listed += 1
        for number in expected..<max(expected, min(expected + Self.mostRemoved, count)) where self[number] == position {
            expected = number + 1
            return Self.first + UInt64(number)
        }
        guard append(position) else {
            if plain > DirectoryCookies.largest { return plain }
            throw .nomem
        }
        // Otherwise a new name among known ones, which follow.
        if expected == count - 1 { expected = count }
        return Self.first + UInt64(count - 1)
    }

    private subscript(number: Int) -> Int64 { steps[number / CookieRoom.step][number % CookieRoom.step] }

    private mutating func append(_ position: Int64) -> Bool {
        let (step, place) = (count / CookieRoom.step, count % CookieRoom.step)
        if step == steps.count {
            guard count < Self.capacity, charge.add() else { return false }
            steps.append([Int64](repeating: 0, count: CookieRoom.step))
        }
        steps[step][place] = position
        count += 1
        return true
    }
}
