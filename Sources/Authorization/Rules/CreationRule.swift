// docs/reference/authorization.md 5.3, 5.4 and Q4, Q18, Q19: owner, group, mode, flags and entries of a new object.

/// The uid and gid of imported volumes that stand for the caller (Q16).
let unknownID: UInt32 = 99

extension Inquiry {
    /// The facts of a new object.
    ///
    /// - Parameters:
    ///   - request: the kind, mode and umask of the call.
    ///   - parent: the directory.
    ///   - gid: the caller's effective group.
    /// - Throws: `TooManyEntries` if the new object would inherit too long a list.
    public func newObject(
        _ request: CreationRequest, in parent: ObjectFacts, gid: UInt32
    ) throws(TooManyEntries) -> ObjectFacts {
        var mode = FileMode(rawValue: request.mode.rawValue & ~request.umask)
        // With grpid, open and mkdir clear the special bits as in XNU; without it they stay as on Linux.
        if volume.groupFromDirectory, request.kind == .file || request.kind == .directory {
            mode.subtract([.setUser, .setGroup, .sticky])
        }
        var (group, groupGUID) = (parent.group, parent.groupGUID)
        if !volume.groupFromDirectory {
            if parent.mode.contains(.setGroup), !volume.ignoresOwnership {
                if request.kind == .directory { mode.insert(.setGroup) }
                // Kernels before 6.0 leave this to the file system: a program must not run as a group that its maker is not in.
                if request.kind == .file, mode.isSuperset(of: [.setGroup, .groupExecute]) {
                    var inquiry = self
                    if !inquiry.credential.isRoot, inquiry.groupMembership(of: parent) != .member { mode.remove(.setGroup) }
                }
            } else {
                (group, groupGUID) = (gid, nil)
            }
        }
        if volume.unknown99, group == unknownID, groupGUID == nil, credential.uid != 0 { group = gid }
        var owner = credential.uid
        if ownerComesFromDirectory(parent) {
            owner = parent.owner
            // Q4: a caller must not create executables that run as the owner of the directory.
            mode.subtract([.setUser, .setGroup])
            if request.kind == .file { mode.subtract(.anyExecute) }
        }
        mode = AttributeEffect.storedMode(mode, on: volume)
        return ObjectFacts(
            kind: request.kind, owner: owner, group: group, mode: mode,
            flags: parent.flags.intersection(.inheritedAtCreation),
            acl: try inheritedACL(
                from: volume.ignoresACLs ? nil : parent.acl, by: request.kind, supplied: request.suppliedACL),
            groupGUID: groupGUID)
    }

    private func ownerComesFromDirectory(_ parent: ObjectFacts) -> Bool {
        guard parent.mode.contains(.setUser), parent.owner != 0, parent.owner != credential.uid, parent.ownerGUID == nil,
            !volume.ignoresOwnership
        else { return false }
        return switch volume.ownerFromSetUserDirectory {
        case .never: false
        case .unlessRoot: credential.uid != 0
        case .always: true
        }
    }

    /// Set-id bits that mkfifo and mknod may not set. The right on the directory is checked first (9a.4).
    mutating func illegalCreation(_ request: CreationRequest, in parent: ObjectFacts) -> Decision? {
        if volume.ignoresOwnership { return nil }
        if request.kind == .file || request.kind == .directory || request.kind == .symlink { return nil }
        let mode = FileMode(rawValue: request.mode.rawValue & ~request.umask)
        if mode.contains(.setGroup), !credential.isRoot, groupMembership(of: parent) != .member,
            !credential.capabilities(over: parent).contains(.fsetid)
        {
            return .deny(.EPERM, .attributePolicy)
        }
        if mode.contains(.setUser), ownerComesFromDirectory(parent), !credential.isRoot { return .deny(.EPERM, .attributePolicy) }
        return nil
    }
}
