import LinuxSystem

/// One question to the account databases, as a value for the threads that ask them.
public enum AccountQuestion: Hashable, Sendable {
    case userNamed(String)
    case user(UInt32)
    case groupNamed(String)
    case group(UInt32)
    /// The groups of the user with this uid.
    case groupsOfUser(UInt32)
}

/// The answer of the databases.
public enum AccountAnswer: Equatable, Sendable {
    case user(AccountDatabase.User)
    case group(AccountDatabase.Group)
    case groups([UInt32])
    /// There is no such account.
    case absent
    /// A database did not answer.
    case failed(Errno)

    /// Asks an account source, without a deadline.
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
