import LinuxSystem

/// One question to the account databases, as it travels to the threads that ask them.
public enum AccountQuestion: Hashable, Sendable {
    case userNamed(String)
    case user(UInt32)
    case groupNamed(String)
    case group(UInt32)
    /// Of which groups the user is a member.
    case groupsOfUser(UInt32)
}

/// What the databases said.
public enum AccountAnswer: Equatable, Sendable {
    case user(AccountDatabase.User)
    case group(AccountDatabase.Group)
    case groups([UInt32])
    /// There is no such account.
    case absent
    /// They could not be asked.
    case failed(Errno)

    /// Asks an account source; takes as long as that takes.
    public init(_ question: AccountQuestion, from source: some AccountSource) {
        do throws(Errno) {
            switch question {
            case .userNamed(let name): self = try source.user(named: name).map { .user($0) } ?? .absent
            case .user(let uid): self = try source.user(uid: uid).map { .user($0) } ?? .absent
            case .groupNamed(let name): self = try source.group(named: name).map { .group($0) } ?? .absent
            case .group(let gid): self = try source.group(gid: gid).map { .group($0) } ?? .absent
            case .groupsOfUser(let uid): self = .groups(try source.groups(ofUser: uid))
            }
        } catch { self = .failed(error) }
    }
}
