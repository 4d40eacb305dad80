import LinuxSystem

/// The account databases with one deadline for all questions of one request. A question without an answer by then throws
/// `timedout`.
public struct TimedAccounts: AccountSource, Sendable {
    private let service: AccountService
    private let deadline: UInt64
    private let payer: UInt32?

    /// The time counts from here.
    /// - Parameter payer: whose turns the questions take.
    public init(_ service: AccountService, for payer: UInt32? = nil) {
        (self.service, deadline, self.payer) = (service, service.deadline(), payer)
    }

    public func user(named name: String) throws(Errno) -> AccountDatabase.User? { try user(.userNamed(name)) }
    public func user(uid: UInt32) throws(Errno) -> AccountDatabase.User? { try user(.user(uid)) }
    public func group(named name: String) throws(Errno) -> AccountDatabase.Group? { try group(.groupNamed(name)) }
    public func group(gid: UInt32) throws(Errno) -> AccountDatabase.Group? { try group(.group(gid)) }
    public func groups(ofUser uid: UInt32) throws(Errno) -> [UInt32] {
        guard case .groups(let groups) = try ask(.groupsOfUser(uid)) else { throw .io }
        return groups
    }

    private func user(_ question: AccountQuestion) throws(Errno) -> AccountDatabase.User? {
        if case .user(let user) = try ask(question) { return user }
        return nil
    }

    private func group(_ question: AccountQuestion) throws(Errno) -> AccountDatabase.Group? {
        if case .group(let group) = try ask(question) { return group }
        return nil
    }

    private func ask(_ question: AccountQuestion) throws(Errno) -> AccountAnswer {
        guard let answer = service.answer(to: question, by: deadline, for: payer) else { throw .timedout }
        if case .failed(let error) = answer { throw error }
        return answer
    }
}
