import ACLFormats
import Authorization

/// The path of an application's container, and its directories (the guide's Table 1-1).
public enum ContainerLayout: String, Sendable, CaseIterable {
    /// `HOME/Library/Containers/ID/Data`; everything below it is the application's.
    case macos
    /// `HOME/Containers/Bundle/ID` and `HOME/Containers/Data/ID`; the latter has only the guide's directories.
    case ios
}

/// One rule of a container: a place, its zone, and its name in the guide.
struct ContainerRule {
    /// Names from the mount's root.
    var path: [[UInt8]]
    var zone: ZoneKind
    var name: String
}

extension ContainerLayout {
    /// Whether a text is a bundle identifier: words of ASCII letters, digits, - and _, joined by single dots.
    public static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count < 256
            && text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { word in
                !word.isEmpty && word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
            }
    }

    /// - Throws: if the identifier is invalid and its path could lead elsewhere.
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

    /// The container's own directory.
    /// - Parameters:
    ///   - bundle: the bundle identifier.
    ///   - home: names from the mount's root.
    /// - Returns: names from the mount's root.
    public func container(bundle: String, home: [[UInt8]]) -> [[UInt8]] {
        let names =
            switch self {
            case .macos: ["Library", "Containers", bundle, "Data"]
            case .ios: ["Containers", "Data", bundle]
            }
        return home + names.map { Array($0.utf8) }
    }

    /// The guide's Table 1-1, relative to the container's own directory, parents first. An application expects all but the Inbox,
    /// which is created with the first file in it.
    private static let divisions: [(place: String, zone: ZoneKind, isExpected: Bool)] = [
        ("Documents", .documents, true), ("Documents/Inbox", .inbox, false), ("Library", .documents, true),
        ("Library/Application Support", .documents, true), ("Library/Preferences", .documents, true),
        ("Library/Caches", .purgeable, true), ("tmp", .purgeable, true),
    ]

    /// The directories that an application expects in its container, parents first.
    public static var directories: [String] { divisions.filter { $0.isExpected }.map { $0.place } }

    /// The places that hold nothing an application could not make again, as names from the container's own directory.
    static var purgeablePlaces: [[[UInt8]]] { divisions.filter { $0.zone == .purgeable }.map { $0.place.utf8.pathNames } }

    private static func inside(_ data: [[UInt8]]) -> [ContainerRule] {
        divisions.map { ContainerRule(path: data + $0.place.utf8.pathNames, zone: $0.zone, name: $0.place) }
    }

    /// The rules of a container whose own directory is the root of the table.
    var rulesInside: [ContainerRule] {
        [ContainerRule(path: [], zone: self == .ios ? .containerTop : .container, name: "container")] + Self.inside([])
    }
}

/// The kind of a zone, which has its rights.
public enum ZoneKind: UInt8, Sendable, CaseIterable {
    /// No entitlement grants anything here.
    case outside
    /// An ancestor of a zone: it can be looked up and searched, no more.
    case passage
    case readOnly, readWrite
    /// Everything in a macOS container.
    case container
    /// The root of an iOS data container: it can be listed and searched, without new names.
    case containerTop
    /// A name in that root that the guide does not have, with everything below it: as outside, and not backed up.
    case unlisted
    /// `AppName.app`: read and executed.
    case bundle
    case documents
    /// Read and delete; no creation, no writing.
    case inbox
    /// Caches and tmp: as Documents, but not backed up.
    case purgeable

    private static let looking: Rights = [.readAttributes, .readSecurity, .search, .synchronize]
    private static let reading: Rights = [
        .read, .execute, .readAttributes, .readExtendedAttributes, .readSecurity, .synchronize,
    ]

    /// The rights that the zone permits on an object.
    public var rights: Rights {
        switch self {
        case .outside, .unlisted: []
        case .passage: Self.looking
        case .readOnly, .bundle: Self.reading
        case .containerTop: Self.reading
        case .inbox: Self.reading.union([.delete, .deleteChild])
        case .readWrite, .container, .documents, .purgeable: Rights.all.union([.linkTarget, .checkImmutable])
        }
    }

    /// Caches, tmp and the bundle, as in the guide, and what it does not name in an iOS container. Not the root of such a container:
    /// Documents and Library below it are backed up.
    public var isExcludedFromBackup: Bool {
        switch self {
        case .purgeable, .bundle, .unlisted: true
        case .outside, .passage, .readOnly, .readWrite, .container, .containerTop, .documents, .inbox: false
        }
    }
}
