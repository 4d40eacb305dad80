import ACLFormats
import Authorization

/// The account databases as the translator of names in ACL texts.
public struct AccountIdentityNames: IdentityNames, Sendable {
    public init() {}

    /// A database that cannot be asked knows nobody: the text is refused, not misread.
    public func identity(named name: String, kind: IdentityKind?) -> GUID? {
        do { return try AccountNames.resolve(name: name, kind: kind.map { $0 == .user ? .user : .group }) } catch {
            return nil
        }
    }

    public func name(of identity: GUID) -> IdentityName? {
        AccountNames.name(for: identity).map { IdentityName($0.isGroup ? .group : .user, $0.name) }
    }
}
