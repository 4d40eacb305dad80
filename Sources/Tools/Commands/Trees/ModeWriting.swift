import LinuxSystem

/// What a command knows of the set-id bits in a mode that it writes.
struct SetIDClaim {
    /// Owner and group that the object has when they count, and to whom they belong.
    var uid: UInt32
    var gid: UInt32
    /// Bits that the user of the command wants on a file, whatever it has now.
    var asked: UInt16 = 0
    /// Whether they were asked for by their mode, as with chmod(1), so that nothing stands against them.
    var isLiteral = false
}

/// The one way in which commands write a mode (docs/reference/security.md "Commands on trees").
///
/// A file with a set-id bit runs as its owner or group, and its content is of any user who could write it. So such a bit is never written
/// because a file had it once: its owner may be another now, and a write, which clears the bit, may have come between. A file keeps those that
/// it has at the moment of the call, while a lease proves that no process can write it.
enum ModeWriting {
    static let setIDBits: UInt16 = 0o6000

    /// - Parameters:
    ///   - mode: twelve bits.
    ///   - node: any descriptor of an object that is no symlink.
    /// - Returns: the set-id bits of `mode` that were left out.
    static func set(_ mode: UInt16, of node: SharedDescriptor, _ claim: SetIDClaim) throws(Errno) -> UInt16 {
        let wanted = mode & setIDBits
        if claim.isLiteral ? wanted & ~claim.asked == 0 : wanted == 0 {
            try Syscall.fchmod(node.rawValue, mode: UInt32(mode))
            return 0
        }
        let (proven, lease) = try provenBits(node, claim)
        defer { withExtendedLifetime(lease) {} }
        var granted = wanted & proven
        if granted != 0, try !isOwned(node, claim) { granted = 0 }
        try Syscall.fchmod(node.rawValue, mode: UInt32(mode & ~setIDBits | granted))
        // A change of owner that came between the two calls has cleared bits that the second one set.
        if granted != 0, try !isOwned(node, claim) {
            try Syscall.fchmod(node.rawValue, mode: UInt32(mode & ~setIDBits))
            granted = 0
        }
        return wanted & ~granted
    }

    /// - Returns: the bits that an object may have, and what keeps it from being written meanwhile. Only files have content that runs.
    private static func provenBits(_ node: SharedDescriptor, _ claim: SetIDClaim) throws(Errno) -> (UInt16, SharedDescriptor?) {
        guard try Syscall.statx(node.rawValue, mask: StatMask.basic).isRegular else { return (setIDBits, nil) }
        do throws(Errno) {
            let lease = try Syscall.keepFromWriting(node.rawValue)
            // Others may write past this kernel, as by another mount of the tree.
            let type = try Syscall.fileSystemType(node.rawValue)
            let isProof = claim.isLiteral || SharedFileSystem.of(magic: type) == nil
            let present = try Syscall.statx(node.rawValue, mask: StatMask.basic, flags: AtFlag.forceSync)
            return (claim.asked | (isProof ? UInt16(truncatingIfNeeded: present.mode) & setIDBits : 0), lease)
        } catch {
            return (error == .again && !claim.isLiteral ? 0 : claim.asked, nil)
        }
    }

    private static func isOwned(_ node: SharedDescriptor, _ claim: SetIDClaim) throws(Errno) -> Bool {
        let status = try Syscall.statx(node.rawValue, mask: StatMask.basic, flags: AtFlag.forceSync)
        return (status.uid, status.gid) == (claim.uid, claim.gid)
    }
}
