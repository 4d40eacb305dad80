import FuseSession
import Identity
import MountOptions

extension AccountService {
    /// Looks up the account names in one text; all look-ups share one deadline. A look-up may block: use it without the metadata lock.
    /// - Parameters:
    ///   - identities: those that a file translates.
    ///   - payer: the user who asks; nil: the client has one answer at a time.
    func identityNames(_ identities: IdentityMap?, for payer: UInt32? = nil) -> AccountIdentityNames<TimedAccounts> {
        AccountIdentityNames(TimedAccounts(self, for: payer), identities)
    }
}

extension Caller {
    /// The uid that is charged for what the caller uses, in all limits. It is 0 for root alone.
    var payer: UInt32 { isSquashed ? uid : PersonBehind.system.payer(of: uid, tid: Int32(bitPattern: tid)) }
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
