import MountDaemon
import Mounting
import ToolSupport

/// mount.aclfs and mount.fuse.aclfs.
enum MountHelper {
    static func run(_ arguments: [String]) -> Int32 {
        do throws(MountFailure) {
            return try MountStart.perform(MountRequest.helper(arguments))
        } catch { return MountCommand.report(error) }
    }
}

/// `aclfs mount`: returns when the mount answers, or prints why it failed.
enum MountCommand {
    static func run(_ arguments: [String]) -> Int32 {
        if arguments.contains("--help") || arguments.contains("-h") {
            printLines(Usage.mount)
            return 0
        }
        do throws(MountFailure) {
            return try MountStart.perform(MountRequest.command(arguments))
        } catch { return report(error) }
    }

    /// `aclfs SOURCE MOUNTPOINT`, without the word `mount`.
    static func runPlain(_ arguments: [String]) -> Int32 {
        do throws(MountFailure) {
            return try MountStart.perform(MountRequest.plain(arguments))
        } catch { return report(error) }
    }

    static func report(_ failure: MountFailure) -> Int32 {
        printError("aclfs: \(failure.message)")
        for line in failure.details { printError(line) }
        return failure.status
    }
}
