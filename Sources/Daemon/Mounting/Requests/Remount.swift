import ControlProtocol
import Glibc
import LinuxSystem
import MountOptions
import ToolSupport

/// `mount -o remount,…`: changes a live mount in the kernel and in the daemon.
///
/// mount(8) calls the helper with all options of fstab if the mount is listed there, else with those of the mount table. Options that
/// are not among them stay.
package enum Remount {
    /// - Returns: the exit status.
    /// - Throws: the change is refused; nothing has changed.
    package static func perform(_ request: MountRequest) throws(MountFailure) -> Int32 {
        let mountpoint = try MountPath.resolved(request.mountpoint, role: "mount point")
        guard let entry = MountTable.entry(at: mountpoint), entry.type == "fuse.aclfs" else {
            throw failure("\(request.mountpoint) is not an aclfs mount")
        }
        let before = KernelMountFlags(entry)
        var after = before
        for word in request.options.given { after.apply(word) }
        // The daemon decides about device nodes by the options of the first mount.
        if let word = after.refusedWord(before: before) {
            throw failure("'\(word)' cannot change while mounted; unmount and mount again")
        }
        // If fstab has no line, mount(8) passes the options that the kernel lists for the mount. They are in force already.
        let listed = (try? MountOptionText.split(entry.superOptions.joined(separator: ","))) ?? []
        let words = request.options.given.filter { word in
            switch OptionTable.remountRule(of: word) {
            case .kernel, .kernelSetsOnly, .nothing: false
            case .fixed: !listed.contains(word)
            case .daemon, .kernelAndDaemon: true
            }
        }
        let change = Change(mountpoint: mountpoint, entry: entry, words: words)
        // All that can be refused is refused before anything changes.
        try change.tellDaemon(checkOnly: true)
        if request.fake { return 0 }
        if before == after {
            try change.tellDaemon()
        } else if after.isReadOnly {
            // The kernel first: it refuses while a file is open for writing (EBUSY), and then nothing has changed.
            try change.tellKernel(after)
            try change.tellDaemon()
        } else {
            try change.tellDaemon()
            do throws(MountFailure) { try change.tellKernel(after) } catch {
                try? Change(
                    mountpoint: mountpoint, entry: entry,
                    words: [
                        before.isReadOnly ? "ro" : "rw", before.forbidsExecution ? "noexec" : "exec",
                    ]
                ).tellDaemon()
                throw error
            }
        }
        return 0
    }

    fileprivate static func failure(_ message: String) -> MountFailure {
        MountFailure(status: MountExit.failed, message: message)
    }
}

/// The two parts of a remount: the kernel's and the daemon's.
private struct Change {
    let mountpoint: String
    let entry: MountEntry
    let words: [String]

    func tellKernel(_ flags: KernelMountFlags) throws(MountFailure) {
        do {
            try Syscall.mount(source: nil, target: mountpoint, type: nil, flags: flags.forRemount, data: nil)
        } catch {
            let hint =
                switch error {
                case .busy: "; files are open for writing"
                case .perm: "; only root may change the kernel's flags of a mount: unmount and mount again"
                default: ""
                }
            throw Remount.failure("cannot remount \(mountpoint): \(error)\(hint)")
        }
    }

    func tellDaemon(checkOnly: Bool = false) throws(MountFailure) {
        do throws(ControlError) {
            let client = try ControlClient(device: entry.device, owner: entry.userID ?? 0)
            _ = try client.ask(RemountMessage(options: MountOptionText.join(words), isCheck: checkOnly))
        } catch { throw Remount.failure("cannot remount \(mountpoint): \(error.message)") }
    }
}
