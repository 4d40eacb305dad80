import Authorization

/// A decision with its reasons, as commands show it and daemons send it (docs/reference/control.md).
public struct Explanation: Sendable, Hashable {
    /// A note: the mount has the option noacl.
    public static let entriesDoNotCount = "noacl: no entry counts on this mount"
    /// Of an object whose list carries the mark (docs/reference/authorization.md Q25).
    public static let inheritsNothing = "no_inherit: the object takes no entry from the directories above"

    /// An object of the request: the first `depth` names of its first or second path.
    public struct Place: Sendable, Hashable {
        public var isSecondPath: Bool
        public var depth: Int
        public init(isSecondPath: Bool = false, depth: Int) { (self.isSecondPath, self.depth) = (isSecondPath, depth) }
    }

    /// One check of the request.
    public struct Step: Sendable, Hashable {
        public var place: Place
        /// The rights that are needed, in the words of the object's kind; the word of the operation if it needs none.
        public var words: [String]
        public var isAllowed: Bool
        /// As docs/reference/authorization.md 3.11 spells it.
        public var stage: String
        /// The entry that decided, as `ls -le` shows it without its number.
        public var entry: String?
        public init(place: Place, words: [String], isAllowed: Bool, stage: String, entry: String? = nil) {
            (self.place, self.words, self.isAllowed, self.stage, self.entry) = (place, words, isAllowed, stage, entry)
        }
    }

    /// An entry that the last check considered, and its effect.
    public struct Considered: Sendable, Hashable {
        public var place: Place
        public var index: Int
        public var entry: String
        public var effect: String
        public init(place: Place, index: Int, entry: String, effect: String) {
            (self.place, self.index, self.entry, self.effect) = (place, index, entry, effect)
        }
    }

    public var steps: [Step] = []
    public var considered: [Considered] = []
    public var notes: [String] = []
    /// The name of the errno of a denial; nil = allowed.
    public var denial: String?
    public init() {}

    public var isAllowed: Bool { denial == nil }
}

extension EntryEffect {
    /// The effect of an entry, in words.
    public func shown(isDirectory: Bool) -> String {
        switch self {
        case .inheritOnly: "only for inheritance"
        case .irrelevant: "names no right that is still undecided"
        case .reservedKind: "of a reserved kind, which is ignored"
        case .notCovered: "not about the caller"
        case .allowed(let rights): "allows \(rightWords(rights, isDirectory: isDirectory).joined(separator: ","))"
        case .denied(let rights): "denies \(rightWords(rights, isDirectory: isDirectory).joined(separator: ","))"
        }
    }
}

/// Rights in the words of the object's kind; empty if only flags are checked.
public func rightWords(_ rights: Rights, isDirectory: Bool) -> [String] {
    // A right without a word for files has the word for directories.
    RightName.all.filter { rights.contains($0.right) }.map { isDirectory ? $0.directoryWord : $0.fileWord ?? $0.directoryWord }
        + RightName.storedOnly.filter { rights.contains($0.right) }.map(\.directoryWord)
}

extension ACLTextPrinter {
    /// One entry as `ls -le` shows it, without its number.
    public static func line(_ entry: ACE, isDirectory: Bool, names: some IdentityNames) -> String {
        let line = lines(ACL([entry]), isDirectory: isDirectory, names: names).first ?? ""
        return String(line.dropFirst(" 0: ".count))
    }
}
