import Glibc
import LinuxSystem

/// `aclfs unmount MOUNTPOINT`: ends a mount; one whose daemon died is taken away.
enum UnmountCommand {
    static func run() -> Int32 {
        UnmountArguments.run(rawArguments(), wrongUse: MountExit.wrongUse) { arguments in
            do throws(MountFailure) {
                try perform(arguments.mountpoint)
                return 0
            } catch { return MountCommand.report(error) }
        }
    }

    private static func perform(_ path: String) throws(MountFailure) {
        func failed(_ reason: String) -> MountFailure {
            MountFailure(status: MountExit.failed, message: "\(path): \(reason)")
        }
        let mountpoint = try MountPath.resolved(path, role: "mount point")
        guard let entry = MountTable.entry(at: mountpoint) else { throw failed("nothing is mounted there") }
        guard entry.type == "fuse.aclfs" else { throw failed("a \(entry.type) is mounted there, not an aclfs") }
        let isDead = Unmounting.isDead(mountpoint)
        do throws(Errno) { try Unmounting.perform(mountpoint, lazily: isDead) } catch {
            switch error {
            case .busy: throw failed("\(error); files are open or somebody's working directory is there")
            case .noent where geteuid() != 0:
                throw MountFailure(
                    status: MountExit.systemError,
                    message: "fusermount3 cannot be started; install the package fuse3")
            default: throw failed("\(error)")
            }
        }
        // A healing that did not end leaves a second one beneath the first.
        if isDead { try Unmounting.healDead(mountpoint) }
    }
}
