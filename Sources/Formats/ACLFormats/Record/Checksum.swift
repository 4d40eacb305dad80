/// CRC-32C of bytes.
public enum Checksum {
    public static func crc32c(_ bytes: [UInt8]) -> UInt32 {
        var sum = CRC32C()
        sum.update(bytes.span.bytes, in: 0..<bytes.count)
        return sum.value
    }

    /// The same of bytes in any storage.
    public static func crc32c(_ bytes: RawSpan) -> UInt32 {
        var sum = CRC32C()
        sum.update(bytes, in: 0..<bytes.byteCount)
        return sum.value
    }
}
