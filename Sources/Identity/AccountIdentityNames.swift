import ACLFormats
import Authorization

/// The account databases as the translator of names in ACL texts.
public struct AccountIdentityNames<Source: AccountSource>: IdentityNames {
    private let source: Source

    public init(_ source: Source) { self.source = source }

    /// A database that cannot be asked knows nobody: the text is refused, not misread.
    public func identity(named name: String, kind: IdentityKind?) -> GUID? {
        let kind: AccountNames.Kind? = kind.map { $0 == .user ? .user : .group }
        do { return try AccountNames.resolve(name: name, kind: kind, from: source) } catch { return nil }
    }

    public func name(of identity: GUID) -> IdentityName? {
        AccountNames.name(for: identity, from: source).map { IdentityName($0.isGroup ? .group : .user, $0.name) }
    }
}

extension AccountIdentityNames where Source == SystemAccounts {
    /// Asks the databases directly, for as long as they take: for commands.
    public init() { self.init(SystemAccounts()) }
}

extension AccountIdentityNames: Sendable where Source: Sendable {}
