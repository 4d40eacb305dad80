import BackingStore
import Glibc
import LinuxSystem
import MountOptions
import Mounting
import ToolSupport

extension PreparedMount {
    /// - Returns: the type of the source's file system in the mount table, if other hosts may change it unseen by this kernel
    ///   (docs/reference/mounting.md "Several hosts"); nil if only this host can.
    static func sharedType(of tree: BackingTree) -> String? {
        guard let shared = tree.sharedFileSystem(of: tree.root) else { return nil }
        guard let root = try? tree.descriptor(of: tree.root), let id = try? Syscall.statx(root.rawValue).mountID else { return shared.name }
        return MountTable.entries().first { $0.id == id }?.type ?? shared.name
    }

    /// Refuses `cache=exclusive` on such a file system: its promise cannot hold there.
    static func refuseExclusive(_ options: MountOptions, _ tree: BackingTree, _ source: String) throws(MountFailure) {
        guard options.cache == .exclusive, let type = sharedType(of: tree) else { return }
        throw MountFailure(
            status: MountExit.failed,
            message: "source \(source): cache=exclusive is refused on \(type), which other hosts or programs may change without "
                + "this kernel learning of it; use cache=strict, or cache=auto if names and attributes may be a second old")
    }

    /// Prints and logs what differs on such a source, and the settings that make it exact.
    func noteSharedSource(_ options: MountOptions) {
        guard let type = Self.sharedType(of: tree) else { return }
        let line =
            "\(source) lies on \(type), which other hosts may change: zerofill=write acts as allocate, records are changed "
            + "under a lock, cache=exclusive is refused, few backing files are kept open; another host's change takes effect at once with "
            + (options.cache == .strict || options.cache == .seconds(0) ? "" : "cache=strict here and ")
            + "\(Self.advice(for: type)) (docs/reference/mounting.md, \"Several hosts\")"
        printError("aclfs: \(line)")
        Journal.record(.info, line)
    }

    /// - Returns: the settings with which a client of this type never serves stale data, or that there are none.
    private static func advice(for type: String) -> String {
        switch type {
        case "fuse.glusterfs":
            "its mount options attribute-timeout=0,entry-timeout=0 and its volume options performance.stat-prefetch off and "
                + "performance.quick-read off"
        case "nfs", "nfs4": "its mount options noac,lookupcache=none"
        case "cifs", "smb3", "smbfs": "its mount options actimeo=0,cache=none"
        case "9p": "its mount option cache=none"
        case "virtiofs": "virtiofsd --cache=never"
        case "ceph", "fuse.ceph", "fuse.ceph-fuse", "ocfs2", "gfs2", "lustre", "gpfs":
            "no further setting, because its hosts keep each other up to date"
        case "afs", "coda": "nothing: no setting achieves it, because a file is sent only when it is closed"
        default: type.hasPrefix("fuse") ? "its entry and attribute timeouts at 0" : "its own caches off"
        }
    }
}
