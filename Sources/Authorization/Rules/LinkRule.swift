// docs/authorization.md Q23: with the sysctl fs.protected_hardlinks not every caller may give an object another name. A user who
// links another's file into an own directory keeps it from going when it is removed, and gets it by root's recursive chown of
// that directory.

extension Inquiry {
    /// Whether Linux's rule refuses a link that the rest would grant: it lets pass who owns the object, and who holds read and
    /// write on a file without set-id bits. nil = it does not refuse.
    ///
    /// The kernel judges the same before it asks a file system, but by the mode alone: of a right to read or write it knows nothing.
    // Not inlined, because only links come here.
    @inline(never)
    mutating func protectedLink(_ operation: Operation, _ nodes: Nodes) -> Decision? {
        guard case .link = operation, volume.protectsHardLinks, !volume.ignoresOwnership, !volume.isReadOnly, !credential.isRoot,
            let object = nodes.object, ownership(of: object) != .member
        else { return nil }
        if mayBePinned(object) {
            let check = Check([.read, .write], on: .object)
            if sandbox.permits(check.rights, on: check.role), evaluate(check, object, nodes).isAllowed { return nil }
        }
        return .deny(.EPERM, .precondition(.protectedLink))
    }

    /// No special file and no symlink may, and no program that runs with other rights: it would stay when it is replaced.
    private func mayBePinned(_ object: ObjectFacts) -> Bool {
        object.kind == .file && !object.mode.contains(.setUser) && !object.mode.isSuperset(of: [.setGroup, .groupExecute])
    }
}
