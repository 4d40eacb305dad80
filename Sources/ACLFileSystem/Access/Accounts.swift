import FuseSession
import Identity
import MountOptions

extension AccountService {
    /// Looks up the account names in one text; all look-ups share one deadline. A look-up may block: use it without the metadata lock.
    /// - Parameter identities: those that a file translates.
    func identityNames(_ identities: IdentityMap?) -> AccountIdentityNames<TimedAccounts> {
        AccountIdentityNames(TimedAccounts(self), identities)
    }
}

extension MountOptions {
    /// What stands for root as a caller; nil without `rootsquash`. The group is one that no account of the system has.
    var squashedRoot: SquashedRoot? { rootSquash.map { SquashedRoot(uid: $0, gid: Self.unprivilegedID) } }

    /// The source of membership besides the group list of the calling process; nil if that list decides alone.
    var directoryGroups: DirectoryGroups? {
        guard groupSource == .directory else { return nil }
        // A service of its own: look-ups of names never delay decisions. DirectoryGroups caches, so the service does not.
        var limits = AccountService.Limits()
        (limits.lifetime, limits.absenceLifetime) = (0, 0)
        return DirectoryGroups(AccountService(limits: limits), milliseconds: groupsCache)
    }
}
