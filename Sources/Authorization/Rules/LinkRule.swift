// docs/reference/authorization.md Q23: with the sysctl fs.protected_hardlinks not every caller may link every object. Otherwise a user links
// the file of another user into an own directory. The file then stays after its removal, and root's recursive chown of the
// directory gives it away.

extension Inquiry {
    /// The refusal by Linux's rule; nil = none. The rule permits owners, and callers with read and write on a file without set-id
    /// bits.
    ///
    /// The kernel applies the same rule before it asks a file system, but by the mode alone.
    // Not inlined, because only links come here.
    @inline(never)
    mutating func protectedLink(_ operation: Operation, _ facts: FactsByRole) -> Decision? {
        guard case .link = operation, volume.protectsHardLinks, !volume.ignoresOwnership, !volume.isReadOnly, let object = facts.object,
            ownership(of: object) != .member, !credential.isRoot
        else { return nil }
        if mayBePinned(object) {
            let check = Check([.read, .write], on: .object)
            if sandbox.permits(check.rights, on: check.role), evaluate(check, object, facts).isAllowed { return nil }
        }
        return credential.capabilities(over: object).contains(.fowner) ? nil : .deny(.EPERM, .precondition(.protectedLink))
    }

    /// Whether a second name may keep the object: not a special file, a symlink, or a program with set-id bits, which would survive
    /// its update.
    private func mayBePinned(_ object: ObjectFacts) -> Bool {
        object.kind == .file && !object.mode.contains(.setUser) && !object.mode.isSuperset(of: [.setGroup, .groupExecute])
    }
}
