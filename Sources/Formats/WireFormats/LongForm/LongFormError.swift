import ACLFormats
import Authorization

/// Why a text in the long form cannot be read, and where.
public struct LongFormError: Error, Sendable, Hashable {
    public enum Problem: Error, Sendable, Hashable {
        case tooLong(Int)
        case tooManyEntries(Int)
        /// The first line is none of a list.
        case badHeader([UInt8])
        case badListFlag([UInt8])
        /// The number of fields between colons.
        case wrongFields(Int)
        /// Neither "user" nor "group".
        case badIdentityKind([UInt8])
        case badUUID([UInt8])
        case badNumber([UInt8])
        /// All fields of the identity are empty, or no account has the name.
        case noIdentity([UInt8])
        /// The account databases did not answer.
        case unanswered([UInt8])
        case badKind([UInt8])
        case badFlag([UInt8])
        case badRight([UInt8])
    }

    public var problem: Problem
    /// From 1; the header is line 1.
    public var line: Int

    public init(_ problem: Problem, line: Int) { (self.problem, self.line) = (problem, line) }

    /// One sentence for the log.
    public var message: String { "line \(line): \(problem.message)" }
}

extension LongFormError.Problem {
    var message: String {
        func shown(_ word: [UInt8]) -> String { "'\(escapedName(word.prefix(200)))'" }
        return switch self {
        case .tooLong(let count): "\(count) bytes; at most \(LongFormText.maximumLength) are allowed"
        case .tooManyEntries(let count): "\(count) entries; a list has at most \(ACL.maximumEntryCount)"
        case .badHeader(let line): "\(shown(line)) must be '\(LongFormText.header)'"
        case .badListFlag(let word): "\(shown(word)) is no flag of a list"
        case .wrongFields(let count): "\(count) fields; an entry has 5 or 6, with ':' between them"
        case .badIdentityKind(let word): "\(shown(word)) must be 'user' or 'group'"
        case .badUUID(let word): "\(shown(word)) is no UUID"
        case .badNumber(let word): "\(shown(word)) is no uid or gid"
        case .noIdentity(let word): word.isEmpty ? "UUID, name and number are missing" : "no account \(shown(word)), and no number"
        case .unanswered(let word): "the account database did not answer about \(shown(word))"
        case .badKind(let word): "\(shown(word)) must be 'allow' or 'deny'"
        case .badFlag(let word): "\(shown(word)) is no flag of an entry"
        case .badRight(let word): "\(shown(word)) is no right"
        }
    }
}
