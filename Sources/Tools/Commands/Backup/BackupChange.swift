import ACLFormats
import Authorization
import LinuxSystem
import SandboxPolicy

extension BackupFiles {
    /// Whether an excluded object has no mark. False if the caller may not read its attributes.
    func isExcludedByPlaceAlone(_ node: Node) -> Bool {
        do throws(Errno) { return try attribute(BackupMark.excludeItem.plainName, of: node) == nil } catch { return false }
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
            do throws(AttributeFailure) { return try changeFlags(of: node, from: flags, to: flags.union(.noDump)) } catch { _ = error }
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
            do throws(AttributeFailure) { return try changeFlags(of: node, from: flags, to: flags.subtracting(.noDump)) } catch {
                _ = error
            }
            throw .system(error)
        }
    }

    /// - Parameter layout: nil: it declares none any more.
    func declareLayout(_ layout: DeclaredLayout?, of node: Node) throws(AttributeFailure) {
        do throws(Errno) {
            guard try status(of: node).isDirectory else { throw .notdir }
            if let layout {
                try setAttribute(DeclaredLayout.attributeName, of: node, to: Array(layout.rawValue.utf8))
            } else {
                try removeAttribute(DeclaredLayout.attributeName, of: node)
            }
        } catch { throw .system(error) }
    }
}
