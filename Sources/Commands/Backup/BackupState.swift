import ACLFormats
import Authorization
import LinuxSystem

/// Whether and why an object is left out of backups.
struct BackupState {
    var path: [UInt8]
    var kind: ObjectKind
    var isExcludedItself: Bool
    /// By its place in a container, as the mount's profile divides it; then it carries no mark.
    var isExcludedByPlace = false
    /// Excluded directories above it, the nearest first.
    var parents: [[UInt8]] = []
    var isExcluded: Bool { isExcludedItself || !parents.isEmpty }

    /// Programs that see the mark themselves, and what they must be told.
    private static let attentive = ["borg 1 (--exclude-nodump)", "borg 2", "bsdtar (--nodump)"]

    /// Nobody can ask a symlink or a special file for its flags: the kernel has no way.
    private var isSeen: Bool { isExcludedItself && (kind == .file || kind == .directory) }
    private var honouring: [String] { isSeen || !parents.isEmpty ? Self.attentive : [] }

    /// Programs in whose lists the object can be named: a name with a newline can be in some only (with `--from0`).
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
        // A program that starts below an excluded directory does not see its mark.
        let start = isSeen ? nil : parents.first
        let condition = start.map { " when they start at \(escapedName($0)) or above" } ?? ""
        if honouring.isEmpty {
            lines.append("    honoured by no program by itself: of \(kindInWords) none can be asked for the mark")
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
                // The mount ends here.
                if try self.status(of: parent).device != status.device { break }
                if try isExcludedHere(parent) { state.parents.append(Array(rest)) }
            }
            return state
        } catch { throw .system(error) }
    }

    /// What is marked has this key, whichever mark it is. Who may not read it is told of no place.
    private func isExcludedByPlaceAlone(_ node: Node) -> Bool {
        do throws(Errno) { return try attribute(BackupMark.excludeItem.plainName, of: node) == nil } catch { return false }
    }

    private func isExcludedHere(_ node: Node) throws(Errno) -> Bool {
        do throws(AttributeFailure) { return try isExcluded(node) } catch {
            if case .system(let errno) = error { throw errno }
            throw .io
        }
    }

    /// Two keys, because a copy may go where only one of them is known; either alone excludes.
    func excludeFromBackup(_ node: Node) throws(AttributeFailure) {
        let flags = try flags(of: node)
        // What is excluded by its place alone gets a mark, so that it stays excluded when it is moved away.
        if flags.contains(.noDump), !isExcludedByPlaceAlone(node) { return }
        do {
            try setAttribute(BackupMark.excludeItem.plainName, of: node, to: BackupMark.excludeItem.value)
        } catch {
            // Where the flag is shown already, to set it would do nothing.
            if flags.contains(.noDump) { throw .system(error) }
            // Whoever may not write attributes may still own the object.
            do throws(AttributeFailure) { return try setFlags(of: node, to: flags.union(.noDump)) } catch { _ = error }
            throw .system(error)
        }
        let robots = BackupMark.robots
        // Symlinks take none of this name, and a full attribute space has done what counts.
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
