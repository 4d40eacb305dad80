import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// What kernel, device and settings offer.
enum SystemChecks {
    static func all() -> [Finding] {
        [kernel, device, ring, helpers] + [daemonProgram].compactMap { $0 }
            + (geteuid() == 0 ? [space, others] : [fusermount, others, appArmor].compactMap { $0 })
    }

    private static var kernel: Finding {
        let running = KernelRelease.running
        let version = "Linux \(running.major).\(running.minor)"
        let features = [
            (KernelRelease(6, 5), "a dead mount is replaced without names vanishing for a moment"),
            (KernelRelease(6, 9), "data bypasses the daemon (passthrough)"),
            (KernelRelease(6, 16), "names and attributes stay cached for long (epoch)"),
        ]
        let missing = features.filter { running < $0.0 }.map { "from \($0.0.major).\($0.0.minor) on \($0.1)" }
        if missing.isEmpty { return .fine("kernel", "\(version), with all that aclfs uses") }
        return .note("kernel", "\(version): mounts work, slower", do: missing.joined(separator: "; "))
    }

    private static var device: Finding {
        guard let obstacle = FuseConfiguration.deviceObstacle else { return .fine("/dev/fuse", "this user may read and write it") }
        return .problem("/dev/fuse", "\(obstacle.error)", do: obstacle.remedy)
    }

    private static var ring: Finding {
        let path = "/sys/module/fuse/parameters/enable_uring"
        guard let value = try? Syscall.readAll(path: path).first else {
            return .note("io_uring", "this kernel has no FUSE over io_uring", do: "nothing: requests go through /dev/fuse")
        }
        if value == UInt8(ascii: "Y") { return .fine("io_uring", "FUSE may use it") }
        return .note(
            "io_uring", "off for FUSE", do: "for faster requests: echo Y >\(path), before mounting (docs/internals/transport.md)")
    }

    /// mount(8) looks for them in these directories only.
    private static var helpers: Finding {
        let names = ["mount.aclfs", "mount.fuse.aclfs"]
        let missing = names.filter { name in ["/sbin/", "/usr/sbin/"].allSatisfy { access($0 + name, X_OK) != 0 } }
        if missing.isEmpty { return .fine("helpers of mount(8)", "/usr/sbin has mount.aclfs and mount.fuse.aclfs") }
        return .note(
            "helpers of mount(8)", "\(missing.joined(separator: ", ")) not found: neither mount -t aclfs nor fstab works",
            do: "install the package, or: make install; aclfs mount works without")
    }

    /// What serves mounts; nil if it is there.
    private static var daemonProgram: Finding? {
        do throws(MountFailure) {
            _ = try OtherProgram.path(of: OtherProgram.daemon)
            return nil
        } catch {
            return .problem(OtherProgram.daemon, error.message, do: "install the package again, or: make install")
        }
    }

    private static var space: Finding {
        if Syscall.hasCapability(Capability.setUserID) { return .fine("root", "may act as other users where space is taken") }
        return .problem(
            "root", "without CAP_SETUID: users could fill the blocks that the file system reserves for root, so nothing is mounted",
            do: "give the capability to this process, or mount as an ordinary user")
    }

    private static var others: Finding {
        if FuseConfiguration.othersAreAllowed { return .fine("/etc/fuse.conf", "has user_allow_other") }
        return .note(
            "/etc/fuse.conf", "no line user_allow_other: a mount of an ordinary user is for that user alone",
            do: "if users are to share their mounts, add the line user_allow_other")
    }

    private static var fusermount: Finding {
        for directory in ["/usr/bin/", "/bin/", "/usr/local/bin/"] {
            var status = stat()
            guard stat(directory + "fusermount3", &status) == 0 else { continue }
            if status.st_mode & S_ISUID != 0, status.st_uid == 0 { return .fine("fusermount3", "\(directory)fusermount3") }
            return .problem(
                "fusermount3", "\(directory)fusermount3 is not set-uid root: ordinary users cannot mount",
                do: "chown root \(directory)fusermount3; chmod 4755 \(directory)fusermount3")
        }
        return .problem("fusermount3", "not found: ordinary users cannot mount", do: "install the package fuse3")
    }

    /// Its profile of fusermount3 allows mount points in some places only. nil: it does not run.
    private static var appArmor: Finding? {
        guard (try? Syscall.readAll(path: "/sys/module/apparmor/parameters/enabled"))?.first == UInt8(ascii: "Y"),
            access("/etc/apparmor.d/fusermount3", F_OK) == 0
        else { return nil }
        return .note(
            "AppArmor", "has a profile for fusermount3 that allows only some mount points",
            do: "if fusermount3 is refused: add the mount point to /etc/apparmor.d/local/fusermount3 (docs/reference/mounting.md)")
    }
}
