import Authorization
import LinuxSystem

/// Names of users and groups as identities in entries, and back (docs/reference/authorization.md 7.1).
public enum AccountNames {
    /// What a name refers to.
    public enum Kind: Hashable, Sendable { case user, group }

    /// The identity of a name. Without a kind it is the user's of that name, else the group's. With a kind a number is an id,
    /// unless it is also a name.
    ///
    /// It throws instead of trying the next database: a group with the name of an unreachable user must not be taken for that user.
    ///
    /// - Parameters:
    ///   - name: the name, or with a kind also a number.
    ///   - kind: nil = user or group.
    ///   - accounts: the databases.
    /// - Returns: the identity, or nil if there is none of that name.
    /// - Throws: the error of a database that did not answer.
    public static func resolve(
        name: String, kind: Kind? = nil, from accounts: some AccountSource = SystemAccounts()
    ) throws(Errno) -> GUID? {
        if kind != .user, name == everyone { return .everyone }
        if kind != .group, let user = try accounts.user(named: name) { return GUID(user: user.uid) }
        if kind != .user, let group = try accounts.group(named: name) { return GUID(group: group.gid) }
        guard let kind, let number = number(name) else { return nil }
        return kind == .user ? GUID(user: number) : GUID(group: number)
    }

    /// The name of an identity; nil if no database has one. The well-known identities owner, owning group and nobody have no name.
    /// A group called `everyone` has none either, because it is not everyone.
    public static func name(
        for identity: GUID, from accounts: some AccountSource = SystemAccounts()
    ) -> (isGroup: Bool, name: String)? {
        switch Principal(identity) {
        case .everyone: return (true, everyone)
        case .user(let uid):
            guard let user = try? accounts.user(uid: uid) else { return nil }
            return (false, user.name)
        case .group(let gid):
            guard let group = try? accounts.group(gid: gid), group.name != everyone else { return nil }
            return (true, group.name)
        case .owner, .owningGroup, .nobody, .other: return nil
        }
    }

    private static let everyone = "everyone"

    /// Reads decimal digits; -1 is no id.
    static func number(_ text: String) -> UInt32? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let id = UInt32(text), id != .max
        else { return nil }
        return id
    }
}
