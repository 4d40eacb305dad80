import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// Restricts device nodes to /dev. If the caller could open a disk there, /dev gets a small fixed set: the backing directory lies on a
/// disk.
struct SandboxRunDevices {
    private static let kept = ["null", "zero", "full", "random", "urandom", "tty"]

    private let mayOpenDisks: Bool

    /// Call before the namespaces exist: inside, other owners may look like the caller.
    init() {
        // Membership in a group such as `disk` counts. A directory that cannot be searched counts as holding a disk.
        mayOpenDisks = geteuid() == 0 || ((try? Self.findDisk()) ?? true)
    }

    /// Whether there is a node of a disk in /dev that the caller may open, or could after a chmod.
    private static func findDisk() throws(Errno) -> Bool {
        let drivers = try DiskDrivers()
        if try isInDev(drivers) { return true }
        return try isMountedBelow(drivers)
    }

    /// Whether a node of a disk is mounted alone below /dev. Such a node can still be opened after `keep`.
    private static func isMountedBelow(_ drivers: DiskDrivers) throws(Errno) -> Bool {
        var mounts = SandboxMounts()
        try mounts.read()
        for mount in mounts.table where mount.path.isInside(Array("/dev".utf8)) {
            let way = try? SandboxWalk(mount, [], among: &mounts, uid: geteuid())
            if case .closed(let directory)? = way?.end, try mayBeOpened(directory) { return true }
            guard case .visible(let node)? = way?.end, try !SandboxWalk.isDirectory(node.rawValue) else { continue }
            let name = String(decoding: mount.path.pathNames.last ?? [], as: UTF8.self)
            if mayOpenDisk(node, try Syscall.statx(node.rawValue, flags: AtFlag.dontSync), name, in: "", drivers) { return true }
        }
        return false
    }

    /// Whether /dev itself has a node of a disk. A closed directory counts as one unless root owns it. Mounts below /dev do not
    /// count: they become `nodev`.
    private static func isInDev(_ drivers: DiskDrivers) throws(Errno) -> Bool {
        let top = SharedDescriptor(try Syscall.open("/dev", OpenFlag.path | OpenFlag.directory))
        let mount = try Syscall.mountID(of: top.rawValue)
        var found = [(directory: top, name: "dev")]
        while let (directory, directoryName) = found.popLast() {
            guard faccessat(directory.rawValue, ".", X_OK, AT_EACCESS) == 0 else {
                if try mayBeOpened(directory) { return true }
                continue
            }
            let listed = try Syscall.reopen(directory.rawValue, OpenFlag.readOnly | OpenFlag.directory)
            for name in try Syscall.names(listed.rawValue) {
                let text = String(decoding: name, as: UTF8.self)
                let status: FileStatus
                do throws(Errno) {
                    status = try Syscall.statxAt(directory.rawValue, text, flags: AtFlag.symlinkNoFollow | AtFlag.dontSync)
                } catch {
                    if error == .noent { continue }
                    throw error
                }
                if status.isDirectory {
                    guard status.mountID == mount else { continue }
                    let inner = try Syscall.openat(
                        directory.rawValue, text, OpenFlag.path | OpenFlag.directory | OpenFlag.noFollow)
                    found.append((SharedDescriptor(inner), text))
                } else if let node = try? Syscall.openat(directory.rawValue, text, OpenFlag.path | OpenFlag.noFollow),
                    mayOpenDisk(SharedDescriptor(node), status, text, in: directoryName, drivers)
                {
                    return true
                }
            }
        }
        return false
    }

    /// Whether a user other than root owns a closed directory and could open it meanwhile.
    private static func mayBeOpened(_ directory: SharedDescriptor) throws(Errno) -> Bool {
        try Syscall.statx(directory.rawValue, flags: AtFlag.dontSync).uid != 0
    }

    private static func mayOpenDisk(
        _ node: SharedDescriptor, _ status: FileStatus, _ name: String, in directory: String, _ drivers: DiskDrivers
    ) -> Bool {
        guard drivers.isDisk(status, name, in: directory) else { return false }
        if status.uid == geteuid() { return true }
        return [R_OK, W_OK].contains { faccessat(node.rawValue, "", $0, AT_EACCESS | AtFlag.emptyPath) == 0 }
    }

    /// Makes all mounts outside /dev `nodev`: another root directory may hold nodes of the same disks.
    /// - Throws: mount_setattr(2) or a mount failed.
    func restrict() throws(Errno) {
        if mayOpenDisks { try Self.replace() } else { try Self.keep() }
    }

    /// Mounts a copy of /dev that alone keeps its devices, along with terminals and single nodes mounted in it: containers have their
    /// devices so. Other mounts below /dev become `nodev`.
    private static func keep() throws(Errno) {
        let place = try Syscall.open("/dev", OpenFlag.path | OpenFlag.directory)
        let copy = try Syscall.cloneTree(place.rawValue)
        try forbidAll()
        try Syscall.forbidDevices(on: copy.rawValue)
        // The kernel refuses it if /dev was `nodev` already.
        try? Syscall.allowDevices(on: copy.rawValue)
        try Syscall.attach(mount: copy.rawValue, onto: place.rawValue)
        var mounts = SandboxMounts()
        try mounts.read()
        let top = Array("/dev".utf8)
        for mount in mounts.table where mount.path.isInside(top) && mount.path != top {
            // The walk sends no request to the servers of other users.
            let way = try? SandboxWalk(mount, [], among: &mounts, uid: geteuid())
            guard case .visible(let found)? = way?.end else { continue }
            let isDirectory = try SandboxWalk.isDirectory(found.rawValue)
            if !isDirectory || mount.type.elementsEqual("devpts".utf8) { try? Syscall.allowDevices(on: found.rawValue) }
        }
    }

    private static func forbidAll() throws(Errno) {
        let top = try Syscall.open("/", OpenFlag.path | OpenFlag.directory)
        try Syscall.forbidDevices(on: top.rawValue)
    }

    private static func replace() throws(Errno) {
        var nodes: [(name: String, mount: SharedDescriptor)] = []
        for name in kept {
            guard let node = try? Syscall.open("/dev/\(name)", OpenFlag.path | OpenFlag.noFollow) else { continue }
            nodes.append((name, SharedDescriptor(try Syscall.cloneMount(node.rawValue))))
        }
        try forbidAll()
        let place = try Syscall.open("/dev", OpenFlag.path | OpenFlag.directory)
        let fresh = try Syscall.smallMount(isWritable: true)
        try Syscall.attach(mount: fresh.rawValue, onto: place.rawValue)
        for (name, mount) in nodes {
            try Syscall.mknodat(Syscall.workingDirectory, "/dev/\(name)", mode: FileType.regular | 0o666)
            let file = try Syscall.open("/dev/\(name)", OpenFlag.path)
            try Syscall.attach(mount: mount.rawValue, onto: file.rawValue)
        }
        try Syscall.mkdirat(Syscall.workingDirectory, "/dev/pts", mode: 0o755)
        try Syscall.mkdirat(Syscall.workingDirectory, "/dev/shm", mode: 0o755)
        try Syscall.mount(
            source: "devpts", target: "/dev/pts", type: "devpts", flags: MountFlag.noSetID | MountFlag.noExec,
            data: "newinstance,ptmxmode=0666,mode=620")
        try Syscall.mount(
            source: "tmpfs", target: "/dev/shm", type: "tmpfs", flags: MountFlag.noSetID | MountFlag.noDevices,
            data: "mode=1777")
        for (name, target) in [
            ("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] { try Syscall.symlinkat(target: target, Syscall.workingDirectory, "/dev/\(name)") }
    }
}

/// Which device nodes lead to a disk, to flash or to the memory of the machine.
struct DiskDrivers {
    /// Character devices of fixed numbers: SCSI commands, raw flash, raw disks.
    private static let fixed: Set<UInt64> = [21, 90, 162]
    /// Drivers whose numbers the kernel chooses when it loads them: NVMe and SCSI commands, flash, persistent memory.
    private static let named = ["bsg", "nvme", "ubi", "rpmb", "mtd", "sg", "raw", "dax"]
    /// Names of nodes whose driver has another name.
    private static let prefixes = ["sg", "ng", "nvme", "mmcblk", "mtd", "ubi", "mem", "kmem", "port"]

    private var majors = fixed

    /// - Throws: `/proc/devices` cannot be read.
    init() throws(Errno) {
        let text = try Syscall.readAll(path: "/proc/devices")
        for line in text.split(separator: 0x0A) {
            if line.starts(with: "Block".utf8) { break }
            let words = line.split(separator: 0x20)
            guard words.count == 2, let major = UInt64(String(decoding: words[0], as: UTF8.self)) else { continue }
            if Self.named.contains(where: { words[1].starts(with: $0.utf8) }) { majors.insert(major) }
        }
    }

    /// Whether a node leads to a disk, to flash, or to the memory of the machine.
    /// - Parameters:
    ///   - name: of the node.
    ///   - directory: the last name of the directory that holds it.
    func isDisk(_ status: FileStatus, _ name: String, in directory: String) -> Bool {
        if status.type == FileType.blockDevice { return true }
        if status.type != FileType.characterDevice { return false }
        let (major, minor) = (status.rdev >> 32, status.rdev & 0xFFFF_FFFF)
        // mem, kmem and port.
        if major == 1, [1, 2, 4].contains(minor) { return true }
        if majors.contains(major) || directory == "bsg" { return true }
        // A number or another suffix follows the letters.
        return Self.prefixes.contains(name.prefix { $0.isLetter }.lowercased())
    }
}
