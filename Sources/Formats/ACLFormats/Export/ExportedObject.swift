import Authorization

/// What an export says about one object (docs/guide/export.md). A property that is nil is not stated: it is neither compared nor changed.
public struct ExportedObject: Sendable, Hashable {
    /// Below the top, with `/` between names; `.` for the top itself (`ExportPath`).
    public var path: [UInt8]
    public var kind: ObjectKind
    public var owner: GUID?
    public var group: GUID?
    /// With the set-id bits and the sticky bit.
    public var mode: FileMode?
    /// Without `nodump`, which `isExcluded` stands for.
    public var flags: FileFlags?
    /// Whether the object itself is excluded from backups.
    public var isExcluded: Bool?
    public var list: ExportedList?

    public init(
        path: [UInt8], kind: ObjectKind, owner: GUID? = nil, group: GUID? = nil, mode: FileMode? = nil, flags: FileFlags? = nil,
        isExcluded: Bool? = nil, list: ExportedList? = nil
    ) {
        (self.path, self.kind, self.owner, self.group, self.mode) = (path, kind, owner, group, mode)
        (self.flags, self.isExcluded, self.list) = (flags, isExcluded, list)
    }

    public var isDirectory: Bool { kind == .directory }

    /// Every identity that the object names, with repetitions.
    public var identities: [GUID] {
        var all = [owner, group].compactMap { $0 }
        if case .entries(let acl)? = list { all += acl.entries.map(\.guid) }
        return all
    }
}

/// The list of an object: none, or a list, which may be empty (docs/reference/authorization.md 1.3).
public enum ExportedList: Sendable, Hashable {
    case none
    case entries(ACL)
}

extension ObjectKind {
    /// The word of a kind in an export.
    public var exportWord: String {
        switch self {
        case .file: "file"
        case .directory: "directory"
        case .symlink: "symlink"
        case .fifo: "fifo"
        case .socket: "socket"
        case .characterDevice: "character-device"
        case .blockDevice: "block-device"
        }
    }

    init?(exportWord word: some Collection<UInt8>) {
        guard let kind = Self.allCases.first(where: { $0.exportWord.utf8.elementsEqual(word) }) else { return nil }
        self = kind
    }
}

/// What stands before the objects.
public struct ExportHeader: Sendable, Hashable {
    public static let version: Int64 = 1
    /// What was exported, for people.
    public var source: [UInt8]?
    /// Whether each object comes after the one before it (`ExportPath.precedes`).
    public var isOrdered: Bool
    /// Whether the lists have only what `ls -le` shows, as those of a listing have.
    public var isAsShown: Bool

    public init(source: [UInt8]?, isOrdered: Bool, isAsShown: Bool = false) {
        (self.source, self.isOrdered, self.isAsShown) = (source, isOrdered, isAsShown)
    }
}

/// One element of an export.
public enum ExportItem: Sendable, Hashable {
    case object(ExportedObject)
    /// An object whose metadata could not be read, and why: one line, escaped for terminals.
    case unread([UInt8], String)

    public var path: [UInt8] {
        switch self {
        case .object(let object): object.path
        case .unread(let path, _): path
        }
    }
}

/// Why an export cannot be read, and where.
public struct ExportProblem: Error, Sendable, Hashable {
    /// From 1.
    public var line: Int
    public var reason: String
    public init(line: Int, _ reason: String) { (self.line, self.reason) = (line, reason) }
    public var message: String { "line \(line): \(reason)" }
}
