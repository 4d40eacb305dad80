import ACLFormats
import Authorization
import LinuxSystem
import SandboxPolicy

/// The layout that a directory declares.
struct LayoutAbove: Hashable {
    var layout: DeclaredLayout
    /// Its path.
    var directory: [UInt8]

    /// Whether it excludes an object.
    /// - Parameter path: spelled as the directory's.
    func leavesOut(_ path: [UInt8]) -> Bool {
        let slash = UInt8(ascii: "/")
        let above = directory.last == slash ? directory : directory + [slash]
        guard path.count > above.count, path.starts(with: above) else { return false }
        return layout.leavesOut(path[above.count...].split(separator: slash).map { Array($0) })
    }
}

/// Reads whether objects are excluded from backups: on a mount, or on a backing directory.
struct BackupReader<Files: BackupFiles> {
    let files: Files
    /// On a backing directory, where the flag is in the record, and no daemon knows what layouts exclude.
    let isOffline: Bool

    /// On a mount: whether the object is excluded itself, by a mark or by a layout. Offline: whether it has a mark.
    func isMarked(_ node: Files.Node) throws(AttributeFailure) -> Bool {
        guard isOffline else { return try files.flags(of: node).contains(.noDump) }
        if try record(of: node).flags.contains(.noDump) { return true }
        for mark in BackupMark.allCases {
            if let value = try stored(String(decoding: mark.storedName, as: UTF8.self), of: node), mark.excludes(value) { return true }
        }
        return false
    }

    func state(of node: Files.Node) throws(AttributeFailure) -> BackupState {
        let isMarked = try isMarked(node)
        do {
            let path = try files.absolutePath(of: node)
            let status = try files.status(of: node)
            var state = BackupState(path: path, kind: status.kind, isExcludedItself: isMarked)
            state.isOffline = isOffline
            if isMarked, !isOffline { state.isExcludedByPlace = files.isExcludedByPlaceAlone(node) }
            let layouts = isOffline || state.isExcludedByPlace ? try layouts(above: path, on: status.device) : []
            let layout = layouts.first { $0.leavesOut(path) }
            if isOffline, !isMarked, layout != nil { (state.isExcludedItself, state.isExcludedByPlace) = (true, true) }
            if state.isExcludedByPlace { state.layout = layout }
            if status.isDirectory { state.declares = try? declaredLayout(of: node) }
            try forEachParent(of: path, on: status.device) { (parent, above) throws(Errno) in
                let isLeftOut = isOffline && layouts.contains { $0.leavesOut(parent) }
                if try isExcludedHere(above) || isLeftOut { state.parents.append(parent) }
            }
            return state
        } catch { throw .system(error) }
    }

    /// The layouts that the directories above an object declare, the nearest first.
    /// - Parameters:
    ///   - path: its real path.
    ///   - device: its file system; directories of others do not count.
    func layouts(above path: [UInt8], on device: UInt64) throws(Errno) -> [LayoutAbove] {
        var found: [LayoutAbove] = []
        try forEachParent(of: path, on: device) { (parent, node) throws(Errno) in
            // On a mount the caller may not be allowed to read it; then only the reason remains unknown.
            let value: [UInt8]?
            do throws(Errno) { value = try declaredLayout(of: node) } catch {
                if isOffline, error != .opnotsupp { throw error }
                return
            }
            if let layout = value.flatMap({ DeclaredLayout(value: $0) }) { found.append(LayoutAbove(layout: layout, directory: parent)) }
        }
        return found
    }

    private func declaredLayout(of directory: Files.Node) throws(Errno) -> [UInt8]? {
        let name = DeclaredLayout.attributeName
        return isOffline ? try files.stored(name, of: directory) : try files.attribute(name, of: directory)
    }

    /// Visits the directories above an object up to the top of its file system, the nearest first.
    private func forEachParent(
        of path: [UInt8], on device: UInt64, _ body: (_ path: [UInt8], Files.Node) throws(Errno) -> Void
    ) throws(Errno) {
        var rest = path[...]
        while let end = rest.lastIndex(of: UInt8(ascii: "/")), rest.count > 1 {
            rest = rest[..<max(end, rest.startIndex + 1)]
            let parent = try files.open(Array(rest), followsLink: false)
            // The top of the mount is reached.
            if try files.status(of: parent).device != device { break }
            try body(Array(rest), parent)
        }
    }

    private func isExcludedHere(_ node: Files.Node) throws(Errno) -> Bool {
        do throws(AttributeFailure) { return try isMarked(node) } catch {
            if case .system(let errno) = error { throw errno }
            throw .io
        }
    }

    /// The record of a backing object. A tree has its records under one of the two names.
    private func record(of node: Files.Node) throws(AttributeFailure) -> MetadataRecord {
        for name in ["trusted.aclfs", "user.aclfs"] {
            guard let bytes = try stored(name, of: node) else { continue }
            do { return try MetadataRecord(decoding: bytes) } catch { throw .text("the record is damaged: \(error.message)") }
        }
        return MetadataRecord()
    }

    private func stored(_ name: String, of node: Files.Node) throws(AttributeFailure) -> [UInt8]? {
        do throws(Errno) { return try files.stored(name, of: node) } catch {
            if error == .opnotsupp { return nil }
            throw .system(error)
        }
    }
}
