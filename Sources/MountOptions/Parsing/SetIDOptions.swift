import Authorization

extension MountOptions {
    /// Where ownership does not count any user may rewrite another's program, so none may run with its owner's rights
    /// (docs/authorization.md Q1).
    public func checkSetID() throws(MountOptionError) {
        guard volume.ignoresOwnership, !noSuid else { return }
        throw MountOptionError(
            description: "options 'noowners' and 'suid' contradict each other: where ownership does not count any user could change a "
                + "program that runs with another's rights; leave one of them out")
    }

    /// `suiddir=VALUE`.
    mutating func applySetUserDirectories(_ value: String) throws(MountOptionError) {
        guard value == "all" else { throw wrongValue("suiddir", value, ["all"]) }
        volume.ownerFromSetUserDirectory = .always
    }
}

extension VolumeState.OwnerFromDirectory {
    var word: String {
        switch self {
        case .never: "nosuiddir"
        case .unlessRoot: "suiddir"
        case .always: "suiddir=all"
        }
    }
}
