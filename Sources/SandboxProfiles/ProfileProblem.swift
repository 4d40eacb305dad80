/// Why there is no profile, in one sentence that names the file.
public struct ProfileProblem: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// No such name is installed.
        case unknownName
        /// The file cannot be read.
        case unreadable
        /// What stands in it is no profile.
        case malformed
    }

    public var kind: Kind
    public var description: String

    public init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }
}
