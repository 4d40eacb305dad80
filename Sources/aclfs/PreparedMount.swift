import ACLFileSystem
import BackingStore
import FuseSession
import Glibc
import LinuxSystem

/// Everything that can be refused before anything is mounted has been looked at.
struct PreparedMount {
    let source: String
    let mountpoint: String
    let tree: BackingTree

    init(_ request: MountRequest) throws(MountFailure) {
        source = try Self.resolved(request.source, role: "source")
        mountpoint = try Self.resolved(request.mountpoint, role: "mount point")
        guard access("/dev/fuse", F_OK) == 0 else {
            throw MountFailure(
                status: MountExit.systemError, message: "/dev/fuse does not exist; load the module fuse (modprobe fuse)")
        }
        try Self.refuseNesting(source: source)
        try Self.refuseOccupied(mountpoint)
        let directory = try Self.openDirectory(source, role: "source")
        let name = try Self.metadataName(request.options, directory.rawValue, source)
        if request.options.requirePrivateSource || geteuid() == 0 {
            try Self.checkReachability(source, refuse: request.options.requirePrivateSource)
        }
        do {
            tree = try BackingTree(
                directory: directory, metadataName: name, descriptorBudget: Self.descriptorBudget(),
                followsMounts: request.options.crossMounts)
        } catch { throw MountFailure(status: MountExit.systemError, message: "\(source): \(error)") }
    }

    private static func resolved(_ path: String, role: String) throws(MountFailure) -> String {
        guard let resolved = realpath(path, nil) else {
            if errno == ENOTCONN { return path }
            throw MountFailure(
                status: MountExit.failed, message: "\(role) \(path): \(Errno(rawValue: errno))")
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func openDirectory(_ path: String, role: String) throws(MountFailure) -> OwnedDescriptor {
        do { return try Syscall.open(path, OpenFlag.readOnly | OpenFlag.directory) } catch {
            throw MountFailure(status: MountExit.failed, message: "\(role) \(path): \(error)")
        }
    }

    /// An aclfs mount as source would judge twice and, for the daemon itself, never end.
    private static func refuseNesting(source: String) throws(MountFailure) {
        let covering = MountTable.entries().filter { source == $0.path || source.hasPrefix($0.path + "/") || $0.path == "/" }
        if let top = covering.max(by: { $0.path.utf8.count <= $1.path.utf8.count }), top.type == "fuse.aclfs" {
            throw MountFailure(
                status: MountExit.failed,
                message: "source \(source) lies in the aclfs mount \(top.path); name the directory that it serves (\(top.source))")
        }
    }

    /// A dead mount of our own type is taken away; a living one is in use.
    private static func refuseOccupied(_ mountpoint: String) throws(MountFailure) {
        guard let entry = MountTable.entry(at: mountpoint), entry.type == "fuse.aclfs" else {
            _ = try openDirectory(mountpoint, role: "mount point")
            return
        }
        var status = stat()
        if stat(mountpoint, &status) == 0 || errno != ENOTCONN {
            throw MountFailure(
                status: MountExit.failed, message: "mount point \(mountpoint) is in use: \(entry.source) is mounted there")
        }
        try? Mounting.unmount(mountpoint, lazily: true)
        _ = try openDirectory(mountpoint, role: "mount point")
    }

    private static func metadataName(
        _ options: MountOptions, _ directory: Int32, _ source: String
    ) throws(MountFailure) -> String {
        let isRoot = geteuid() == 0
        func refuse(_ message: String) -> MountFailure { MountFailure(status: MountExit.failed, message: message) }
        if options.metadata == .trusted, !isRoot {
            throw MountFailure(
                status: MountExit.wrongUse, message: "metadata=trusted needs root: only root can use trusted.* attributes; use metadata=user")
        }
        if options.metadata != .user, isRoot, BackingTree.supportsMetadata("trusted.aclfs", on: directory) {
            return "trusted.aclfs"
        }
        if options.metadata == .trusted { throw refuse("\(source): its file system keeps no trusted.* attributes") }
        guard BackingTree.supportsMetadata("user.aclfs", on: directory) else {
            throw refuse("\(source): its file system keeps no extended attributes, so there is no place for ACLs and flags")
        }
        printError("aclfs: \(source): metadata is kept in user.aclfs, which only files and directories can hold")
        return "user.aclfs"
    }

    /// Whoever reaches the source directly is not judged.
    private static func checkReachability(_ source: String, refuse: Bool) throws(MountFailure) {
        var path = source
        while true {
            var status = stat()
            guard stat(path, &status) == 0 else { return }
            if status.st_mode & 0o011 == 0 { return }
            guard path != "/" else { break }
            path = path.split(separator: "/").dropLast().map { "/" + $0 }.joined()
            if path.isEmpty { path = "/" }
        }
        let message = "source \(source) can be reached directly by other users, whom aclfs then does not judge; "
            + "keep it in a directory of mode 0700 (install -d -m 0700) or mount over it"
        if refuse { throw MountFailure(status: MountExit.failed, message: message) }
        printError("aclfs: warning: \(message)")
    }

    /// Half of what the process may hold open; the other half is for handles.
    private static func descriptorBudget() -> Int {
        do {
            let limit = try Syscall.descriptorLimit()
            try? Syscall.setDescriptorLimit(soft: limit.hard, hard: limit.hard)
            return Int(clamping: min(limit.hard / 2, 8192))
        } catch { return 256 }
    }
}
