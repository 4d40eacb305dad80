import ACLFormats
import Authorization

/// Resolves names in ACL texts by the account databases.
public struct AccountIdentityNames<Source: AccountSource>: IdentityNames {
    private let source: Source
    private let identities: IdentityMap?

    /// - Parameter identities: those that a file translates. A name never leads to one of them: only its number's own identity means the same
    ///   on every mount.
    public init(_ source: Source, _ identities: IdentityMap? = nil) { (self.source, self.identities) = (source, identities) }

    /// If a database does not answer, the name has no identity: the text is refused, not misread.
    public func identity(named name: String, kind: IdentityKind?) -> GUID? {
        let kind: AccountNames.Kind? = kind.map { $0 == .user ? .user : .group }
        do { return try AccountNames.resolve(name: name, kind: kind, from: source) } catch { return nil }
    }

    public func name(of identity: GUID) -> IdentityName? {
        AccountNames.name(for: identities?.canonical(identity) ?? identity, from: source).map {
            IdentityName($0.isGroup ? .group : .user, $0.name)
        }
    }
}

extension AccountIdentityNames where Source == SystemAccounts {
    /// Asks the databases directly and without a deadline: for commands.
    public init() { self.init(SystemAccounts()) }
}

extension AccountIdentityNames: Sendable where Source: Sendable {}
