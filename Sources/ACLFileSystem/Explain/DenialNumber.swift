/// The number of a denial as an ordinary user is told it. The log counts everybody's refusals; from the numbers of two of his
/// own he could tell how many others had between them. So he is told another, by which no more can be done than name a denial:
/// a permutation of 62 bits that only this process knows (four rounds of Feistel's).
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
