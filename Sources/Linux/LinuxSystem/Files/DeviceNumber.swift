/// Device numbers: as in `FileStatus.device`, with the major number in the upper 32 bits, and as text in the mount table.
public enum DeviceNumber {
    /// Reads `MAJOR:MINOR`; nil for anything else.
    public static func parse(_ text: String) -> UInt64? {
        let parts = text.split(separator: ":").compactMap { UInt64($0) }
        return parts.count == 2 && parts.allSatisfy { $0 <= UInt64(UInt32.max) } ? parts[0] << 32 | parts[1] : nil
    }

    /// The number as `MAJOR:MINOR`.
    public static func text(_ device: UInt64) -> String { "\(device >> 32):\(device & 0xFFFF_FFFF)" }
}
