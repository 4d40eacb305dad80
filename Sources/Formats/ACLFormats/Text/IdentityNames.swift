import Authorization

/// Whether a name is a user's or a group's.
public enum IdentityKind: String, Sendable, Hashable { case user, group }

/// A name and its kind.
public struct IdentityName: Sendable, Hashable {
    public var kind: IdentityKind
    public var name: String
    public init(_ kind: IdentityKind, _ name: String) { (self.kind, self.name) = (kind, name) }
}

/// Translates between names and identities. This layer reads and writes texts through it and asks no directory service itself.
///
/// Only ordinary names reach it. UUID text, `#` numbers and the word `everyone` are handled before (docs/reference/authorization.md Q15 and
/// Q21).
public protocol IdentityNames {
    /// The identity of a name; nil if there is none. Without a kind a user is looked for first, then a group (docs/reference/authorization.md
    /// 7.1).
    func identity(named name: String, kind: IdentityKind?) -> GUID?
    /// The name of an identity; nil if it is unknown.
    func name(of identity: GUID) -> IdentityName?
}

/// Knows no name: identities are written as UUIDs.
public struct NoNames: IdentityNames, Sendable {
    public init() {}
    public func identity(named name: String, kind: IdentityKind?) -> GUID? { nil }
    public func name(of identity: GUID) -> IdentityName? { nil }
}

/// The identity of a name in a text (docs/reference/authorization.md 7.1, Q15, Q21).
func identity(written name: some Collection<UInt8>, kind: IdentityKind?, names: some IdentityNames) -> GUID? {
    if let identity = GUID(uuidText: name) {
        // A prefix that contradicts the identity is a mistake that would grant rights to another subject.
        switch (Principal(identity), kind) {
        case (.user, .group), (.group, .user), (.everyone, .user), (.owningGroup, .user), (.owner, .group): return nil
        default: return identity
        }
    }
    if kind != .user, name.elementsEqual("everyone".utf8) { return .everyone }
    if let kind, name.first == UInt8(ascii: "#") { return identity(number: name.dropFirst(), kind: kind) }
    guard let text = String(validating: name, as: UTF8.self) else { return nil }
    if let identity = names.identity(named: text, kind: kind) { return identity }
    // Digits are first looked up as a name, as in chown(1).
    return kind.flatMap { identity(number: name, kind: $0) }
}

extension GUID {
    /// NFSv4's words that chmod accepts: each means exactly one of the well-known identities.
    static let nfsWords: [(word: String, identity: GUID)] = [
        ("owner@", .owner), ("group@", .owningGroup), ("everyone@", .everyone),
    ]

    /// The identity of a word of NFSv4; nil for anything else.
    init?(nfsWord word: some Collection<UInt8>) {
        guard let known = Self.nfsWords.first(where: { $0.word.utf8.elementsEqual(word) }) else { return nil }
        self = known.identity
    }
}

private func identity(number: some Collection<UInt8>, kind: IdentityKind) -> GUID? {
    guard let id = unsignedNumber(number, radix: 10), id != .max else { return nil }
    return kind == .user ? GUID(user: id) : GUID(group: id)
}

/// The identity as `ls -le` shows it: `user:bob`, `group:eng`, or a bare UUID (docs/reference/authorization.md 7.2, Q21).
public func displayedIdentity(_ identity: GUID, names: some IdentityNames, numeric: Bool = false) -> String {
    if numeric { return identity.uuidText }
    switch Principal(identity) {
    case .everyone: return "group:everyone"
    case .owner, .owningGroup, .nobody: return identity.uuidText
    case .user, .group, .other: break
    }
    guard let known = names.name(of: identity), !known.name.isEmpty,
        // Another group of this name must not look like the identity everyone.
        known != IdentityName(.group, "everyone")
    else { return identity.uuidText }
    return "\(known.kind.rawValue):\(escapedName(known.name.utf8))"
}
