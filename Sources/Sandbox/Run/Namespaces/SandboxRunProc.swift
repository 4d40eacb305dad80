import ACLFormats
import LinuxSystem

/// The `/proc` of a sandbox, which shows only its own processes.
enum SandboxRunProc {
    /// - Throws: the kernel refuses the mount, with the cause if it is known.
    static func mount() throws(SandboxRunFailure) {
        do throws(Errno) {
            try Syscall.mount(
                source: "proc", target: "/proc", type: "proc",
                flags: MountFlag.noSetID | MountFlag.noDevices | MountFlag.noExec | (try accessTimes()))
        } catch {
            let doing = "cannot mount a new /proc"
            guard error == .perm, let cause = hidden() else { throw NamespaceSettings.failure(doing, error) }
            throw SandboxRunFailure(
                "\(doing): \(error); \(cause), and the kernel allows a new one only where the whole /proc is visible and writable "
                    + "(in a container with --security-opt systempaths=unconfined of Docker, or unmask=ALL of Podman)")
        }
    }

    private static let top = Array("/proc".utf8)

    /// The flags of access times of the present /proc: the kernel refuses a new /proc with others.
    private static func accessTimes() throws(Errno) -> UInt64 {
        guard let proc = try MountInfo.ofThisProcess().last(where: { $0.path == top }) else { return 0 }
        let words = proc.options.split(separator: 0x2C)
        func has(_ word: String) -> Bool { words.contains { $0.elementsEqual(word.utf8) } }
        var flags = has("nodiratime") ? MountFlag.noDirectoryAccessTime : 0
        if has("noatime") { flags |= MountFlag.noAccessTime } else if !has("relatime") { flags |= MountFlag.strictAccessTime }
        return flags
    }

    /// Mount points that the kernel made itself: an overmount there hides nothing.
    private static let empty = ["/proc/sys/fs/binfmt_misc", "/proc/fs/nfsd", "/proc/openprom"].map { Array($0.utf8) }

    /// - Returns: why the kernel refuses a new /proc: a mount over a part of the present one, or a read-only one. nil: neither.
    private static func hidden() -> String? {
        guard let mounts = try? MountInfo.ofThisProcess() else { return nil }
        let overmounts = mounts.filter { $0.path.starts(with: top + [0x2F]) && !empty.contains($0.path) }
        if !overmounts.isEmpty {
            let named = overmounts.prefix(3).map { escapedName($0.path) }.joined(separator: ", ")
            let others = overmounts.count > 3 ? " and \(overmounts.count - 3) more" : ""
            return "a part of /proc is hidden by mounts on \(named)\(others)"
        }
        guard let proc = mounts.last(where: { $0.path == top }) else { return "/proc is not mounted here" }
        return proc.options.split(separator: 0x2C).contains { $0.elementsEqual("ro".utf8) } ? "/proc is mounted read-only" : nil
    }
}
