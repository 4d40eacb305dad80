import ACLFormats
import BackingStore
import ControlProtocol
import LinuxSystem
import MountOptions
import ToolSupport

extension SandboxPlaces {
    /// The places of a mount by the mount table of the daemon.
    /// - Parameters:
    ///   - mount: the share.
    ///   - tree: its backing tree.
    ///   - served: all mounts of this daemon.
    /// - Throws: the backing directory is not found in the table.
    init(of mount: AttachedMount, _ tree: BackingTree, among served: [(mount: AttachedMount, tree: BackingTree)])
        throws(MountFailure)
    {
        func failure(_ message: String) -> MountFailure {
            MountFailure(status: MountExit.systemError, message: "\(mount.source): \(message)")
        }
        let table: [MountInfo]
        let status: FileStatus
        let type: UInt64
        var path: [UInt8]
        do throws(Errno) {
            table = try MountInfo.ofThisProcess()
            let directory = try tree.descriptor(of: tree.root)
            status = try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync)
            type = try Syscall.fileSystemType(directory.rawValue)
            path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(directory.rawValue)")
        } catch { throw failure("\(error)") }
        var entry = table.first { $0.id == status.mountID }
        if entry == nil {
            // With nocrossmounts the daemon holds a detached copy of the mount, which is in no table.
            path = Array(mount.source.utf8)
            entry = table.filter { $0.mayHold(device: status.device, type: type) && path.isInside($0.path) }
                .max { $0.path.count < $1.path.count }
        }
        guard let entry, path.isInside(entry.path) else {
            throw failure("the backing directory is in no mount that the daemon sees, so the paths that a sandbox has to hide are unknown")
        }
        var backing = [
            Place(
                device: entry.device,
                names: entry.shownPath.pathNames + path.pathNames.dropFirst(entry.path.pathNames.count), isSource: true,
                inode: status.inode)
        ]
        var showsControls = entry.isOfControls
        // The table is in no order: a moved mount may come before its parent.
        var (below, rest): (Set<UInt64>, [MountInfo]) = ([entry.id], table)
        // Paths of aclfs mounts below it. Mounts on these are no part of the backing directory, except those on their very tops, which a
        // name of the backing directory leads to.
        var aclfsMounts: [UInt64: [UInt8]] = [:]
        while let index = rest.firstIndex(where: {
            (below.contains($0.parent) || aclfsMounts[$0.parent] == $0.path) && $0.path.isInside(path)
        }) {
            let mounted = rest.remove(at: index)
            if mounted.type.elementsEqual("fuse.aclfs".utf8) {
                if mounted.path.pathNames != path.pathNames { aclfsMounts[mounted.id] = mounted.path }
                continue
            }
            below.insert(mounted.id)
            if mounted.isOfControls, mount.options.crossMounts { showsControls = true }
            // A removed directory has no other path.
            if mounted.isRemoved { continue }
            backing.append(Place(device: mounted.device, names: mounted.shownPath.pathNames, isSource: false))
        }
        let mounts = served.compactMap { other in
            other.mount.deviceNumber.map { Mount(device: $0, isSame: other.tree.root.key == tree.root.key) }
        }
        self.init(backing: backing, mounts: mounts, showsControls: showsControls)
    }
}
