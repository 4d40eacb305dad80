import ACLFormats
import Authorization
import LinuxSystem

/// Whether and why an object is excluded from backups.
struct BackupState {
    var path: [UInt8]
    var kind: ObjectKind
    var isExcludedItself: Bool
    /// Whether the layout of its container excludes it. Then it has no mark.
    var isExcludedByPlace = false
    /// The excluded directories above it, nearest first.
    var parents: [[UInt8]] = []
    var isExcluded: Bool { isExcludedItself || !parents.isEmpty }

    /// Programs that read the mark, with the option they need.
    private static let attentive = ["borg 1 (--exclude-nodump)", "borg 2", "bsdtar (--nodump)"]

    /// Whether programs see the mark. The kernel has no call that reads flags of symlinks and special files.
    private var isSeen: Bool { isExcludedItself && (kind == .file || kind == .directory) }
    private var honouring: [String] { isSeen || !parents.isEmpty ? Self.attentive : [] }

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

    /// tmutil's words, then what this program adds.
    var lines: [String] {
        var lines = ["[\(isExcluded ? "Excluded" : "Included")]    \(escapedName(path))"]
        guard isExcluded else { return lines }
        if isExcludedItself {
            lines.append(isExcludedByPlace ? "    excluded by the layout of its container" : "    excluded itself")
        }
        for parent in parents { lines.append("    excluded by its parent \(escapedName(parent))") }
        // A program that starts below an excluded directory does not read its mark.
        let start = isSeen ? nil : parents.first
        let condition = start.map { " when they start at \(escapedName($0)) or above" } ?? ""
        if honouring.isEmpty {
            lines.append("    honoured by no program by itself: programs cannot read the mark of \(kindInWords)")
        } else {
            lines.append("    honoured by \(honouring.joined(separator: ", "))\(condition)")
        }
        lines.append("    by \(Self.enumerated(listing.map(\.rawValue))) with the list of `aclfs backup list`")
        return lines
    }

    var json: JSON {
        let lists = isExcluded ? listing : []
        return .object([
            JSON.path(path), .init("excluded", .bool(isExcluded)), .init("itself", .bool(isExcludedItself && !isExcludedByPlace)),
            .init("parents", .array(parents.map { .object([JSON.path($0)]) })),
            .init("layout", .bool(isExcludedByPlace)),
            .init("honoured_by", .array(honouring.map { .string($0) })),
            .init("honoured_with_list", .array(lists.map { .string($0.rawValue) })),
        ])
    }
}

extension BackupFiles {
    func isExcluded(_ node: Node) throws(AttributeFailure) -> Bool { try flags(of: node).contains(.noDump) }

    func backupState(of node: Node) throws(AttributeFailure) -> BackupState {
        let isExcludedItself = try isExcluded(node)
        do {
            let path = try absolutePath(of: node)
            let status = try status(of: node)
            var state = BackupState(path: path, kind: status.kind, isExcludedItself: isExcludedItself)
            if isExcludedItself { state.isExcludedByPlace = isExcludedByPlaceAlone(node) }
            let slash = UInt8(ascii: "/")
            var rest = path[...]
            while let end = rest.lastIndex(of: slash), rest.count > 1 {
                rest = rest[..<max(end, rest.startIndex + 1)]
                let parent = try open(Array(rest), followsLink: false)
                // The top of the mount is reached.
                if try self.status(of: parent).device != status.device { break }
                if try isExcludedHere(parent) { state.parents.append(Array(rest)) }
            }
            return state
        } catch { throw .system(error) }
    }

    /// Whether an excluded object has no mark. False if the caller may not read its attributes.
    private func isExcludedByPlaceAlone(_ node: Node) -> Bool {
        do throws(Errno) { return try attribute(BackupMark.excludeItem.plainName, of: node) == nil } catch { return false }
    }

    private func isExcludedHere(_ node: Node) throws(Errno) -> Bool {
        do throws(AttributeFailure) { return try isExcluded(node) } catch {
            if case .system(let errno) = error { throw errno }
            throw .io
        }
    }

    /// Sets two keys, because a copy may go to a system that knows only one of them. Either excludes.
    func excludeFromBackup(_ node: Node) throws(AttributeFailure) {
        let flags = try flags(of: node)
        // An object that its layout excludes gets a mark, so that it stays excluded when it is moved away.
        if flags.contains(.noDump), !isExcludedByPlaceAlone(node) { return }
        do {
            try setAttribute(BackupMark.excludeItem.plainName, of: node, to: BackupMark.excludeItem.value)
        } catch {
            // The flag is shown already: setting it would do nothing.
            if flags.contains(.noDump) { throw .system(error) }
            // The owner may set flags without the right to write attributes.
            do throws(AttributeFailure) { return try setFlags(of: node, to: flags.union(.noDump)) } catch { _ = error }
            throw .system(error)
        }
        let robots = BackupMark.robots
        // Optional: symlinks cannot have this attribute, and its room may be used up.
        try? setAttribute("user.\(robots.plainName)", of: node, to: robots.value)
    }

    func includeInBackup(_ node: Node) throws(AttributeFailure) {
        let flags = try flags(of: node)
        if !flags.contains(.noDump) { return }
        do { try removeAttribute(BackupMark.excludeItem.plainName, of: node) } catch {
            do throws(AttributeFailure) { return try setFlags(of: node, to: flags.subtracting(.noDump)) } catch {
                _ = error
            }
            throw .system(error)
        }
    }
}
