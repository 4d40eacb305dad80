import CLinux

/// What a thread that waits in getdents(2) is listing.
public enum ListingThread {
    /// Of getdents64(2), which every C library uses.
    static let systemCall = aclfs_SYS_getdents64

    /// As the kernel knows it: the directory's file system gets no request. `nil` if the thread does something else, or is not ours
    /// to see: this needs what ptrace(2) needs.
    public static func directory(listedBy tid: Int32) -> FileStatus? {
        guard tid > 0, let call = systemCall(of: tid), let descriptor = descriptor(inCall: call) else { return nil }
        return try? Syscall.statxAt(
            Syscall.workingDirectory, "/proc/\(tid)/fd/\(descriptor)", mask: StatMask.basic, flags: AtFlag.dontSync)
    }

    /// Who has only just sent a request may be on the way to sleep yet.
    private static func systemCall(of tid: Int32) -> [UInt8]? {
        for _ in 0..<5 {
            guard let text = try? Syscall.readAll(path: "/proc/\(tid)/syscall") else { return nil }
            if !text.starts(with: "running".utf8) { return text }
            SystemTime.sleep(milliseconds: 1)
        }
        return nil
    }

    /// - Parameter text: of /proc/TID/syscall: the number of the call, then its arguments in hexadecimal.
    static func descriptor(inCall text: [UInt8]) -> Int32? {
        let words = String(decoding: text, as: UTF8.self).split(separator: " ")
        guard words.count > 1, words[0] == "\(systemCall)", words[1].hasPrefix("0x"),
            let argument = UInt64(words[1].dropFirst(2), radix: 16)
        else { return nil }
        // An int, whatever the upper half of the register holds.
        return Int32(truncatingIfNeeded: argument)
    }
}
