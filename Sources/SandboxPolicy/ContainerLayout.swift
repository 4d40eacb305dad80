import ACLFormats
import Authorization

/// Where an application's container lies and how its inside is divided (the guide's Table 1-1).
public enum ContainerLayout: String, Sendable, CaseIterable {
    /// `HOME/Library/Containers/ID/Data`, everything below it the application's own.
    case macos
    /// `HOME/Containers/Bundle/ID` and `HOME/Containers/Data/ID`, the latter with nothing but the guide's directories.
    case ios
}

/// One rule of a container: the place, what passes there, and what the guide calls it.
struct ContainerRule {
    /// From the mount's top.
    var path: [[UInt8]]
    var zone: ZoneKind
    var name: String
}

extension ContainerLayout {
    /// Whether a text can stand for an application: words of letters, digits, - and _ of ASCII, joined by single dots.
    public static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count < 256
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { word in
                !word.isEmpty && word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
            }
    }

    /// - Throws: if the identifier could lead out of its place.
    func rules(bundle: String, home: [[UInt8]]) throws(EntitlementProblem) -> [ContainerRule] {
        guard Self.isIdentifier(bundle) else { throw EntitlementProblem(key: "bundle", message: "'\(bundle)' is not a bundle identifier") }
        let data = container(bundle: bundle, home: home)
        switch self {
        case .macos: return [ContainerRule(path: data, zone: .container, name: "container")] + Self.inside(data)
        case .ios:
            let program = home + ["Containers", "Bundle", bundle].map { Array($0.utf8) }
            return [
                ContainerRule(path: program, zone: .bundle, name: "bundle"),
                ContainerRule(path: data, zone: .containerTop, name: "container"),
            ] + Self.inside(data)
        }
    }

    /// The container's own directory, by names from the mount's top.
    public func container(bundle: String, home: [[UInt8]]) -> [[UInt8]] {
        let names =
            switch self {
            case .macos: ["Library", "Containers", bundle, "Data"]
            case .ios: ["Containers", "Data", bundle]
            }
        return home + names.map { Array($0.utf8) }
    }

    /// The guide's Table 1-1, from the container's own directory, those above first. All but the Inbox, which comes with the
    /// first file that somebody leaves there, an application may expect to find.
    private static let divisions: [(place: String, zone: ZoneKind, isExpected: Bool)] = [
        ("Documents", .documents, true), ("Documents/Inbox", .inbox, false), ("Library", .documents, true),
        ("Library/Application Support", .documents, true), ("Library/Preferences", .documents, true),
        ("Library/Caches", .purgeable, true), ("tmp", .purgeable, true),
    ]

    /// What an application may expect to find in its container, those above first.
    public static var directories: [String] { divisions.filter { $0.isExpected }.map { $0.place } }

    private static func inside(_ data: [[UInt8]]) -> [ContainerRule] {
        divisions.map { ContainerRule(path: data + $0.place.utf8.pathNames, zone: $0.zone, name: $0.place) }
    }
}

/// What a zone is, and so what may pass in it.
public enum ZoneKind: UInt8, Sendable, CaseIterable {
    /// Nothing is entitled here.
    case outside
    /// On the way to a zone: found and passed through, no more.
    case passage
    case readOnly, readWrite
    /// The whole inside of a macOS container.
    case container
    /// The top of an iOS data container: listed and passed through, no new names.
    case containerTop
    /// `AppName.app`: read and executed.
    case bundle
    case documents
    /// Read and delete; nothing is created or written.
    case inbox
    /// Caches and tmp: as Documents, and not backed up.
    case purgeable

    private static let looking: Rights = [.readAttributes, .readSecurity, .search, .synchronize]
    private static let reading: Rights = [
        .read, .execute, .readAttributes, .readExtendedAttributes, .readSecurity, .synchronize,
    ]

    /// The rights that may pass on an object in the zone.
    public var rights: Rights {
        switch self {
        case .outside: []
        case .passage: Self.looking
        case .readOnly, .bundle: Self.reading
        case .containerTop: Self.reading
        case .inbox: Self.reading.union([.delete, .deleteChild])
        case .readWrite, .container, .documents, .purgeable: Rights.all.union([.linkTarget, .checkImmutable])
        }
    }

    /// The guide's Caches, tmp and bundle. Not the top of an iOS container: Documents and Library below it are backed up.
    public var isExcludedFromBackup: Bool {
        switch self {
        case .purgeable, .bundle: true
        case .outside, .passage, .readOnly, .readWrite, .container, .containerTop, .documents, .inbox: false
        }
    }
}
