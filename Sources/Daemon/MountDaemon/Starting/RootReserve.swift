import LinuxSystem
import Mounting
import ToolSupport

/// Root's reserve on the backing directory's file system.
enum RootReserve {
    /// Restricts the fsuid of root's daemon, so that it neither spends root's reserve nor ignores quotas (docs/decisions/0005-space.md).
    /// Call before any thread starts: threads inherit it.
    /// - Parameters:
    ///   - directory: a descriptor of the backing directory.
    ///   - source: its path, for messages.
    /// - Throws: a capability is missing.
    static func drop(in directory: Int32, _ source: String) throws(MountFailure) {
        var isUnmapped = false
        do throws(Errno) {
            try Syscall.dropCapability(Capability.systemResource)
            // A network server judges by the id of the request, and has reserves of its own.
            if FileSystemUser.isJudgedByServer(fileSystemType: try Syscall.fileSystemType(directory)) { return }
            for id in FileSystemUser.candidates where try restrict(to: id, in: directory) { return }
            isUnmapped = refusesOwner(in: directory)
        } catch {
            let needed = [("CAP_SETPCAP", Capability.setCapabilities), ("CAP_SETUID", Capability.setUserID)]
            let missing = needed.filter { !Syscall.hasCapability($0.1) }.map(\.0)
            let reason = missing.isEmpty ? "" : ", and this process has no \(missing.joined(separator: " and no "))"
            throw MountFailure(
                status: MountExit.systemError,
                message:
                    "cannot protect the space reserved for root on \(source): \(error); the daemon needs CAP_SETPCAP and "
                    + "CAP_SETUID\(reason)")
        }
        if isUnmapped {
            throw MountFailure(
                status: MountExit.failed,
                message:
                    "\(source) lies on an id-mapped mount without user 0 and group 0, so that root can create nothing there; map them too "
                    + "(mount -o X-mount.idmap), or name the directory of a mount that is not id-mapped")
        }
        guard FileSystemUser.rootIsTheHosts else { return }
        printError(
            "aclfs: warning: \(source): users can fill the space reserved for root, because there is no unused user id for the daemon "
                + "to act as (in a small user namespace or on an id-mapped mount)")
    }

    /// Whether this thread's own ids cannot own anything there.
    private static func refusesOwner(in directory: Int32) -> Bool {
        do throws(Errno) {
            _ = try Syscall.openat(directory, ".", OpenFlag.temporaryFile | OpenFlag.readWrite, mode: 0o600)
            return false
        } catch { return error == .overflow }
    }

    /// Acts as an id if it exists here and the backing directory accepts objects of it, which an id-mapped mount may not.
    /// - Returns: whether this thread acts as the id now.
    private static func restrict(to id: UInt32, in directory: Int32) throws(Errno) -> Bool {
        do throws(Errno) { try FileSystemUser.restrict(to: id) } catch {
            if error == .inval { return false }
            throw error
        }
        do throws(Errno) {
            _ = try Syscall.openat(directory, ".", OpenFlag.temporaryFile | OpenFlag.readWrite, mode: 0o600)
        } catch {
            // Another error, such as a full or read-only file system, is no reason against the id.
            if error == .overflow {
                FileSystemUser.unrestrict()
                return false
            }
        }
        return true
    }
}
