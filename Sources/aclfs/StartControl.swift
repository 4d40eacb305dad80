import ACLFileSystem
import ACLFormats
import FuseSession
import Glibc
import LinuxSystem
import Synchronization
import ToolSupport

/// What the kernel agreed to, known once it has introduced itself.
final class NegotiatedPaths: Sendable {
    private let agreed = Mutex<Negotiated?>(nil)

    func set(_ negotiated: Negotiated) { agreed.withLock { $0 = negotiated } }

    /// Which ways run now, for `aclfs status`.
    var members: [JSON.Member] {
        guard let agreed = agreed.withLock({ $0 }) else { return [] }
        return [
            .init("protocol", .string("\(agreed.kernelMajor).\(agreed.kernelMinor)")), .init("transport", .string("dev")),
            .init("passthrough", .bool(agreed.passthrough)),
            .init("max_write", .integer(Int64(agreed.maxWrite))),
            .init("parallel_directory_operations", .bool(agreed.parallelDirectoryOperations)),
            .init("statx", .bool(agreed.statx)), .init("killpriv_v2", .bool(agreed.killPriv2)),
            .init("epoch", .bool(agreed.epoch)),
        ]
    }
}

extension PreparedMount {
    /// A mount without its socket serves all the same; the reason is said.
    func startControl(_ fileSystem: FileSystem, _ source: String, _ negotiated: NegotiatedPaths) -> ControlServer? {
        // From the mount table: to stat the mount would be to wait for ourselves.
        guard let entry = MountTable.entry(at: mountpoint), entry.type == "fuse.aclfs" else {
            printError("aclfs: \(mountpoint): not found among the mounts; no control socket")
            return nil
        }
        do throws(Errno) {
            // The directory and the socket are root's; the threads that answer are not to be.
            let directory = try FileSystemUser.asRoot { () throws(Errno) in try ControlPlace.prepareDirectory() }
            let facts = ControlServer.MountFacts(
                source: source, mountpoint: mountpoint, version: Usage.version, paths: { negotiated.members })
            let path = "\(directory)/\(ControlPlace.name(device: entry.device))"
            let server = try FileSystemUser.asRoot { () throws(Errno) in
                try ControlServer(fileSystem, at: path, owner: geteuid(), facts: facts)
            }
            try server.start()
            return server
        } catch {
            printError("aclfs: no control socket: \(error); explain, status and remount will not work")
            return nil
        }
    }
}
