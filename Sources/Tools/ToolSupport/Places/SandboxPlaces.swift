import ACLFormats
import ControlProtocol
import LinuxSystem

extension SandboxPlaces.Place {
    /// The place of an open object, by the mount table of this process.
    /// - Throws: `noent` if the object has no path here.
    package init(of object: Int32) throws(Errno) {
        let id = try Syscall.mountID(of: object)
        let path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(object)")
        guard let mount = try MountInfo.ofThisProcess().first(where: { $0.id == id }), path.isInside(mount.path) else {
            throw .noent
        }
        let below = path.pathNames.dropFirst(mount.path.pathNames.count)
        self.init(device: mount.device, names: mount.shownPath.pathNames + below, isSource: false)
    }
}

extension [UInt8] {
    /// Whether the path is the directory or lies below it.
    package func isInside(_ directory: [UInt8]) -> Bool { pathNames.starts(with: directory.pathNames) }
}
