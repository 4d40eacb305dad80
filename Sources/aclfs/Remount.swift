import ACLFileSystem
import ACLFormats
import Authorization
import Glibc
import LinuxSystem
import ToolSupport

/// `mount -o remount,…`: what a living mount can change, in the kernel and in the daemon.
enum Remount {
    static func perform(_ request: MountRequest) throws(MountFailure) -> Int32 {
        guard let entry = MountTable.entry(at: request.mountpoint), entry.type == "fuse.aclfs" else {
            throw MountFailure(status: MountExit.failed, message: "\(request.mountpoint) is not an aclfs mount")
        }
        if request.fake { return 0 }
        let options = request.options
        let isReadOnly = options.volume.isReadOnly
        // The option's default is not a wish to lower it.
        let level = options.volume.securelevel > 0 ? ",securelevel=\(options.volume.securelevel)" : ""
        // Whoever is stricter goes first, so that between the two nothing is written that neither allows.
        guard isReadOnly else {
            try setKernel(options, at: request.mountpoint)
            _ = try setDaemon("rw" + level, entry)
            return 0
        }
        let before = try setDaemon("ro" + level, entry)
        do throws(MountFailure) { try setKernel(options, at: request.mountpoint) } catch {
            // EBUSY while files are open for writing: then nothing changes. A raised securelevel stays.
            if before == "rw" { _ = try? setDaemon("rw", entry) }
            throw error
        }
        return 0
    }

    private static func setKernel(_ options: MountOptions, at mountpoint: String) throws(MountFailure) {
        var flags = MountFlag.remount
        if options.volume.isReadOnly { flags |= MountFlag.readOnly }
        if options.noSuid { flags |= MountFlag.noSetID }
        if options.noDev { flags |= MountFlag.noDevices }
        if options.noExec { flags |= MountFlag.noExec }
        if options.noAtime { flags |= MountFlag.noAccessTime }
        do {
            try Syscall.mount(source: nil, target: mountpoint, type: nil, flags: flags, data: nil)
        } catch {
            throw MountFailure(status: MountExit.failed, message: "cannot remount \(mountpoint): \(error)")
        }
    }

    /// - Returns: `ro` or `rw`, as it was.
    private static func setDaemon(_ options: String, _ entry: MountEntry) throws(MountFailure) -> String? {
        do throws(ControlError) {
            let client = try ControlClient(device: entry.device, owner: entry.userID ?? 0)
            return try client.ask("remount", [.init("options", .string(options))])["was"]?.string
        } catch {
            throw MountFailure(status: MountExit.failed, message: "cannot remount \(entry.path): \(error.message)")
        }
    }
}
