/// Why a text of entries cannot be parsed, and where.
public struct ACLTextError: Error, Sendable, Hashable {
    /// The symbolic codes of docs/reference/authorization.md 7.6; `tooLong` and `badList` are aclfs's own.
    public enum Code: String, Sendable {
        case noName = "E_NO_NAME"
        case identity = "E_IDENTITY"
        case noKind = "E_NO_KIND"
        case badKind = "E_BAD_KIND"
        case badWord = "E_BAD_WORD"
        case noWords = "E_NO_WORDS"
        case tooMany = "E_TOO_MANY"
        case tooLong = "E_TOO_LONG"
        case badList = "E_BAD_LIST"
    }
    public var code: Code
    /// 1-based; a text may hold several entries, one a line.
    public var line: Int
    /// 1-based, in characters of the line.
    public var column: Int
    /// The text at this position, escaped for the terminal.
    public var found: String
    public var expected: String
    /// The word that was probably meant.
    public var suggestion: String?

    /// Whose name `found` would have to be; nil: a user's or a group's.
    public var identityKind: IdentityKind?

    public init(
        _ code: Code, line: Int, column: Int, found: String, expected: String, suggestion: String? = nil, identityKind: IdentityKind? = nil
    ) {
        self.identityKind = identityKind
        self.code = code
        self.line = line
        self.column = column
        self.found = found
        self.expected = expected
        self.suggestion = suggestion
    }

    /// One sentence for the user.
    public var message: String {
        let place = line > 1 ? "line \(line), column \(column)" : "column \(column)"
        let problem =
            switch code {
            case .noName: "no user or group is named"
            case .identity: "no \(identityKind?.rawValue ?? "user or group") '\(found)'"
            case .noKind: "'allow' or 'deny' is missing"
            case .badKind: "'\(found)' is neither 'allow' nor 'deny'"
            case .badWord where found.isEmpty: "a right or flag is missing"
            case .badWord: "'\(found)' is neither a right nor a flag"
            case .noWords: "no right or flag is named"
            case .tooMany: "too many entries"
            case .tooLong: "the text is too long"
            case .badList: "'\(found)' is not a list flag"
            }
        let isSeparatedOtherwise = code == .badWord && found.contains { $0 == " " || $0 == ";" }
        let separator = "commas, and no blanks, between words"
        let message = "\(place): \(problem)"
        guard let suggestion else { return "\(message); expected \(isSeparatedOtherwise ? separator : expected)" }
        return "\(message); did you mean '\(suggestion)'?" + (isSeparatedOtherwise ? " Write \(separator)" : "")
    }
}
