import CLinux

/// The identity of a thread in /proc, in the reader's user namespace.
public struct ThreadIdentity: Hashable, Sendable {
    /// The ids for files: the fourth numbers of `Uid:` and `Gid:`.
    public var fsuid: UInt32
    public var fsgid: UInt32
    /// The real ids, the first numbers. access(2) uses them, with the same groups.
    public var ruid: UInt32
    public var rgid: UInt32
    /// Supplementary groups; nil if another thread replaced this one during the read.
    public var groups: [UInt32]?
    /// Clock ticks since boot.
    public var startTime: UInt64
    /// The capabilities in effect and those that the thread may put into effect, by number; 0 if they cannot be read.
    public var effective: UInt64 = 0
    public var permitted: UInt64 = 0
    /// The user namespace.
    public var namespace = CallerNamespace.other(.init())

    /// - Parameters:
    ///   - tid: the thread, which waits meanwhile.
    ///   - capabilities: those that the caller of this function knows. Of a thread with none of them no more is read.
    ///   - isSubordinate: as for `CallerNamespace.of`.
    /// - Throws: noent or srch if there is no such thread, io if the text of /proc cannot be parsed.
    public static func read(
        tid: Int32, capabilities: UInt64 = 0, isSubordinate: (UInt32) -> Bool = { _ in true }
    ) throws(Errno) -> ThreadIdentity {
        let stat = try Syscall.open("/proc/\(tid)/stat", OpenFlag.readOnly)
        let before = try startTime(stat.rawValue)
        let status = try Syscall.open("/proc/\(tid)/status", OpenFlag.readOnly)
        let text = try Syscall.readAll(status.rawValue)
        guard var result = ThreadIdentity(status: text, startTime: before) else { throw .io }
        let wantsIDs = (result.effective | result.permitted) & capabilities != 0
        result.namespace = CallerNamespace.of(thread: tid, wantsIDs: wantsIDs, isSubordinate: isSubordinate)
        // The open file belongs to the thread, not to its number: reading it again fails if the thread has ended.
        try Syscall.lseek(stat.rawValue, offset: 0, whence: Seek.set)
        let after = try startTime(stat.rawValue)
        if before != after { result.groups = nil }
        return result
    }

    /// The process that started this one, or adopted it; 0 if this process does not see it.
    static func parent(of pid: Int32) throws(Errno) -> Int32 {
        guard let numbers = numbers(of: "PPid:", in: try Syscall.readAll(path: "/proc/\(pid)/status")), numbers.count == 1 else {
            throw .io
        }
        return Int32(truncatingIfNeeded: numbers[0])
    }

    /// Reads the text of /proc/TID/status; `nil` if a line is missing or malformed.
    init?(status text: [UInt8], startTime: UInt64) {
        guard let uid = Self.numbers(of: "Uid:", in: text), uid.count == 4,
            let gid = Self.numbers(of: "Gid:", in: text), gid.count == 4,
            let groups = Self.numbers(of: "Groups:", in: text)
        else { return nil }
        (fsuid, fsgid, ruid, rgid) = (uid[3], gid[3], uid[0], gid[0])
        (self.groups, self.startTime) = (groups, startTime)
        effective = Self.bits(of: "CapEff:", in: text) ?? 0
        permitted = Self.bits(of: "CapPrm:", in: text) ?? 0
    }

    private static func startTime(_ descriptor: Int32) throws(Errno) -> UInt64 {
        guard let time = startTime(stat: try Syscall.readAll(descriptor)) else { throw .io }
        return time
    }

    /// Field 22 of /proc/TID/stat. Field 2 is the name in parentheses and may contain spaces and parentheses, so fields are counted
    /// from the last closing one.
    static func startTime(stat text: [UInt8]) -> UInt64? {
        guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = text[(end + 1)...].split(whereSeparator: isSpace)
        guard fields.count > 19 else { return nil }
        return number(fields[19])
    }

    private static func numbers(of label: StaticString, in text: [UInt8]) -> [UInt32]? {
        guard let line = line(label, in: text) else { return nil }
        var numbers: [UInt32] = []
        for field in line.split(whereSeparator: isSpace) {
            guard let value = number(field), let id = UInt32(exactly: value) else { return nil }
            numbers.append(id)
        }
        return numbers
    }

    /// The one number of a line, in hexadecimal digits.
    private static func bits(of label: StaticString, in text: [UInt8]) -> UInt64? {
        guard let fields = line(label, in: text)?.split(whereSeparator: isSpace), fields.count == 1 else { return nil }
        return UInt64(String(decoding: fields[0], as: UTF8.self), radix: 16)
    }

    /// What follows a label. The kernel escapes a newline in a name, so a line that begins with a label is the right line.
    private static func line(_ label: StaticString, in text: [UInt8]) -> ArraySlice<UInt8>? {
        label.withUTF8Buffer { label in
            var start = 0
            while start < text.count {
                let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
                if text[start..<end].starts(with: label) { return text[(start + label.count)..<end] }
                start = end + 1
            }
            return nil
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for byte in digits {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (product, high) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(byte - 0x30))
            if high || carry { return nil }
            value = sum
        }
        return digits.isEmpty ? nil : value
    }
}

/// The group number in /proc for groups that the reader's user namespace does not map. A thread with it may not be in that group.
/// nil where every group is mapped.
public enum OverflowGroup {
    /// - Returns: the number; nil if every group is mapped.
    public static func read() throws(Errno) -> UInt32? {
        let map = try Syscall.readAll(path: "/proc/self/gid_map")
        let fields = map.split { $0 == 0x20 || $0 == 0x0A }
        if fields.count == 3, fields[0].elementsEqual([0x30]), fields[2].elementsEqual("4294967295".utf8) { return nil }
        let text = try Syscall.readAll(path: "/proc/sys/kernel/overflowgid")
        guard let number = UInt32(String(decoding: text.prefix { $0 != 0x0A }, as: UTF8.self)) else { throw .io }
        return number
    }
}
