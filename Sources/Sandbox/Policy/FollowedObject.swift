import ACLFormats

/// The object that a grant follows when it is moved or renamed (docs/guide/sandbox.md "Grants").
public struct FollowedObject: Sendable, Hashable {
    /// A handle of name_to_handle_at(2). It is valid on the file system of the directory for which the grant is stored.
    public struct Handle: Sendable, Hashable {
        public var type: Int32
        public var bytes: [UInt8]

        public init(type: Int32, bytes: [UInt8]) { (self.type, self.bytes) = (type, bytes) }

        /// The type in decimal digits, a colon, and the bytes in hexadecimal digits.
        public var text: String {
            "\(type):" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }

        /// - Parameter text: as `text` writes it; nil otherwise.
        public init?(text: String) {
            let parts = text.utf8.split(separator: 0x3A, omittingEmptySubsequences: false)
            guard parts.count == 2, let type = Int32(String(parts[0]) ?? ""), parts[1].count % 2 == 0, !parts[1].isEmpty,
                parts[1].count <= 2 * Self.longest
            else { return nil }
            var digits: [UInt8] = []
            for character in parts[1] {
                switch character {
                case 0x30...0x39: digits.append(character - 0x30)
                case 0x61...0x66: digits.append(character - 0x61 + 10)
                default: return nil
                }
            }
            self.init(type: type, bytes: stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
        }

        /// In bytes: the kernel's limit.
        static let longest = 128
    }

    public var handle: Handle
    public var inode: UInt64
    /// Of a file: the directory in which it had the last name of the grant's path. nil for a directory: the kernel knows its path.
    public var parent: Handle?

    public init(handle: Handle, inode: UInt64, parent: Handle?) { (self.handle, self.inode, self.parent) = (handle, inode, parent) }

    var json: JSON {
        var members: [JSON.Member] = [.init("handle", .string(handle.text)), .init("ino", .string(String(inode)))]
        if let parent { members.append(.init("in", .string(parent.text))) }
        return .object(members)
    }

    /// nil unless every member is valid.
    init?(_ json: JSON) {
        guard let handle = json["handle"]?.string.flatMap({ Handle(text: $0) }),
            let inode = json["ino"]?.string.flatMap({ UInt64($0) })
        else { return nil }
        var parent: Handle?
        if let member = json["in"] {
            guard let known = member.string.flatMap({ Handle(text: $0) }) else { return nil }
            parent = known
        }
        self.init(handle: handle, inode: inode, parent: parent)
    }
}
