import Conformance
import Identity
import LinuxSystem

/// Uids and gids that no account has.
enum FreeNumbers {
    /// - Parameter first: the number that the command line gives; nil: the first free ones.
    /// - Throws: an account has one of the given numbers, or the account databases do not answer.
    static func find(from first: UInt32?) throws(RunFailure) -> Numbers {
        if let first {
            guard (1...Numbers.highest).contains(first) else {
                throw RunFailure("--users \(first): the first number must be between 1 and \(Numbers.highest)")
            }
            if let account = try account(from: first) { throw RunFailure("--users \(first): \(account); choose other numbers") }
            return Numbers(first: first)
        }
        var next = Numbers.usual
        for _ in 0..<100 {
            if try account(from: next) == nil { return Numbers(first: next) }
            next += Numbers.count
        }
        throw RunFailure("found no \(Numbers.count) free uids and gids from \(Numbers.usual) on; choose the first with --users")
    }

    /// The first account among the numbers.
    private static func account(from first: UInt32) throws(RunFailure) -> String? {
        do throws(Errno) {
            for number in first..<first + Numbers.count {
                if let user = try AccountDatabase.user(uid: number) { return "\(number) is the uid of \(user.name)" }
                if let group = try AccountDatabase.group(gid: number) { return "\(number) is the gid of \(group.name)" }
            }
            return nil
        } catch { throw RunFailure("the account databases do not answer: \(error)") }
    }
}
