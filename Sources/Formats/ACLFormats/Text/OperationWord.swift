import Authorization

/// The operations that questions can name, besides the words of the rights.
public enum OperationWord: String, Sendable, CaseIterable {
    case openRead = "open-read"
    case openWrite = "open-write"
    case openAppend = "open-append"
    case exec, create, mkdir, unlink, rmdir, rename, link
    /// The right and the call have the same word, which means the call.
    case chown
    case chmod, chflags, setxattr, getxattr, listxattr, stat, readlink, truncate, utimes, setacl
    case accessRead = "access-r"
    case accessWrite = "access-w"
    case accessExecute = "access-x"

    /// Whether the object may be missing. Only its directory decides then.
    public var creates: Bool { self == .create || self == .mkdir }
    /// Whether the directory of the object decides with the object.
    public var asksDirectory: Bool {
        switch self {
        case .create, .mkdir, .unlink, .rmdir, .rename: true
        default: false
        }
    }
    public var takesSecondPath: Bool { self == .rename || self == .link }
}

/// The operation in a question: a call, or a single right.
public enum AskedOperation: Sendable, Hashable {
    case call(OperationWord)
    case right(Rights)

    /// - Parameter word: the word of a call or of a right; nil for any other.
    public init?(word: String) {
        if let call = OperationWord(rawValue: word) {
            self = .call(call)
        } else if let right = RightName.right(named: Array(word.utf8)) {
            self = .right(right)
        } else {
            return nil
        }
    }

    public static let words = OperationWord.allCases.map(\.rawValue) + RightName.words.filter { $0 != "chown" }

    /// The message for a word that names no operation.
    public static func unknown(_ word: String) -> String {
        let hint = nearestWord(to: Array(word.utf8), in: words).map { ", did you mean '\($0)'?" } ?? ""
        return "unknown operation '\(escapedName(word.utf8))'\(hint)"
    }

    public var call: OperationWord? { if case .call(let call) = self { call } else { nil } }
    public var asksDirectory: Bool {
        switch self {
        case .call(let call): call.asksDirectory
        case .right(let right): right.contains(.delete)
        }
    }
}
