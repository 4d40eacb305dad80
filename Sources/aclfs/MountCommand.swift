import ACLFileSystem
import BackingStore
import FuseSession
import Glibc
import LinuxSystem
import Synchronization

/// mount.aclfs and mount.fuse.aclfs.
enum MountHelper {
    static func run(_ arguments: [String]) -> Int32 {
        do throws(MountFailure) {
            return try MountCommand.perform(MountRequest.helper(arguments))
        } catch { return MountCommand.report(error) }
    }
}

/// `aclfs mount`: returns when the mount answers, or says why there is none.
enum MountCommand {
    static func run(_ arguments: [String]) -> Int32 {
        do throws(MountFailure) {
            return try perform(MountRequest.command(arguments))
        } catch { return report(error) }
    }

    static func report(_ failure: MountFailure) -> Int32 {
        printError("aclfs: \(failure.message)")
        return failure.status
    }

    static func perform(_ request: MountRequest) throws(MountFailure) -> Int32 {
        if request.options.isRemount { return try Remount.perform(request) }
        let mount = try PreparedMount(request)
        if request.fake { return 0 }
        if request.foreground { return try mount.serve(request, readiness: nil) }
        switch try system("cannot start in the background", { () throws(Errno) in try Daemon.detach() }) {
        case .command(.ready): return 0
        case .command(.failed(let status, let message)):
            throw MountFailure(status: Int32(status), message: message)
        case .command(.died):
            throw MountFailure(status: MountExit.systemError, message: "the daemon died before it could serve")
        case .daemon(let readiness):
            do throws(MountFailure) {
                return try mount.serve(request, readiness: Mutex(readiness).withLock { _ in nil })
            } catch { return error.status }
        }
    }
}
