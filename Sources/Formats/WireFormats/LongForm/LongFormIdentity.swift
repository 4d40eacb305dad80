import ACLFormats
import Authorization

/// The identity of an entry in three fields: UUID, name, number.
enum LongFormIdentity {
    /// - Returns: the first four fields of an entry, with their colons.
    static func write(_ identity: GUID, names: some WireNames) -> String {
        let uuid = identity.uuidText
        let numbered = names.numbered(identity)
        switch Principal(numbered) {
        case .everyone: return "group:\(uuid):everyone:12:"
        case .user(let uid) where uid != .max: return "user:\(uuid):\(name(of: identity, names)):\(uid):"
        // Only the canonical identity: one gid may have two (docs/reference/authorization.md Q20).
        case .group(let gid) where gid != .max && GUID(group: gid) == numbered:
            return "group:\(uuid):\(name(of: identity, names)):\(gid):"
        case .user, .group, .owner, .owningGroup, .nobody, .other: return "user:\(uuid):::"
        }
    }

    private static func name(of identity: GUID, _ names: some WireNames) -> String {
        guard let name = names.name(of: identity),
            name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") })
        else { return "" }
        return name
    }

    /// The UUID if this host knows it, else the name, else the number, else the UUID. A UUID that stands for a number is known if an account has
    /// the number, any other if this host translates it.
    static func read(
        isGroup: Bool, uuid: [UInt8], name: [UInt8], number: [UInt8], names: some WireNames
    ) throws(LongFormError.Problem) -> GUID {
        var unknown: GUID?
        if !uuid.isEmpty {
            guard let identity = GUID(uuidText: uuid) else { throw .badUUID(uuid) }
            switch Principal(identity) {
            case .everyone, .owner, .owningGroup, .nobody: return identity
            case .user, .group: if names.name(of: identity) != nil { return identity }
            // A translated one is known without an account, too: its number alone would be another identity.
            case .other: if names.numbered(identity) != identity || names.name(of: identity) != nil { return identity }
            }
            unknown = identity
        }
        if !name.isEmpty {
            guard let text = String(validating: name, as: UTF8.self) else { throw .noIdentity(name) }
            do throws(NameUnanswered) {
                if let identity = try names.identity(named: text, isGroup: isGroup) { return identity }
            } catch { throw .unanswered(name) }
        }
        if !number.isEmpty {
            guard let id = decimal(number), id != .max else { throw .badNumber(number) }
            return isGroup ? GUID(group: id) : GUID(user: id)
        }
        guard let unknown else { throw .noIdentity(name) }
        return unknown
    }

    private static func decimal(_ digits: [UInt8]) -> UInt32? {
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self))
    }
}
