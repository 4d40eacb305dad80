import ACLFormats
import Authorization
import LinuxSystem
import SandboxPolicy

/// Whether and why an object is excluded from backups.
struct BackupState {
    var path: [UInt8]
    var kind: ObjectKind
    var isExcludedItself: Bool
    /// Whether the layout of its container excludes it. Then it has no mark.
    var isExcludedByPlace = false
    /// The directory whose layout does, if it declares one that the caller may read.
    var layout: LayoutAbove?
    /// The value of the attribute that declares a layout on the object itself.
    var declares: [UInt8]?
    /// Read from a backing directory, where no program reads the mark.
    var isOffline = false
    /// The excluded directories above it, nearest first.
    var parents: [[UInt8]] = []
    var isExcluded: Bool { isExcludedItself || !parents.isEmpty }

    /// Programs that read the mark, with the option they need.
    private static let attentive = ["borg 1 (--exclude-nodump)", "borg 2", "bsdtar (--nodump)"]

    /// Whether programs see the mark. The kernel has no call that reads flags of symlinks and special files.
    private var isSeen: Bool { !isOffline && isExcludedItself && (kind == .file || kind == .directory) }
    private var honouring: [String] { !isOffline && (isSeen || !parents.isEmpty) ? Self.attentive : [] }

    /// Programs whose lists can contain the object. Only some can contain a name with a newline.
    private var listing: [BackupListFormat] {
        let place = parents.first ?? path
        let item = BackupListItem(operand: [], below: Array(place.drop { $0 == UInt8(ascii: "/") }))
        return [.rsync, .tar, .restic, .borg].filter {
            $0.text(item, endsInNUL: $0 == .rsync, workingDirectory: [UInt8(ascii: "/")]) != nil
        }
    }

    private var kindInWords: String { kind == .symlink ? "a symbolic link" : "a special file" }

    private static func enumerated(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "none" }
        return words.dropLast().joined(separator: ", ") + " and " + last
    }

    /// What excludes the object without a mark.
    var layoutInWords: String {
        layout.map { "the layout \($0.layout.rawValue) of \(escapedName($0.directory))" } ?? "the layout of its container"
    }

    /// tmutil's words, then what this program adds.
    var lines: [String] {
        var lines = ["[\(isExcluded ? "Excluded" : "Included")]    \(escapedName(path))"]
        if let declares {
            lines.append(
                DeclaredLayout(value: declares).map { "    declares the layout \($0.rawValue) for what is below it" }
                    ?? "    declares an unknown layout, which excludes nothing: \(escapedName(declares))")
        }
        guard isExcluded else { return lines }
        if isExcludedItself { lines.append(isExcludedByPlace ? "    excluded by \(layoutInWords)" : "    excluded itself") }
        for parent in parents { lines.append("    excluded by its parent \(escapedName(parent))") }
        // A program that starts below an excluded directory does not read its mark.
        let start = isSeen ? nil : parents.first
        let condition = start.map { " when they start at \(escapedName($0)) or above" } ?? ""
        if honouring.isEmpty {
            lines.append(
                isOffline
                    ? "    honoured by no program without help: the mark can be read only on a mount"
                    : "    honoured by no program without help: programs cannot read the mark of \(kindInWords)")
        } else {
            lines.append("    honoured by \(honouring.joined(separator: ", "))\(condition)")
        }
        let command = "aclfs backup list\(isOffline ? " --offline" : "")"
        lines.append("    by \(Self.enumerated(listing.map(\.rawValue))) with the list of `\(command)`")
        return lines
    }

    var json: JSON {
        let lists = isExcluded ? listing : []
        var members: [JSON.Member] = [
            JSON.path(path), .init("excluded", .bool(isExcluded)), .init("itself", .bool(isExcludedItself && !isExcludedByPlace)),
            .init("parents", .array(parents.map { .object([JSON.path($0)]) })),
            .init("layout", .bool(isExcludedByPlace)),
        ]
        if let layout {
            members += [.init("layout_name", .string(layout.layout.rawValue)), JSON.path(layout.directory, name: "layout_directory")]
        }
        if let declares { members.append(.init("declares", .string(String(decoding: declares, as: UTF8.self)))) }
        members += [
            .init("honoured_by", .array(honouring.map { .string($0) })),
            .init("honoured_with_list", .array(lists.map { .string($0.rawValue) })),
        ]
        return .object(members)
    }
}
