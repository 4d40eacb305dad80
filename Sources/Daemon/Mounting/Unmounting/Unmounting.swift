import FuseMounts
import Glibc
import LinuxSystem
import ToolSupport

/// Unmounts by umount2(2), or for an ordinary user by the set-uid helper fusermount3.
package enum Unmounting {
    /// - Parameter lazily: whether to detach a mount that is in use.
    /// - Throws: the kernel or the helper refuses.
    package static func perform(_ mountpoint: String, lazily: Bool) throws(Errno) {
        if geteuid() == 0 {
            // The daemon's threads have the restricted fsuid, to which directories on the path may be closed.
            try FileSystemUser.asRoot { () throws(Errno) in
                do throws(SessionError) { try FuseMount.unmount(mountpoint, lazily: lazily) } catch {
                    throw Errno(rawValue: error.errno)
                }
            }
        } else {
            try throughHelper(mountpoint, lazily: lazily)
        }
    }

    /// Unmounts the dead aclfs mounts on a path. A live one, or one of another type, stays.
    /// - Throws: a dead mount cannot be unmounted.
    package static func healDead(_ mountpoint: String) throws(MountFailure) {
        while MountServer.isDead(mountpoint), let entry = MountTable.entry(at: mountpoint), entry.type == "fuse.aclfs" {
            do throws(Errno) { try perform(mountpoint, lazily: true) } catch {
                throw MountFailure(
                    status: MountExit.failed,
                    message:
                        "mount point \(mountpoint): a mount of \(entry.source) is there whose daemon died, and it cannot be "
                        + "unmounted: \(error)")
            }
        }
    }

    /// Unmounts the mount of a daemon that failed to start. The kernel may need a moment to notice.
    package static func clearAfterFailure(_ mountpoint: String) {
        for _ in 0..<50 where MountTable.entry(at: mountpoint)?.type == "fuse.aclfs" {
            try? healDead(mountpoint)
            SystemTime.sleep(milliseconds: 20)
        }
    }

    /// Runs fusermount3 and prints its messages escaped. The program is not looked up in PATH, which the caller controls.
    private static func throughHelper(_ mountpoint: String, lazily: Bool) throws(Errno) {
        let places = ["/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin"].map { "\($0)/fusermount3" }
        guard let program = places.first(where: { access($0, X_OK) == 0 }) else { throw .noent }
        let words = ["fusermount3", "-u"] + (lazily ? ["-z"] : []) + ["--", mountpoint]
        var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for word in argv { free(word) } }
        let said = try? Syscall.memoryFile("fusermount3")
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let said { posix_spawn_file_actions_adddup2(&actions, said.rawValue, STDERR_FILENO) }
        var pid: pid_t = 0
        var failure = posix_spawn(&pid, program, &actions, nil, &argv, environ)
        // Ending threads still count against a limit of processes.
        for _ in 0..<50 where failure == EAGAIN {
            SystemTime.sleep(milliseconds: 20)
            failure = posix_spawn(&pid, program, &actions, nil, &argv, environ)
        }
        if failure != 0 { throw Errno(rawValue: failure) }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        if let said, (try? Syscall.lseek(said.rawValue, offset: 0, whence: Seek.set)) != nil, let text = try? Syscall.readAll(said.rawValue)
        {
            for line in text.split(separator: 0x0A) { printError(String(decoding: line, as: UTF8.self)) }
        }
        // The helper has no error codes. A mount of the caller that is still there is in use.
        if status != 0 { throw MountTable.entry(at: mountpoint)?.userID == getuid() ? .busy : .perm }
    }
}
