import Authorization
import LinuxSystem
import WireFormats

/// Resolves names in values of attributes by the account databases, with one deadline for all names of a value.
public struct WireAccountNames: WireNames, Sendable {
    private let accounts: TimedAccounts

    /// The time counts from here.
    public init(_ service: AccountService) { accounts = TimedAccounts(service) }

    public func identity(named name: String, isGroup: Bool) throws(NameUnanswered) -> GUID? {
        do throws(Errno) { return try AccountNames.resolve(name: name, kind: isGroup ? .group : .user, from: accounts) } catch {
            throw NameUnanswered()
        }
    }

    public func name(of identity: GUID) -> String? { AccountNames.name(for: identity, from: accounts)?.name }
}
