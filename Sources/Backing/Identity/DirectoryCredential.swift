import Authorization
import LinuxSystem

/// A caller as the account databases describe one, for questions like `explain --as USER[:GROUP,...]`.
public struct DirectoryCredential: Credential, Hashable, Sendable {
    public var uid: UInt32
    /// nil, also for the group list: unknown. Membership is then unknown too.
    public var gid: UInt32?
    public var groups: [UInt32]?
    /// Whether these are the ids that stand for root (`rootsquash`).
    public var standsForRoot = false
    /// Translates identities from elsewhere (`identities`); nil: nothing does.
    public var identities: IdentityMap?
    public var effectiveGroup: UInt32? { gid }

    public init(uid: UInt32, gid: UInt32?, groups: [UInt32]?) {
        (self.uid, self.gid, self.groups) = (uid, gid, groups)
    }

    /// Why a text names no caller.
    public enum Failure: Error, Equatable, Sendable {
        case noUser(String)
        case noGroup(String)
        /// A database did not answer.
        case system(Errno)
    }

    /// Reads `USER`, with the groups of a login, or `USER:GROUP,...`, with these groups only, the first one as the gid.
    ///
    /// Each is a name or a number. A number without an account has unknown groups unless the text has some.
    ///
    /// - Throws: `Failure` if the text names no caller or a database did not answer.
    public init(_ text: String, from accounts: some AccountSource = SystemAccounts()) throws(Failure) {
        let colon = text.firstIndex(of: ":")
        let userName = String(text[..<(colon ?? text.endIndex)])
        let account = try Self.user(userName, accounts)
        guard let uid = account?.uid ?? AccountNames.number(userName) else { throw .noUser(userName) }
        guard let colon else {
            var groups: [UInt32]?
            if account != nil {
                do throws(Errno) { groups = try accounts.groups(ofUser: uid) } catch { throw .system(error) }
            }
            self.init(uid: uid, gid: account?.gid, groups: groups)
            return
        }
        var groups: [UInt32] = []
        for name in text[text.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false) {
            groups.append(try Self.group(String(name), accounts))
        }
        self.init(uid: uid, gid: groups.first, groups: groups)
    }

    public func translation(of guid: GUID) -> Principal? { identities?.principal(of: guid) }

    public func membership(inGroup gid: UInt32) -> Membership {
        if gid == self.gid { return .member }
        guard let groups else { return .unknown }
        return groups.contains(gid) ? .member : .notMember
    }

    /// Digits are first looked up as a name, as in chown(1).
    private static func user(
        _ name: String, _ accounts: some AccountSource
    ) throws(Failure) -> AccountDatabase.User? {
        do {
            if let user = try accounts.user(named: name) { return user }
            guard let uid = AccountNames.number(name) else { return nil }
            return try accounts.user(uid: uid)
        } catch { throw .system(error) }
    }

    private static func group(_ name: String, _ accounts: some AccountSource) throws(Failure) -> UInt32 {
        do {
            if let group = try accounts.group(named: name) { return group.gid }
        } catch { throw .system(error) }
        guard let gid = AccountNames.number(name) else { throw .noGroup(name) }
        return gid
    }
}
