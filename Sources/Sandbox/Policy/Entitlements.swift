import ACLFormats

/// A value of an entitlements property list, of the types that profiles use.
public indirect enum EntitlementValue: Sendable, Hashable {
    case flag(Bool)
    case text(String)
    case list([EntitlementValue])
    /// Any other type.
    case other

    /// For messages.
    var shown: String {
        switch self {
        case .flag(let flag): flag ? "true" : "false"
        case .text(let text): "the text '\(text.prefix(60))'"
        case .list: "a list"
        case .other: "a value of another type"
        }
    }
}

/// An error or a warning about a profile.
public struct EntitlementProblem: Error, Sendable, Hashable, CustomStringConvertible {
    public var key: String
    public var message: String
    public var description: String { "\(key): \(message)" }

    public init(key: String, message: String) { (self.key, self.message) = (key, message) }
}

/// The access of a grant or an entitlement.
public enum EntitledAccess: Sendable, Hashable, Comparable {
    case readOnly, readWrite
}

/// A place in an entitlement, and its key.
public struct EntitledPlace: Sendable, Hashable {
    /// Names from the mount's root.
    public var path: [[UInt8]]
    /// false: this object only, and nothing below it.
    public var isDirectory: Bool
    public var access: EntitledAccess
    public var key: String
}

/// The keys about files of an Apple `.entitlements` property list.
///
/// A profile only restricts, so an unknown key is a warning: without it less is allowed. A key that would widen access and cannot
/// be parsed is an error, because its author expects something that is not enforced.
public struct Entitlements: Sendable, Hashable {
    public private(set) var isSandboxed = false
    /// The most that grants of the user may allow; nil = the profile accepts no grants.
    public private(set) var userSelected: EntitledAccess?
    public private(set) var applicationGroups: [String] = []
    /// Containers that a Mac keeps in iCloud.
    public private(set) var cloudContainers: [String] = []
    public private(set) var warnings: [EntitlementProblem] = []
    /// Keys of Apple that a file system has nothing to enforce of, such as those about the network. Real applications have many.
    public private(set) var notAboutFiles: [String] = []
    /// The values, as in the list.
    public let values: [String: EntitlementValue]
    private var folders: [(name: String, access: EntitledAccess, key: String)] = []
    private var homeRelative: [(path: String, access: EntitledAccess, key: String)] = []
    private var absolute: [(path: String, access: EntitledAccess, key: String)] = []

    private static let prefix = "com.apple.security."
    private static let cloudKey = "com.apple.developer.ubiquity-container-identifiers"
    private static let folderKeys: [(word: String, folder: String)] = [
        ("files.downloads", "Downloads"), ("assets.pictures", "Pictures"), ("assets.music", "Music"),
        ("assets.movies", "Movies"),
    ]
    private static let accessWords: [(word: String, access: EntitledAccess)] = [
        ("read-only", .readOnly), ("read-write", .readWrite),
    ]

    /// The words that may follow the prefix.
    private static let words: [String] = {
        let stems =
            folderKeys.map(\.word)
            + ["files.user-selected", "temporary-exception.files.home-relative-path", "temporary-exception.files.absolute-path"]
        return ["app-sandbox", "inherit", "application-groups"] + stems.flatMap { stem in accessWords.map { "\(stem).\($0.word)" } }
    }()

    /// Words of Apple's keys after the prefix that are not about files, or say nothing here; a point at the end stands for all that follow. Whether
    /// a program may be written is no other question than whether a file may, and a bookmark is a grant that follows its object.
    private static let otherWords = [
        "network.", "device.", "personal-information.", "print", "smartcard", "scripting-targets", "automation.", "cs.", "get-task-allow",
        "hypervisor", "virtualization", "files.bookmarks.", "files.user-selected.executable", "temporary-exception.apple-events",
        "temporary-exception.audio-unit-host", "temporary-exception.iokit-user-client-class", "temporary-exception.mach-lookup.",
        "temporary-exception.mach-register.", "temporary-exception.sbpl", "temporary-exception.shared-preference.",
    ]

    /// Apple's keys without a prefix.
    private static let otherKeys = [
        "application-identifier", "aps-environment", "beta-reports-active", "get-task-allow", "inter-app-audio", "keychain-access-groups",
    ]

    /// - Throws: the first key, in alphabetical order, that would widen access and is malformed.
    public init(_ values: [String: EntitlementValue]) throws(EntitlementProblem) {
        self.values = values
        for key in values.keys.sorted() {
            guard let value = values[key] else { continue }
            if key == Self.cloudKey {
                cloudContainers = try names(key, value, of: "a container")
                continue
            }
            guard key.hasPrefix(Self.prefix) else {
                noteOther(key)
                continue
            }
            try take(key, String(key.dropFirst(Self.prefix.count)), value)
        }
        if !isSandboxed {
            throw EntitlementProblem(
                key: Self.prefix + "app-sandbox", message: "must be true: without it the other keys mean nothing")
        }
    }

    private mutating func take(_ key: String, _ word: String, _ value: EntitlementValue) throws(EntitlementProblem) {
        switch word {
        case "app-sandbox": isSandboxed = try flag(key, value)
        case "inherit":
            // A view confines each process that uses it, children included: there is no sandbox to inherit.
            guard try !flag(key, value) else {
                throw EntitlementProblem(
                    key: key,
                    message: "a program with this key runs in the sandbox of the program that started it and describes none "
                        + "of its own; name that program's profile, or take the key out")
            }
        case "application-groups":
            applicationGroups = try names(key, value, of: "a group")
        default:
            for (ending, access) in Self.accessWords where word.hasSuffix("." + ending) {
                let stem = String(word.dropLast(ending.count + 1))
                if try takeAccess(key, stem, access, value) { return }
            }
            if Self.otherWords.contains(where: { $0.hasSuffix(".") ? word.hasPrefix($0) : word == $0 }) { return notAboutFiles.append(key) }
            warn(of: key, nearestWord(to: word.utf8, in: Self.words))
        }
    }

    /// Notes a key without the prefix: as a warning if it is none of Apple's, or if its author seems to have meant one with the prefix.
    private mutating func noteOther(_ key: String) {
        if let word = Self.words.first(where: { key.hasSuffix("security.\($0)") }) { return warn(of: key, word) }
        if key.hasPrefix("com.apple.") || Self.otherKeys.contains(key) { return notAboutFiles.append(key) }
        warnings.append(EntitlementProblem(key: key, message: "not a key about files; ignored"))
    }

    private mutating func warn(of key: String, _ near: String?) {
        let hint = near.map { "; did you mean '\(Self.prefix)\($0)'?" } ?? ""
        warnings.append(EntitlementProblem(key: key, message: "unknown key; it allows nothing here" + hint))
    }

    /// - Returns: whether the key is known.
    private mutating func takeAccess(
        _ key: String, _ stem: String, _ access: EntitledAccess, _ value: EntitlementValue
    ) throws(EntitlementProblem) -> Bool {
        if stem == "files.user-selected" {
            if try flag(key, value) { userSelected = max(userSelected ?? access, access) }
            return true
        }
        if let folder = Self.folderKeys.first(where: { $0.word == stem })?.folder {
            if try flag(key, value) { folders.append((folder, access, key)) }
            return true
        }
        switch stem {
        case "temporary-exception.files.home-relative-path":
            for path in try paths(key, value) { homeRelative.append((path, access, key)) }
        case "temporary-exception.files.absolute-path":
            for path in try paths(key, value) { absolute.append((path, access, key)) }
        default: return false
        }
        return true
    }

    private func flag(_ key: String, _ value: EntitlementValue) throws(EntitlementProblem) -> Bool {
        guard case .flag(let flag) = value else {
            throw EntitlementProblem(key: key, message: "must be true or false, not \(value.shown)")
        }
        return flag
    }

    private func texts(_ key: String, _ value: EntitlementValue) throws(EntitlementProblem) -> [String] {
        guard case .list(let values) = value else {
            throw EntitlementProblem(key: key, message: "must be a list of strings, not \(value.shown)")
        }
        var found: [String] = []
        for value in values {
            guard case .text(let text) = value else {
                throw EntitlementProblem(key: key, message: "must hold nothing but strings, not \(value.shown)")
            }
            found.append(text)
        }
        return found
    }

    /// - Parameter what: has the names, for messages.
    private func names(_ key: String, _ value: EntitlementValue, of what: String) throws(EntitlementProblem) -> [String] {
        let names = try texts(key, value)
        for name in names {
            guard !name.isEmpty, !name.contains("/"), name != ".", name != "..", name.utf8.count <= PlaceName.longestName else {
                throw EntitlementProblem(key: key, message: "'\(name)' is not the name of \(what)")
            }
        }
        return names
    }

    private func paths(_ key: String, _ value: EntitlementValue) throws(EntitlementProblem) -> [String] {
        let found = try texts(key, value)
        for path in found {
            guard path.hasPrefix("/") else {
                throw EntitlementProblem(key: key, message: "'\(path)' must start with / (a directory also ends with it)")
            }
            if let fault = PlaceName.fault(path.utf8.pathNames) {
                throw EntitlementProblem(key: key, message: "'\(path.prefix(60))…' is no path: \(fault)")
            }
            let names = path.split(separator: "/")
            guard !names.contains("."), !names.contains(".."), !path.utf8.contains(0) else {
                throw EntitlementProblem(key: key, message: "'\(path)' must not hold '.' or '..'")
            }
        }
        return found
    }

    /// The places in the keys.
    /// - Parameter home: names from the mount's root.
    public func places(home: [[UInt8]]) -> [EntitledPlace] {
        func names(_ path: String) -> [[UInt8]] { path.utf8.pathNames }
        func place(_ path: String, below: [[UInt8]], _ access: EntitledAccess, _ key: String) -> EntitledPlace {
            EntitledPlace(path: below + names(path), isDirectory: path.hasSuffix("/"), access: access, key: key)
        }
        var places = folders.map { place($0.name + "/", below: home, $0.access, $0.key) }
        places += homeRelative.map { place($0.path, below: home, $0.access, $0.key) }
        places += absolute.map { place($0.path, below: [], $0.access, $0.key) }
        places += applicationGroups.map { group in
            place(
                "Library/Group Containers/\(group)/", below: home, .readWrite, Self.prefix + "application-groups")
        }
        places += cloudContainers.map { place("Library/Mobile Documents/\($0)/", below: home, .readWrite, Self.cloudKey) }
        return places
    }

    public static func == (left: Entitlements, right: Entitlements) -> Bool { left.values == right.values }

    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
