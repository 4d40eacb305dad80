import ACLFormats
import Authorization

/// What identities from elsewhere stand for on this host, as a file says (`identities=`): a user or a group for each GUID.
///
/// A line is `UUID user:NUMBER` or `UUID group:NUMBER`. A blank line, and what follows `#`, says nothing.
public struct IdentityTable: Sendable, Equatable {
    /// The longest file, in bytes.
    public static let longest = 1 << 20

    private var principals: [GUID: Principal] = [:]

    public init() {}

    /// Why a text is no table, and in which line.
    public struct Problem: Error, Sendable, Equatable {
        /// 1-based.
        public var line: Int
        /// One sentence for the administrator, with what would be right.
        public var message: String
    }

    /// Reads the text of a file.
    /// - Throws: the first line that cannot be read, or contradicts an earlier one.
    public init(_ text: [UInt8]) throws(Problem) {
        var lines: [Principal: Int] = [:]
        var places: [GUID: Int] = [:]
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            func wrong(_ message: String) -> Problem { Problem(line: index + 1, message: message) }
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard let first = words.first else { continue }
            guard let identity = GUID(uuidText: first) else { throw wrong("'\(Self.shown(first))' is no UUID; \(Self.form)") }
            guard words.count == 2, let principal = Self.principal(words[1]) else {
                let found = words.count == 2 ? "'\(Self.shown(words[1]))' is neither user:NUMBER nor group:NUMBER; " : ""
                throw wrong(found + Self.form)
            }
            // Its meaning is fixed; a second one would change entries that are stored with it.
            guard case .other = Principal(identity) else {
                throw wrong("\(identity.uuidText) stands for \(Self.name(Principal(identity))) everywhere; remove the line")
            }
            if let other = places[identity] { throw wrong("\(identity.uuidText) stands in line \(other) already; remove one of the two") }
            if let other = lines[principal] {
                throw wrong("\(Self.name(principal)) has another UUID in line \(other) already; remove one of the two")
            }
            (places[identity], lines[principal], principals[identity]) = (index + 1, index + 1, principal)
        }
    }

    public var count: Int { principals.count }

    /// The user or group that an identity stands for; nil if the file does not have it.
    public func principal(of identity: GUID) -> Principal? { principals[identity] }

    private static let form = "a line is UUID user:NUMBER or UUID group:NUMBER"

    private static func principal(_ word: ArraySlice<UInt8>) -> Principal? {
        func number(after kind: String) -> UInt32? {
            guard word.starts(with: kind.utf8) else { return nil }
            guard let id = AccountNames.number(String(decoding: word.dropFirst(kind.utf8.count), as: UTF8.self)) else { return nil }
            return id == ObjectFacts.notAnID ? nil : id
        }
        return number(after: "user:").map { .user($0) } ?? number(after: "group:").map { .group($0) }
    }

    private static func name(_ principal: Principal) -> String {
        switch principal {
        case .user(let uid): "user \(uid)"
        case .group(let gid): "group \(gid)"
        case .everyone: "everyone"
        case .owner: "the owner of an object"
        case .owningGroup: "the group of an object"
        case .nobody: "no user and no group"
        case .other(let identity): identity.uuidText
        }
    }

    /// A line may be anything, and a message is one line.
    private static func shown(_ word: ArraySlice<UInt8>) -> String { escapedName(word.prefix(64)) }
}
