import ACLFormats
import Glibc
import LinuxSystem
import Mounting
import ToolSupport

/// A directory on which is to be mounted.
enum MountpointChecks {
    static func all(_ mountpoint: String) -> [Finding] {
        let path: String
        do throws(MountFailure) { path = try MountPath.resolved(mountpoint, role: "mount point") } catch {
            return [.unresolved(mountpoint, role: "mount point", error, missing: "install -d \(escapedName(mountpoint.utf8))")]
        }
        let shown = escapedName(path.utf8)
        // A new mount replaces it; the checks of mounts name it.
        if MountTable.entry(at: path)?.type == "fuse.aclfs", MountServer.isDead(path) { return [] }
        do throws(PlaceObstacle) {
            try MountPlace.refuseDead(path)
            _ = try MountPlace.open(path, .mountpoint)
            try MountPlace.refuseUsed(path)
            if let obstacle = MountPlace.helperRule(path) { throw obstacle }
        } catch {
            let remedy = error.remedy ?? "name another directory"
            return [.problem(shown, escapedText(error.state), do: escapedText(remedy))]
        }
        return [.fine(shown, "can be mounted on")]
    }
}
