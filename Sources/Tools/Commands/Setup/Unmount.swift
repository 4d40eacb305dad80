import ArgumentParser
import Mounting
import ToolSupport

/// `aclfs unmount [-f] MOUNTPOINT`.
struct Unmount: ParsedCommand, ListedCommand {
    static let summary = "end a mount, even a dead one"
    static let example = "unmount /srv/share"
    static let wrongUse = MountExit.wrongUse
    static let configuration = CommandConfiguration(
        commandName: "aclfs unmount", abstract: "Ends a mount, even a dead one; returns when its daemon has closed the source.",
        usage: "aclfs unmount [-f] MOUNTPOINT")

    @Flag(
        name: .customShort("f"),
        help: "Even if the daemon hangs or files are open: all requests fail, and the mount is gone from here at once.")
    var isForced = false
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: String

    func perform() -> Int32 {
        do throws(MountFailure) {
            if isForced {
                try ForcedUnmount.perform(mountpoint)
            } else {
                try OrdinaryUnmount.perform(mountpoint)
            }
            return 0
        } catch { return error.report() }
    }
}
