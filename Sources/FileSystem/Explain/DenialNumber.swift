/// The number of a denial as an ordinary user reads it.
///
/// The log counts the denials of all users: two of its numbers would tell a user how many denials others had in between. So the user gets
/// the number encrypted, by a permutation of 62 bits with a key of this process (a Feistel cipher of four rounds).
enum DenialNumber {
    private static let half: UInt64 = 31
    private static let mask: UInt64 = 1 << half - 1
    private static let key = UInt64.random(in: 0...(.max))

    static func encrypted(_ sequence: UInt64) -> UInt64 {
        var (left, right) = (sequence >> half & mask, sequence & mask)
        for round in 0..<4 { (left, right) = (right, left ^ mixed(right, round)) }
        return left << half | right
    }

    static func decrypted(_ number: UInt64) -> UInt64 {
        var (left, right) = (number >> half & mask, number & mask)
        for round in (0..<4).reversed() { (left, right) = (right ^ mixed(left, round), left) }
        return left << half | right
    }

    private static func mixed(_ half: UInt64, _ round: Int) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(round)
        hasher.combine(half)
        return UInt64(truncatingIfNeeded: hasher.finalize()) & mask
    }
}
