import FuseSession
import Identity
import MountOptions

extension AccountService {
    /// Names for one text, within one deadline. Must not be used while a lock is held.
    func identityNames() -> AccountIdentityNames<TimedAccounts> { AccountIdentityNames(TimedAccounts(self)) }
}

extension MountOptions {
    /// Where membership is learned beyond the asking process' own list.
    var directoryGroups: DirectoryGroups? {
        guard groupSource == .directory else { return nil }
        // Threads apart from those for names; lists are kept once, by DirectoryGroups.
        var limits = AccountService.Limits()
        (limits.lifetime, limits.absenceLifetime) = (0, 0)
        return DirectoryGroups(AccountService(limits: limits), milliseconds: groupsCache)
    }
}
