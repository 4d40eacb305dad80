import CLinux

extension Syscall {
    /// Gives the calling thread another identity for good, unless the new one is root's. A process with one thread changes as a whole.
    /// - Parameters:
    ///   - uid: the effective and saved user id.
    ///   - gid: the effective and saved group id.
    ///   - realUID: the real user id.
    ///   - realGID: the real group id.
    ///   - groups: the supplementary groups.
    /// - Throws: perm without CAP_SETUID and CAP_SETGID, inval for an id that this user namespace does not map.
    public static func become(uid: UInt32, gid: UInt32, realUID: UInt32, realGID: UInt32, groups: [UInt32]) throws(Errno) {
        try value(aclfs_become(uid, gid, realUID, realGID, groups, UInt32(groups.count)))
    }
}
