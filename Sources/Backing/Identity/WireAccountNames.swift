import Authorization
import LinuxSystem
import WireFormats

/// Resolves names in values of attributes by the account databases, with one deadline for all names of a value.
public struct WireAccountNames: WireNames, Sendable {
    private let accounts: TimedAccounts
    private let identities: IdentityMap?

    /// The time counts from here.
    /// - Parameters:
    ///   - identities: those that a file translates.
    ///   - payer: whose turns the questions take.
    public init(_ service: AccountService, _ identities: IdentityMap? = nil, for payer: UInt32? = nil) {
        (accounts, self.identities) = (TimedAccounts(service, for: payer), identities)
    }

    public func identity(named name: String, isGroup: Bool) throws(NameUnanswered) -> GUID? {
        do throws(Errno) { return try AccountNames.resolve(name: name, kind: isGroup ? .group : .user, from: accounts) } catch {
            throw NameUnanswered()
        }
    }

    public func name(of identity: GUID) -> String? { AccountNames.name(for: numbered(identity), from: accounts)?.name }

    public func numbered(_ identity: GUID) -> GUID { identities?.canonical(identity) ?? identity }
}
