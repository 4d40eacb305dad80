import Glibc
import LinuxSystem

/// A /dev of few devices, where the caller could open a disk: the backing directory lies on one.
enum SandboxRunDevices {
    private static let kept = ["null", "zero", "full", "random", "urandom", "tty"]

    /// Character devices through which a disk or the memory is reached: SCSI and NVMe commands, raw memory.
    private static let alsoDisks = ["sg", "ng", "bsg", "mem", "kmem", "port"]

    /// Root, and members of a group such as `disk`.
    static var canOpenDisks: Bool {
        for directory in ["/dev", "/dev/mapper", "/dev/bsg"] {
            guard let handle = try? Syscall.open(directory, OpenFlag.readOnly | OpenFlag.directory) else { continue }
            guard let names = try? Syscall.names(handle.rawValue) else { return true }
            for name in names {
                let isOpen = try? name.withCString { (name) throws(Errno) in
                    try isDisk(Syscall.statxAt(handle.rawValue, name).type, String(cString: name), directory)
                        && (faccessat(handle.rawValue, name, R_OK, AT_EACCESS) == 0
                            || faccessat(handle.rawValue, name, W_OK, AT_EACCESS) == 0)
                }
                if isOpen == true { return true }
            }
        }
        return geteuid() == 0
    }

    private static func isDisk(_ type: UInt32, _ name: String, _ directory: String) -> Bool {
        if type == FileType.blockDevice { return true }
        if type != FileType.characterDevice { return false }
        // Behind the letters stand a number or what else tells several apart.
        return directory == "/dev/bsg" || alsoDisks.contains(name.prefix { $0.isLetter }.lowercased())
    }

    /// Elsewhere the same disks may be named again, as for a changed root: there no device can be opened.
    static func replace() throws(Errno) {
        var nodes: [(name: String, mount: SharedDescriptor)] = []
        for name in kept {
            guard let node = try? Syscall.open("/dev/\(name)", OpenFlag.path | OpenFlag.noFollow) else { continue }
            nodes.append((name, SharedDescriptor(try Syscall.cloneMount(node.rawValue))))
        }
        try Syscall.forbidDevices()
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
