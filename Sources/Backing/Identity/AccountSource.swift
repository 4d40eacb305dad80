import LinuxSystem

/// A source of accounts: the databases themselves, or a service that asks them.
///
/// nil means that there is no such account; an error means that the source could not find out.
public protocol AccountSource {
    func user(named name: String) throws(Errno) -> AccountDatabase.User?
    func user(uid: UInt32) throws(Errno) -> AccountDatabase.User?
    func group(named name: String) throws(Errno) -> AccountDatabase.Group?
    func group(gid: UInt32) throws(Errno) -> AccountDatabase.Group?
    /// Every group of a user, nested ones as far as the databases resolve them; none without an account.
    func groups(ofUser uid: UInt32) throws(Errno) -> [UInt32]
}

/// The databases, asked by the calling thread without a deadline: for commands, never for the daemon.
public struct SystemAccounts: AccountSource, Sendable {
    public init() {}
    public func user(named name: String) throws(Errno) -> AccountDatabase.User? {
        try AccountDatabase.user(named: name)
    }
    public func user(uid: UInt32) throws(Errno) -> AccountDatabase.User? { try AccountDatabase.user(uid: uid) }
    public func group(named name: String) throws(Errno) -> AccountDatabase.Group? {
        try AccountDatabase.group(named: name)
    }
    public func group(gid: UInt32) throws(Errno) -> AccountDatabase.Group? { try AccountDatabase.group(gid: gid) }
    public func groups(ofUser uid: UInt32) throws(Errno) -> [UInt32] { try AccountDatabase.groups(ofUser: uid) }
}
