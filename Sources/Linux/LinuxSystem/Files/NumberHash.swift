/// Hashes numbers that no caller can choose: of objects, nodes and handles. Each request looks up several of them. The hasher of
/// the standard library, made for keys that an attacker chooses, would take longer than the rest of a look-up
/// (docs/internals/performance.md).
public enum NumberHash {
    /// For `_rawHashValue(seed:)`: spreads neighbouring numbers over all bits.
    @inlinable public static func spread(_ number: UInt64, seed: Int) -> Int {
        var value = number ^ UInt64(bitPattern: Int64(seed))
        value = (value ^ value >> 32) &* 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 29) &* 0xBF58_476D_1CE4_E5B9
        return Int(truncatingIfNeeded: value ^ value >> 32)
    }
}
