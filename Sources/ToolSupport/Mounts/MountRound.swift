import Glibc
import LinuxSystem

/// A question to the daemons of several mounts. Those of other users need not answer, or as slowly as they like: each such user
/// has a short time for all his mounts together, and is asked once.
package struct MountRound {
    /// Nanoseconds that are left.
    private var time: [UInt32: UInt64] = [:]
    private let patience: UInt32

    /// - Parameter patience: with each other user, in milliseconds.
    package init(patience: UInt32 = 2000) { self.patience = patience }

    /// Whom to ask where no mount is named: one's own daemons and root's, and of root everybody's. Each mount once at each place:
    /// in a sandbox it stands there several times.
    package static func mounts() -> [MountEntry] {
        var seen: Set<String> = []
        return MountTable.entries().filter { mount in
            mount.type == "fuse.aclfs" && (geteuid() == 0 || !mount.isStrangers)
                && seen.insert("\(mount.device) \(mount.path)").inserted
        }
    }

    package mutating func ask<Value>(
        _ mount: MountEntry, _ body: (ControlClient) throws(ControlError) -> Value
    ) throws(ControlError) -> Value {
        let owner = mount.userID ?? 0
        guard mount.isStrangers else { return try body(try ControlClient(device: mount.device, owner: owner)) }
        let left = time[owner] ?? UInt64(patience) * 1_000_000
        guard left > 0 else {
            var failure = ControlError("not asked: the mounts of user \(owner) have taken too long to answer already")
            failure.isLate = true
            throw failure
        }
        let begun = SystemTime.monotonic()
        defer { time[owner] = left - min(left, SystemTime.monotonic() - begun) }
        return try body(
            try ControlClient(
                device: mount.device, owner: owner, patience: UInt32(clamping: left / 1_000_000 + 1), isInAll: true))
    }
}
