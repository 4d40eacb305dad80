import LinuxSystem

/// One line of /proc/self/mountinfo, as far as it is needed.
struct MountEntry {
    var id: UInt64
    var device: String
    /// What of the file system is mounted there: / unless it is a bind mount of a part.
    var root: String
    var path: String
    /// Of this mount; `superOptions` are those of the file system, wherever it is mounted.
    var options: [String]
    var type: String
    var source: String
    var superOptions: [String]
    /// Of a FUSE mount: who mounted it.
    var userID: UInt32?
}

enum MountTable {
    /// The mounts in order; a later one on the same path covers an earlier.
    static func entries() -> [MountEntry] {
        guard let file = try? Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly),
            let text = try? Syscall.readAll(file.rawValue)
        else { return [] }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 9, let separator = fields.firstIndex(of: "-"), fields.count > separator + 2,
                let id = UInt64(fields[0])
            else { return nil }
            let superOptions = fields[(separator + 2)...].last.map { $0.split(separator: ",").map(String.init) } ?? []
            return MountEntry(
                id: id, device: String(fields[2]), root: unescaped(fields[3]), path: unescaped(fields[4]),
                options: fields[5].split(separator: ",").map(String.init), type: String(fields[separator + 1]),
                source: unescaped(fields[separator + 2]), superOptions: superOptions,
                userID: superOptions.first { $0.hasPrefix("user_id=") }
                    .flatMap { UInt32($0.dropFirst("user_id=".count)) })
        }
    }

    /// The mount that covers exactly this path, the topmost if there are several.
    static func entry(at path: String) -> MountEntry? { entries().last { $0.path == path } }

    /// The kernel writes blank, tab, newline and backslash as three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        guard field.contains("\\") else { return String(field) }
        var bytes: [UInt8] = []
        var rest = Array(field.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == 0x5C, rest.count >= 3,
                let value = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
