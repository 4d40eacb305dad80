import ACLFormats
import Authorization
import SandboxPolicy

/// Checks that need all words of the list.
extension MountOptions {
    /// - Throws: `MountOptionError` naming the words that contradict each other, or the one that is missing.
    public func checkTogether() throws(MountOptionError) {
        try checkAudit()
        try checkSetID()
        for word in sandboxWords {
            let name = word.prefix { $0 != "=" } + "="
            // Elsewhere the last one counts. Here it could open what the first one closes.
            guard let first = given.first(where: { $0.hasPrefix(name) && $0 != word }) else { continue }
            throw MountOptionError(
                description: "options '\(escapedName(first.utf8))' and '\(escapedName(word.utf8))' contradict each other; "
                    + "give only one of them")
        }
        if sandbox.profile == nil, let word = sandboxWords.first {
            throw MountOptionError(
                description: "option '\(word)' has no effect without a profile: add sandbox=PROFILE, or leave it out")
        }
        if sandbox.bundle == nil, let layout = sandbox.layout {
            throw MountOptionError(
                description: "option 'layout=\(layout.rawValue)' is the layout of an application's container: add bundle=ID for the "
                    + "application, or leave it out")
        }
    }

    /// Where ownership does not count any user may rewrite another's program, so none may run with its owner's rights
    /// (docs/reference/authorization.md Q1).
    public func checkSetID() throws(MountOptionError) {
        guard volume.ignoresOwnership, !noSuid else { return }
        throw MountOptionError(
            description: "options 'noowners' and 'suid' contradict each other: any user could change a set-id program of "
                + "another; leave one of them out")
    }

    private func checkAudit() throws(MountOptionError) {
        if audit.mode != .off, audit.log == nil {
            throw MountOptionError(description: "option 'audit=\(audit.mode.rawValue)' needs a file: add audit_log=PATH")
        }
        let dependent = ["audit_log=", "audit_limit=", "audit_user_limit="]
        if audit.mode == .off, given.contains(where: { word in dependent.contains { word.hasPrefix($0) } }) {
            throw MountOptionError(
                description: "audit_log=, audit_limit= and audit_user_limit= have no effect by themselves: add audit=denied or audit=all, "
                    + "or leave them out")
        }
    }
}
