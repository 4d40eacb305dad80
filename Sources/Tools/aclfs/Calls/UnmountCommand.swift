import Mounting
import ToolSupport

/// `aclfs unmount [-f] MOUNTPOINT`.
enum UnmountCommand {
    static func run(_ words: [[UInt8]]) -> Int32 {
        UnmountArguments.run(words, wrongUse: MountExit.wrongUse) { arguments in
            do throws(MountFailure) {
                if arguments.isForced {
                    try ForcedUnmount.perform(arguments.mountpoint)
                } else {
                    try OrdinaryUnmount.perform(arguments.mountpoint)
                }
                return 0
            } catch { return MountCommand.report(error) }
        }
    }
}
