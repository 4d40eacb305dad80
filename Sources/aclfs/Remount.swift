import ACLFileSystem
import Authorization
import Glibc
import LinuxSystem

/// `mount -o remount,…`: the kernel's own switches of a living mount.
enum Remount {
    static func perform(_ request: MountRequest) throws(MountFailure) -> Int32 {
        guard let entry = MountTable.entry(at: request.mountpoint), entry.type == "fuse.aclfs" else {
            throw MountFailure(status: MountExit.failed, message: "\(request.mountpoint) is not an aclfs mount")
        }
        if request.fake { return 0 }
        let options = request.options
        var flags = MountFlag.remount
        if options.volume.isReadOnly { flags |= MountFlag.readOnly }
        if options.noSuid { flags |= MountFlag.noSetID }
        if options.noDev { flags |= MountFlag.noDevices }
        if options.noExec { flags |= MountFlag.noExec }
        if options.noAtime { flags |= MountFlag.noAccessTime }
        do {
            try Syscall.mount(source: nil, target: request.mountpoint, type: nil, flags: flags, data: nil)
        } catch {
            throw MountFailure(status: MountExit.failed, message: "cannot remount \(request.mountpoint): \(error)")
        }
        return 0
    }
}
