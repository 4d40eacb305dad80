import ACLFormats

/// A stored grant, with the time and the user who added it.
public struct KeptGrant: Sendable, Hashable {
    public var grant: Grant
    /// Seconds since 1970.
    public var given: Int64
    public var by: UInt32

    public init(_ grant: Grant, given: Int64, by: UInt32) { (self.grant, self.given, self.by) = (grant, given, by) }
}

/// The directory to which the grants of a file belong: its numbers, which are the same wherever it is mounted, and its last path.
public struct GrantRoot: Sendable, Hashable {
    public var inode: UInt64
    /// The time of birth, in seconds and nanoseconds since 1970; nil where the file system has none.
    public var born: String?
    public var path: [UInt8]

    public init(inode: UInt64, born: String?, path: [UInt8]) { (self.inode, self.born, self.path) = (inode, born, path) }

    /// Whether it is the same directory. Without a time of birth the inode number is not enough, and the path must be the same too.
    public func isSame(as other: GrantRoot) -> Bool {
        inode == other.inode && born == other.born && (born != nil || path == other.path)
    }

    /// The name of its file.
    public var fileName: String { "\(inode)-\(born ?? "0").grants" }
}

/// The grants of one served directory as a file: a header line, a line for each grant, and a checksum.
///
/// A file that is damaged, cut or of a later version is refused as a whole: without its grants less is allowed, never more.
public struct GrantFile: Sendable, Hashable {
    public var root: GrantRoot
    public var grants: [KeptGrant] = []

    /// The newest version. A file in which no grant follows its object is of version 1.
    public static let version: Int64 = 2
    public static let most = 1024
    /// Of the grants that follow their objects: a view looks all of them up when something has moved.
    public static let mostFollowed = 128
    public static let longest = 8 << 20

    public init(root: GrantRoot) { self.root = root }

    /// Why a file of grants is refused.
    public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
        public var description: String
        init(_ description: String) { self.description = description }
    }

    public var bytes: [UInt8] {
        var members: [JSON.Member] = [
            // A program that knows version 1 would take each grant for one of a place.
            .init("v", .integer(grants.contains { $0.grant.object != nil } ? Self.version : 1)), JSON.path(root.path, name: "root"),
            .init("inode", .string(String(root.inode))),
        ]
        if let born = root.born { members.append(.init("born", .string(born))) }
        members.append(.init("count", .integer(Int64(grants.count))))
        var text = JSONText.write(.object(members)) + [0x0A]
        for grant in grants { text += JSONText.write(grant.stored) + [0x0A] }
        return text + Self.trailer(of: text)
    }

    private static func trailer(of text: [UInt8]) -> [UInt8] {
        JSONText.write(.object([.init("crc32c", .string(String(Checksum.crc32c(text), radix: 16)))])) + [0x0A]
    }

    public init(_ bytes: [UInt8]) throws(Problem) {
        guard bytes.last == 0x0A else { throw Problem("it is cut off") }
        let lines = bytes.dropLast().split(separator: 0x0A, omittingEmptySubsequences: false)
        guard let first = lines.first, let last = lines.last else { throw Problem("it is cut off") }
        let head = try Self.parse(first)
        // A later version may have another trailer.
        guard let version = head["v"]?.integer else { throw Problem("it is no file of grants") }
        guard (1...Self.version).contains(version) else {
            throw Problem("it is of version \(version), and this aclfs knows \(Self.version)")
        }
        guard lines.count >= 2 else { throw Problem("it is cut off") }
        guard Self.trailer(of: Array(bytes.dropLast(last.count + 1))).dropLast().elementsEqual(last) else {
            throw Problem("its checksum does not fit")
        }
        guard let path = head.path("root"), let inode = head["inode"]?.string.flatMap({ UInt64($0) }),
            head["count"]?.integer == Int64(lines.count - 2)
        else { throw Problem("its first line is not understood") }
        root = GrantRoot(inode: inode, born: head["born"]?.string, path: path)
        for line in lines.dropFirst().dropLast() {
            guard let grant = KeptGrant(try Self.parse(line)) else { throw Problem("a grant is not understood") }
            grants.append(grant)
        }
    }

    private static func parse(_ line: ArraySlice<UInt8>) throws(Problem) -> JSON {
        do { return try JSONText.parse(Array(line)) } catch { throw Problem("a line of it is not understood") }
    }
}

extension KeptGrant {
    /// The grant as in the file.
    var stored: JSON { .object(members + (grant.object.map { [.init("object", $0.json)] } ?? [])) }

    /// The grant as in control messages, which do not tell the handle of its object: its members in their order.
    public var members: [JSON.Member] {
        var members: [JSON.Member] = [
            .init("bundle", .string(grant.bundle)), JSON.path(Array(grant.path.joined(separator: [0x2F]))),
            .init("directory", .bool(grant.isDirectory)), .init("access", .string(grant.access.word)),
        ]
        if let expires = grant.expires { members.append(.init("expires", .integer(expires))) }
        members += [.init("given", .integer(given)), .init("by", .integer(Int64(by)))]
        return members
    }

    /// nil unless every member is valid.
    public init?(_ json: JSON) {
        guard let bundle = json["bundle"]?.string, ContainerLayout.isIdentifier(bundle), let path = json.path(),
            let isDirectory = json["directory"]?.bool, let access = EntitledAccess(word: json["access"]?.string),
            let given = json["given"]?.integer, let by = json["by"]?.integer.flatMap({ UInt32(exactly: $0) })
        else { return nil }
        if let expires = json["expires"], expires.integer == nil { return nil }
        var object: FollowedObject?
        if let member = json["object"] {
            guard let known = FollowedObject(member) else { return nil }
            object = known
        }
        let names = path.pathNames
        guard !names.contains([0x2E]), !names.contains([0x2E, 0x2E]) else { return nil }
        self.init(
            Grant(
                bundle: bundle, path: names, isDirectory: isDirectory, access: access, expires: json["expires"]?.integer, object: object),
            given: given, by: by)
    }
}

extension EntitledAccess {
    public init?(word: String?) {
        switch word {
        case EntitledAccess.readOnly.word: self = .readOnly
        case EntitledAccess.readWrite.word: self = .readWrite
        default: return nil
        }
    }
}

extension Grant {
    /// The part of the grant that applies below a directory of the tree.
    /// - Parameter path: names from the tree's root to that directory.
    /// - Returns: the grant, relative to that directory; nil if none of it applies there.
    public func below(_ path: [[UInt8]]) -> Grant? {
        var inner = self
        if self.path.starts(with: path), self.path.count > path.count || isDirectory {
            inner.path = Array(self.path.dropFirst(path.count))
            return inner
        }
        guard isDirectory, path.starts(with: self.path) else { return nil }
        inner.path = []
        return inner
    }

    /// The grant, relative to a directory above the tree's root.
    /// - Parameter path: names from that directory to the tree's root.
    public func above(_ path: [[UInt8]]) -> Grant {
        var outer = self
        outer.path = path + self.path
        return outer
    }
}
