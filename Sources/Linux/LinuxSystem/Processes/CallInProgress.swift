/// The system call in which a thread waits.
public enum CallInProgress {
    /// Whether the thread waits in pwritev2(2) with RWF_APPEND; false if that is unknown, as of io_uring and io_submit(2).
    public static func appends(tid: Int32) -> Bool {
        guard tid > 0 else { return false }
        // While the thread is on its way to sleep, the kernel says only `running`.
        for _ in 0..<50 {
            guard let text = try? Syscall.readAll(path: "/proc/\(tid)/syscall") else { return false }
            guard text.starts(with: "running".utf8) else { return appends(call: text) }
            SystemTime.sleep(milliseconds: 1)
        }
        return false
    }

    /// By the text of /proc/TID/syscall: the number of the call, and its six arguments as hexadecimal numbers.
    static func appends(call text: [UInt8]) -> Bool {
        let words = text.split(separator: UInt8(ascii: " ")).prefix(7).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 7, let number = Int(words[0]), numbers.contains(number),
            let flags = UInt64(words[6].dropFirst(2), radix: 16)
        else { return false }
        return flags & 0x10 != 0
    }

    /// Of pwritev2(2), for programs of 64 and of 32 bits. No other call has these numbers.
    #if arch(x86_64)
        private static let numbers = [328, 379]
    #elseif arch(arm64)
        private static let numbers = [287, 393]
    #else
        private static let numbers = [Int]()
    #endif
}
