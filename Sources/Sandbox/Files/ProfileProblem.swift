/// Why a profile cannot be used, in one sentence with the file's name.
public struct ProfileProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of the problem, which decides the exit status.
    public enum Kind: Sendable, Hashable {
        /// No profile of this name is installed.
        case unknownName
        /// The file cannot be read.
        case unreadable
        /// The file's content is not a profile.
        case malformed
    }

    public var kind: Kind
    public var description: String

    public init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }
}
