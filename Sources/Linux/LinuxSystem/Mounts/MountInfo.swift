extension Syscall {
    /// The id of the mount that any descriptor was opened through. The kernel notes it on the descriptor: a FUSE mount without
    /// `allow_other` refuses even statx(2).
    public static func mountID(of descriptor: Int32) throws(Errno) -> UInt64 {
        let text = try readAll(path: "/proc/self/fdinfo/\(descriptor)")
        guard let id = descriptorNote("mnt_id:", in: text).flatMap({ UInt64($0) }) else { throw .nosys }
        return id
    }

    /// The text after a label in a file of /proc/PID/fdinfo (proc(5)).
    public static func descriptorNote(_ label: String, in text: [UInt8]) -> String? {
        guard let line = text.split(separator: 0x0A).first(where: { $0.starts(with: label.utf8) }) else { return nil }
        return String(decoding: line.dropFirst(label.utf8.count).drop { $0 == 0x09 || $0 == 0x20 }, as: UTF8.self)
    }
}

/// One line of /proc/self/mountinfo (proc(5)). Paths are bytes.
public struct MountInfo: Sendable {
    public var id: UInt64
    /// The id of the mount that it is attached to.
    public var parent: UInt64
    /// As in `FileStatus.device`: the major number in the upper 32 bits.
    public var device: UInt64
    /// The root of the mount within its file system: / unless it is a bind mount of a directory.
    public var root: [UInt8]
    public var path: [UInt8]
    /// The options of this mount, with commas; `superOptions` are those of the file system.
    public var options: [UInt8]
    public var type: [UInt8]
    public var source: [UInt8]
    public var superOptions: [UInt8]

    /// The mounts of this process's namespace, in order; a later one on the same path hides an earlier one.
    public static func ofThisProcess() throws(Errno) -> [MountInfo] {
        let table = try Syscall.open("/proc/self/mountinfo", OpenFlag.readOnly)
        return try read(table.rawValue)
    }

    /// As above, from an open descriptor.
    public static func read(_ descriptor: Int32) throws(Errno) -> [MountInfo] {
        try Syscall.lseek(descriptor, offset: 0, whence: Seek.set)
        let text = try Syscall.readAll(descriptor)
        return text.split(separator: UInt8(ascii: "\n")).compactMap { MountInfo(line: $0) }
    }

    /// Whether an object may be on this mount's file system.
    /// - Parameters:
    ///   - device: the object's device, as statx(2) returns it.
    ///   - type: the type of its file system, as statfs(2) returns it.
    public func mayHold(device: UInt64, type: UInt64) -> Bool {
        self.device == device || FileSystemType.ofManyDevices[type].map { self.type.elementsEqual($0.utf8) } ?? false
    }

    /// Whether its file system shows or controls processes, control groups or FUSE connections.
    public var isOfControls: Bool { FileSystemType.ofControls.values.contains { type.elementsEqual($0.utf8) } }

    /// The user who mounted a FUSE mount, and so serves it; nil for other mounts.
    public var mounter: UInt32? {
        guard type.starts(with: "fuse".utf8) else { return nil }
        let label = "user_id="
        let word = superOptions.split(separator: UInt8(ascii: ",")).first { $0.starts(with: label.utf8) }
        return word.flatMap { UInt32(String(decoding: $0.dropFirst(label.utf8.count), as: UTF8.self)) }
    }

    /// Whether it is a FUSE mount that is served neither by root nor by this user.
    public func isOfAnotherUser(than uid: UInt32) -> Bool { mounter.map { $0 != 0 && $0 != uid } ?? false }

    /// Whether it is a FUSE mount only for the user who mounted it, and that is not this user. The kernel refuses all others, root
    /// too.
    public func refuses(_ uid: UInt32) -> Bool {
        guard let mounter, mounter != uid else { return false }
        return !superOptions.split(separator: UInt8(ascii: ",")).contains { $0.elementsEqual("allow_other".utf8) }
    }

    init?(line: ArraySlice<UInt8>) {
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.count > 8, let dash = fields.dropFirst(6).firstIndex(where: { $0.elementsEqual("-".utf8) }),
            dash + 1 < fields.count, let id = Self.number(fields[0]), let parent = Self.number(fields[1])
        else { return nil }
        let numbers = fields[2].split(separator: UInt8(ascii: ":"))
        guard numbers.count == 2, let major = Self.number(numbers[0]), let minor = Self.number(numbers[1]) else {
            return nil
        }
        self.id = id
        self.parent = parent
        device = major << 32 | minor
        root = Self.unescaped(fields[3])
        path = Self.unescaped(fields[4])
        options = Array(fields[5])
        type = Array(fields[dash + 1])
        source = fields.count > dash + 2 ? Self.unescaped(fields[dash + 2]) : []
        superOptions = fields.count > dash + 2 ? Array(fields[fields.count - 1]) : []
    }

    private static func number(_ field: ArraySlice<UInt8>) -> UInt64? {
        UInt64(String(decoding: field, as: UTF8.self))
    }

    /// Blank, tab, newline and backslash are written as three octal digits.
    static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = field
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
        return bytes
    }
}
