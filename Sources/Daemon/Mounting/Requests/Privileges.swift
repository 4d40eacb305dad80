import Glibc
import LinuxSystem
import MountOptions
import ToolSupport

/// What an ordinary user may not request. mount(8) starts the helper as the user, with the user's environment.
package enum Privileges {
    /// - Throws: an option needs root, or the program is set-uid.
    package static func check(_ options: MountOptions) throws(MountFailure) {
        try refuseSetID()
        if geteuid() == 0 { return }
        if options.metadata == .trusted {
            throw refusal("metadata=trusted needs root: only root can use trusted.* attributes; use metadata=user")
        }
        if !options.noSuid { throw refusal("option 'suid' needs root; an ordinary user's mount is always nosuid") }
        let rootsWords = [
            ("nosymfollow", options.noSymFollow), ("nodiratime", options.accessTimes.leavesDirectories),
            ("strictatime", options.accessTimes.files == .strict),
        ]
        for (word, isAsked) in rootsWords where isAsked {
            throw refusal("option '\(word)' needs root: fusermount3 does not pass it to the kernel")
        }
        if !options.noDev { throw refusal("option 'dev' needs root; an ordinary user's mount is always nodev") }
        if options.allowOther, !FuseConfiguration.othersAreAllowed {
            throw refusal("option 'allow_other' needs root, or a line user_allow_other in /etc/fuse.conf")
        }
    }

    /// - Throws: the program is set-uid or set-gid. It would check its owner, not the caller.
    package static func refuseSetID() throws(MountFailure) {
        guard geteuid() == getuid(), getegid() == getgid() else {
            throw refusal(
                "aclfs must not be installed set-uid or set-gid; mounts of ordinary users go through fusermount3")
        }
    }

    /// Checks /dev/fuse before anything is mounted, to report the exact reason.
    package static func checkDevice() throws(MountFailure) {
        guard let obstacle = FuseConfiguration.deviceObstacle else { return }
        throw MountFailure(status: MountExit.systemError, message: "/dev/fuse: \(obstacle.error); \(obstacle.remedy)")
    }

    private static func refusal(_ message: String) -> MountFailure {
        MountFailure(status: MountExit.wrongUse, message: message)
    }
}
