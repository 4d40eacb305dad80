/// Whether a thread has a signal that it will handle as soon as it runs.
public enum PendingSignals {
    /// Whether there is one; false if that is unknown.
    public static func exist(for tid: Int32) -> Bool {
        guard tid > 0, let text = try? Syscall.readAll(path: "/proc/\(tid)/status") else { return false }
        return exist(status: text)
    }

    /// By the text of /proc/TID/status: sent to the thread or to its process, and not blocked.
    static func exist(status text: [UInt8]) -> Bool {
        guard let own = mask("SigPnd:", text), let shared = mask("ShdPnd:", text), let held = mask("SigBlk:", text) else {
            return false
        }
        return (own | shared) & ~held != 0
    }

    /// The sixteen hexadecimal digits after a label.
    private static func mask(_ label: StaticString, _ text: [UInt8]) -> UInt64? {
        label.withUTF8Buffer { label in
            guard let line = text.split(separator: UInt8(ascii: "\n")).first(where: { $0.starts(with: label) }) else { return nil }
            let digits = line.dropFirst(label.count).drop { $0 == 0x20 || $0 == 0x09 }
            return UInt64(String(decoding: digits, as: UTF8.self), radix: 16)
        }
    }
}
