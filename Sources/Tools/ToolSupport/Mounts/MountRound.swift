import Glibc
import LinuxSystem

/// Questions to the daemons of several mounts. A daemon of another user may answer slowly or never: all mounts of such a user share one
/// timeout.
package struct MountRound {
    /// The nanoseconds that remain, by user.
    private var time: [UInt32: UInt64] = [:]
    private let timeout: UInt32
    private let ownTimeout: UInt32

    /// - Parameters:
    ///   - timeout: of each other user, in milliseconds.
    ///   - ownTimeout: of each mount of the caller and of root, in milliseconds. The daemon may query account databases on the network.
    package init(timeout: UInt32 = 2000, ownTimeout: UInt32 = 30_000) { (self.timeout, self.ownTimeout) = (timeout, ownTimeout) }

    /// - Returns: the mounts to ask if the command line names none: the caller's and root's; for root, all. Each device and path occurs
    ///   once: a sandbox mounts the view several times.
    package static func mounts() -> [MountEntry] {
        var seen: Set<String> = []
        return MountTable.entries().filter { mount in
            mount.type == "fuse.aclfs" && (geteuid() == 0 || !mount.isOfAnotherUser)
                && seen.insert("\(mount.device) \(mount.path)").inserted
        }
    }

    /// Asks the daemon of one mount.
    /// - Throws: the daemon does not answer, or its user has used up the timeout.
    package mutating func ask<Value>(
        _ mount: MountEntry, _ body: (ControlClient) throws(ControlError) -> Value
    ) throws(ControlError) -> Value {
        let owner = mount.userID ?? 0
        guard mount.isOfAnotherUser else {
            return try body(try ControlClient(device: mount.device, owner: owner, timeout: ownTimeout))
        }
        let left = time[owner] ?? UInt64(timeout) * 1_000_000
        guard left > 0 else {
            var failure = ControlError("not asked: the mounts of user \(owner) have taken too long to answer already")
            failure.isTimeout = true
            throw failure
        }
        let begun = SystemTime.monotonic()
        defer { time[owner] = left - min(left, SystemTime.monotonic() - begun) }
        return try body(
            try ControlClient(
                device: mount.device, owner: owner, timeout: UInt32(clamping: left / 1_000_000 + 1), isTotal: true))
    }
}
