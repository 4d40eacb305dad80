import ACLFormats
import Authorization

/// Gives identities to the names of accounts in values, and names to identities.
public protocol WireNames {
    /// The identity of a name.
    /// - Returns: nil if there is no such user, or no such group.
    /// - Throws: if the account databases did not answer.
    func identity(named name: String, isGroup: Bool) throws(NameUnanswered) -> GUID?
    /// The name of a user or a group; nil if it is unknown.
    func name(of identity: GUID) -> String?
    /// The identity of the number that an identity from elsewhere stands for; any other identity as it is.
    func numbered(_ identity: GUID) -> GUID
}

extension WireNames {
    public func numbered(_ identity: GUID) -> GUID { identity }
}

/// The account databases did not answer about a name.
public struct NameUnanswered: Error {
    public init() {}
}

/// The who-string of an entry: OWNER@, GROUP@, EVERYONE@, a name with or without a domain, a decimal number, or a UUID.
enum NFS4Identity {
    static let longestName = 255

    static let owner: StaticString = "OWNER@"
    static let owningGroup: StaticString = "GROUP@"
    static let everyone: StaticString = "EVERYONE@"

    // MARK: Reading

    /// - Parameters:
    ///   - who: the bytes of the value.
    ///   - isGroup: the flag for groups; it means nothing for OWNER@, GROUP@ and EVERYONE@ (RFC 8881 6.2.1.5).
    static func read(_ who: [UInt8], isGroup: Bool, names: some WireNames) throws(NFS4Error.Problem) -> GUID {
        if isExactly(who, owner) { return .owner }
        if isExactly(who, owningGroup) { return .owningGroup }
        if isExactly(who, everyone) { return .everyone }
        guard !who.isEmpty, who.count <= longestName, !who.contains(where: { $0 < 0x20 || $0 == 0x7F }),
            let name = String(validating: who, as: UTF8.self)
        else { throw .badName(who) }
        if isNumber(who) {
            guard let number = UInt32(name), number != .max else { throw .noSuchName(who, isGroup: isGroup) }
            return isGroup ? GUID(group: number) : GUID(user: number)
        }
        if let identity = GUID(uuidText: who) {
            switch (Principal(identity), isGroup) {
            case (.user, true), (.owner, true), (.group, false): throw .contradictingGroupFlag(who)
            default: return identity
            }
        }
        do throws(NameUnanswered) {
            // An account may have the whole name, domain included. Only a database that says "no" leads to the local part.
            if let identity = try names.identity(named: name, isGroup: isGroup) { return identity }
            if let local = localPart(name), let identity = try names.identity(named: local, isGroup: isGroup) { return identity }
        } catch { throw .unanswered(who) }
        throw .noSuchName(who, isGroup: isGroup)
    }

    /// The part of `name@domain` before the domain; nil without one, and for a number, which has no domain.
    private static func localPart(_ name: String) -> String? {
        guard let at = name.lastIndex(of: "@"), name.index(after: at) != name.endIndex, at != name.startIndex else { return nil }
        let local = name[..<at]
        return isNumber(Array(local.utf8)) ? nil : String(local)
    }

    // MARK: Writing

    /// - Returns: the who-string, and the flag for groups. Read back, they are the same identity.
    static func write(_ identity: GUID, names: some WireNames) -> (who: [UInt8], isGroup: Bool) {
        switch Principal(identity) {
        case .owner: return (bytes(owner), false)
        case .owningGroup: return (bytes(owningGroup), true)
        case .everyone: return (bytes(everyone), false)
        case .user(let uid) where uid != .max: return (name(of: identity, isGroup: false, names) ?? Array("\(uid)".utf8), false)
        // Only the canonical identity: one gid may have two (docs/reference/authorization.md Q20).
        case .group(let gid) where gid != .max && GUID(group: gid) == identity:
            return (name(of: identity, isGroup: true, names) ?? Array("\(gid)".utf8), true)
        case .group: return (Array(identity.uuidText.utf8), true)
        case .user, .nobody, .other: return (Array(identity.uuidText.utf8), false)
        }
    }

    /// The name, if it leads back to the identity and the tools of NFSv4 can have it in a list of words.
    private static func name(of identity: GUID, isGroup: Bool, _ names: some WireNames) -> [UInt8]? {
        guard let name = names.name(of: identity) else { return nil }
        let who = Array(name.utf8)
        guard isPlain(who) else { return nil }
        do throws(NFS4Error.Problem) { return try read(who, isGroup: isGroup, names: names) == identity ? who : nil } catch { return nil }
    }

    private static func isPlain(_ name: [UInt8]) -> Bool {
        let reserved: [UInt8] = [UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "#")]
        return !name.isEmpty && name.count <= longestName && !isNumber(name)
            && name.allSatisfy { (0x21..<0x7F).contains($0) && !reserved.contains($0) }
    }

    private static func isNumber(_ name: [UInt8]) -> Bool { name.allSatisfy { (0x30...0x39).contains($0) } }

    private static func isExactly(_ who: [UInt8], _ word: StaticString) -> Bool {
        who.count == word.utf8CodeUnitCount && who.indices.allSatisfy { who[$0] == word.utf8Start[$0] }
    }

    private static func bytes(_ word: StaticString) -> [UInt8] {
        Array(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }
}
