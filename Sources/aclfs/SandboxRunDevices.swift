import Glibc
import LinuxSystem

/// Devices in /dev alone, and few of them where the caller could open a disk there: the backing directory lies on one.
enum SandboxRunDevices {
    private static let kept = ["null", "zero", "full", "random", "urandom", "tty"]

    /// Character devices through which a disk or the memory is reached: SCSI and NVMe commands, flash, raw memory.
    private static let alsoDisks = ["sg", "ng", "nvme", "mmcblk", "mtd", "ubi", "mem", "kmem", "port"]

    /// Root, and members of a group such as `disk`.
    private static var canOpenDisks: Bool { geteuid() == 0 || canOpenDisks(below: "/dev", depth: 0) }

    /// What a directory does not show counts as a disk.
    private static func canOpenDisks(below directory: String, depth: Int) -> Bool {
        guard let handle = try? Syscall.open(directory, OpenFlag.readOnly | OpenFlag.directory | OpenFlag.noFollow) else {
            return false
        }
        guard let names = try? Syscall.names(handle.rawValue) else { return true }
        return names.contains { name in
            let text = String(decoding: name, as: UTF8.self)
            guard let type = try? Syscall.statxAt(handle.rawValue, text).type else { return false }
            if type == FileType.directory {
                return depth < 3 && !others.contains(text) && canOpenDisks(below: "\(directory)/\(text)", depth: depth + 1)
            }
            return isDisk(type, text, directory) && [R_OK, W_OK].contains { faccessat(handle.rawValue, text, $0, AT_EACCESS) == 0 }
        }
    }

    /// Terminals and the memory of programs.
    private static let others = ["pts", "shm", "mqueue", "hugepages"]

    private static func isDisk(_ type: UInt32, _ name: String, _ directory: String) -> Bool {
        if type == FileType.blockDevice { return true }
        if type != FileType.characterDevice { return false }
        // Behind the letters stand a number or what else tells several apart.
        return directory == "/dev/bsg" || alsoDisks.contains(name.prefix { $0.isLetter }.lowercased())
    }

    /// Elsewhere the same disks may be named again, as for a changed root: there no device can be opened, whoever may read it.
    static func close() throws(Errno) {
        if canOpenDisks { try replace() } else { try keep() }
    }

    /// A copy of /dev that alone keeps its devices, with the terminals and the single devices that are mounted in it: containers have
    /// all of theirs so. What else is mounted there is for files.
    private static func keep() throws(Errno) {
        let place = try Syscall.open("/dev", OpenFlag.path | OpenFlag.directory)
        let copy = try Syscall.cloneTree(place.rawValue)
        try forbidAll()
        try Syscall.forbidDevices(on: copy.rawValue)
        // Where one may not, there were none before.
        try? Syscall.allowDevices(on: copy.rawValue)
        try Syscall.attach(mount: copy.rawValue, onto: place.rawValue)
        var mounts = SandboxMounts()
        try mounts.read()
        let top = Array("/dev".utf8)
        for mount in mounts.table where mount.path.isInside(top) && mount.path != top {
            // Nobody who serves what lies on the way is asked.
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
            let spot = try Syscall.open("/dev/\(name)", OpenFlag.path)
            try Syscall.attach(mount: mount.rawValue, onto: spot.rawValue)
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
