/// The states of the processes that /proc shows.
public enum ProcessState {
    /// Whether a thread of the process runs or can be woken: it has neither stopped nor ended and does not wait uninterruptibly.
    public static func isAwake(_ process: Int32) throws(Errno) -> Bool {
        let tasks: [[UInt8]]
        do throws(Errno) {
            let directory = try Syscall.open("/proc/\(process)/task", OpenFlag.readOnly | OpenFlag.directory)
            tasks = try Syscall.names(directory.rawValue)
        } catch {
            if error == .noent || error == .srch { return false }
            throw error
        }
        for task in tasks {
            let path = "/proc/\(process)/task/\(String(decoding: task, as: UTF8.self))/stat"
            // A thread that has ended since is not awake.
            guard let text = try? Syscall.readAll(path: path), let letter = letter(stat: text) else { continue }
            if letter == UInt8(ascii: "R") || letter == UInt8(ascii: "S") { return true }
        }
        return false
    }

    /// Whether a process has ended or is ending; its descriptors may still be open.
    public static func isEnding(_ process: Int32) -> Bool {
        guard let text = try? Syscall.readAll(path: "/proc/\(process)/stat"), let letter = letter(stat: text),
            let end = text.lastIndex(of: UInt8(ascii: ")"))
        else { return true }
        if letter == UInt8(ascii: "Z") || letter == UInt8(ascii: "X") { return true }
        // Field 9: PF_EXITING of the process's first thread.
        let words = text[(end + 2)...].split(separator: UInt8(ascii: " "), maxSplits: 7)
        guard words.count > 6, let flags = UInt32(String(decoding: words[6], as: UTF8.self)) else { return false }
        return flags & 4 != 0
    }

    /// Whether another process that /proc shows is awake.
    public static func anyAwake(besides process: Int32) throws(Errno) -> Bool {
        let directory = try Syscall.open("/proc", OpenFlag.readOnly | OpenFlag.directory)
        for name in try Syscall.names(directory.rawValue) {
            guard let number = Int32(String(decoding: name, as: UTF8.self)), number != process else { continue }
            if try isAwake(number) { return true }
        }
        return false
    }

    /// Field 4 of /proc/PID/stat.
    static func parent(stat text: [UInt8]) -> Int32? {
        guard let end = text.lastIndex(of: UInt8(ascii: ")")), end + 2 < text.count else { return nil }
        let words = text[(end + 2)...].split(separator: UInt8(ascii: " "), maxSplits: 2)
        return words.count > 1 ? Int32(String(decoding: words[1], as: UTF8.self)) : nil
    }

    /// Field 3 of /proc/TID/stat, after the last closing parenthesis, because a name may contain some.
    static func letter(stat text: [UInt8]) -> UInt8? {
        guard let end = text.lastIndex(of: UInt8(ascii: ")")), end + 2 < text.count else { return nil }
        return text[end + 2]
    }
}
