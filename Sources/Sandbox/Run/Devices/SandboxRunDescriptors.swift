import ACLFormats
import ControlProtocol
import Glibc
import LinuxSystem
import ToolSupport

/// The descriptors that the command inherits: 0, 1 and 2. None of them may lead to the share.
enum SandboxRunDescriptors {
    private static let names = ["standard input", "standard output", "standard error"]

    /// - Throws: one of them is a directory, a device that could do harm, or a file of a hidden path.
    static func check(_ places: SandboxPlaces) throws(SandboxRunFailure) {
        for number in 0...2 {
            guard let reason = try reason(against: Int32(number), places) else { continue }
            throw SandboxRunFailure(
                "\(names[number]) is \(reason), through which the command could leave the sandbox; give it a pipe instead "
                    + (number == 0 ? "(cat FILE | …, or </dev/null)" : "(… | cat >FILE)"))
        }
    }

    /// Whether a character device is a terminal or a memory device without contents. Others take commands for disks or the kernel.
    private static func isHarmless(_ descriptor: Int32, _ status: FileStatus) -> Bool {
        if isatty(descriptor) == 1 { return true }
        // null, zero, full, random, urandom
        return [3, 5, 7, 8, 9].contains { status.rdev == 1 << 32 | $0 }
    }

    private static func reason(against descriptor: Int32, _ places: SandboxPlaces) throws(SandboxRunFailure) -> String? {
        let status: FileStatus
        do throws(Errno) { status = try Syscall.statx(descriptor, flags: AtFlag.dontSync) } catch {
            // A closed descriptor leads nowhere.
            if error == .badf { return nil }
            throw SandboxRunFailure("cannot examine \(names[Int(descriptor)])", error)
        }
        switch status.type {
        case FileType.directory: return "a directory"
        case FileType.blockDevice: return "a block device"
        case FileType.characterDevice where !isHarmless(descriptor, status): return "a device that is not a terminal"
        case FileType.regular: break
        case FileType.symlink: return "a symbolic link"
        // A pipe or socket leads to the process at its other end, not to a file.
        case FileType.fifo, FileType.socket, FileType.characterDevice:
            return places.mounts.contains { $0.device == status.device } ? "on the share" : nil
        default: break
        }
        if places.mounts.contains(where: { $0.device == status.device }) { return "a file on the share" }
        do throws(Errno) {
            let table = try MountInfo.ofThisProcess()
            let path = try Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/fd/\(descriptor)")
            // Some objects without a path hold other files, such as an io_uring instance its registered files.
            if status.type != FileType.regular || path.first != 0x2F {
                return "a kernel object (\(String(decoding: path, as: UTF8.self)))"
            }
            let mount = table.first { $0.id == status.mountID }
            let isControl: Bool
            if let mount {
                // The mount table answers without a request to the server.
                isControl = mount.isOfControls || mount.type.elementsEqual("nsfs".utf8)
            } else {
                let type = try Syscall.fileSystemType(descriptor)
                isControl = FileSystemType.ofControls[type] != nil || type == FileSystemType.nsfs
            }
            if isControl { return "a kernel file that shows or controls processes or mounts outside the sandbox" }
            // An object that was renamed out of what its mount shows has no path: the kernel says /.
            if let mount, !path.pathNames.isEmpty, path.isInside(mount.path) {
                let names = mount.shownPath.pathNames + path.pathNames.dropFirst(mount.path.pathNames.count)
                func isIn(_ place: SandboxPlaces.Place) -> Bool { place.device == mount.device && names.starts(with: place.names) }
                if places.stores.contains(where: { !$0.isClosed && isIn($0) }) { return "a file of the directory of grants" }
                return places.backing.contains(where: isIn) ? "a file in the backing directory" : nil
            }
            // A file of a mount in another namespace has no path here. It is refused if its file system may hold the backing directory
            // or grants.
            let type = try Syscall.fileSystemType(descriptor)
            let isNear = (places.backing + places.stores.filter { !$0.isClosed }).contains { place in
                guard let shown = table.first(where: { $0.device == place.device }) else {
                    return place.device == status.device || FileSystemType.ofManyDevices[type] != nil
                }
                return shown.mayHold(device: status.device, type: type)
            }
            return isNear ? "a file that has no path here and may be on the file system of the backing directory or of grants" : nil
        } catch { throw SandboxRunFailure("cannot examine \(names[Int(descriptor)])", error) }
    }
}
