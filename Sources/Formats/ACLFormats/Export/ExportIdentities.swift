import Authorization

/// A user or a group as an export names it. Without a kind it may be either.
public struct ExportedName: Sendable, Hashable {
    public var kind: IdentityKind?
    public var name: String
    public init(_ kind: IdentityKind?, _ name: String) { (self.kind, self.name) = (kind, name) }

    /// For messages.
    public var text: String { (kind.map { "\($0.rawValue):" } ?? "") + escapedName(name.utf8) }
}

/// The identities that one export names, as it states them. No account database is asked: the accounts of this host may be others.
///
/// A name that the export uses without an identity gets a provisional one, which no object ever stores.
public final class ExportIdentities: IdentityNames {
    /// Names in one export.
    public static let most = 65_536
    static let longestName = 1024
    private static let provisional = (high: 0xACF5_ACF5_ACF5_4CF5 as UInt64, low: 0x8CF5_ACF6 as UInt64)

    private var stated: [ExportedName: GUID] = [:]
    private var names: [GUID: ExportedName] = [:]
    private var next: UInt32 = 0

    public init() {}

    /// Whether the identity stands for a name only.
    public static func isProvisional(_ identity: GUID) -> Bool {
        identity.high == provisional.high && identity.low >> 32 == provisional.low
    }

    /// The name by which the export knows an identity.
    public func exportedName(of identity: GUID) -> ExportedName? { names[identity] }

    /// - Returns: why the statement is refused; nil if it is taken.
    func state(_ name: IdentityName, _ identity: GUID) -> String? {
        let name = ExportedName(name.kind, name.name)
        if name.name.isEmpty || name.name.utf8.count > Self.longestName { return "a name has 1 to \(Self.longestName) bytes" }
        if name == ExportedName(.group, "everyone") { return "the group 'everyone' has one identity everywhere" }
        switch Principal(identity) {
        case .everyone, .owner, .owningGroup, .nobody: return "\(identity.uuidText) belongs to no user or group"
        case .user, .group, .other: break
        }
        if let known = stated[name], known != identity { return "'\(name.text)' was \(known.uuidText) before" }
        if stated.count >= Self.most { return "more than \(Self.most) names" }
        (stated[name], names[identity]) = (identity, name)
        return nil
    }

    public func identity(named name: String, kind: IdentityKind?) -> GUID? {
        if let kind {
            if let known = stated[ExportedName(kind, name)] { return known }
        } else if let known = stated[ExportedName(.user, name)] ?? stated[ExportedName(.group, name)] {
            return known
        }
        let written = ExportedName(kind, name)
        if let known = stated[written] { return known }
        // A number without a name is an id.
        let isNumber = name.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard !isNumber, name.utf8.count <= Self.longestName, stated.count < Self.most else { return nil }
        var identity: GUID
        repeat {
            identity = GUID(high: Self.provisional.high, low: Self.provisional.low << 32 | UInt64(next))
            next += 1
        } while names[identity] != nil
        (stated[written], names[identity]) = (identity, written)
        return identity
    }

    /// The owner or group of an object, as a text has it.
    /// - Parameter line: of the text.
    /// - Throws: it is no account, or one that no object can have.
    public func account(_ written: [UInt8], _ kind: IdentityKind, at line: Int) throws(ExportProblem) -> GUID {
        let shown = escapedName(written.prefix(200))
        guard let identity = identity(written: written, kind: kind) else {
            throw ExportProblem(line: line, "'\(shown)' is not a \(kind.rawValue): expected a name, '#' and a number, or a UUID")
        }
        switch (Principal(identity), kind) {
        case (.everyone, _), (.owner, _), (.owningGroup, _), (.user(.max), _), (.group(.max), _), (.user, .group):
            throw ExportProblem(line: line, "'\(shown)' cannot be \(kind == .user ? "an owner" : "a group")")
        default: return identity
        }
    }

    public func name(of identity: GUID) -> IdentityName? {
        guard let known = names[identity], let kind = known.kind else { return nil }
        return IdentityName(kind, known.name)
    }

    /// The identity of a word: `alice`, `#501`, `user:alice`, `group:staff` or a UUID.
    /// - Parameter kind: of a name without `user:` and `group:`.
    /// - Returns: nil if the word is none of these.
    public func identity(written word: some Collection<UInt8>, kind: IdentityKind) -> GUID? {
        for prefix in [IdentityKind.user, .group] {
            let text = "\(prefix.rawValue):"
            guard word.starts(with: text.utf8) else { continue }
            return word.count == text.utf8.count
                ? nil : ACLFormats.identity(written: word.dropFirst(text.utf8.count), kind: prefix, names: self)
        }
        if word.isEmpty { return nil }
        // An owner may be a group, so a UUID has no kind here.
        if let identity = GUID(uuidText: word) { return identity }
        return ACLFormats.identity(written: word, kind: kind, names: self)
    }
}
