import ACLFormats
import LinuxSystem

/// The `/proc` of a sandbox, of its own processes.
enum SandboxRunProc {
    static func mount() throws(SandboxRunFailure) {
        do throws(Errno) {
            try Syscall.mount(
                source: "proc", target: "/proc", type: "proc",
                flags: MountFlag.noSetID | MountFlag.noDevices | MountFlag.noExec | (try accessTimes()))
        } catch {
            let doing = "cannot mount a /proc of its own"
            guard error == .perm, let cause = hidden() else { throw NamespaceSettings.failure(doing, error) }
            throw SandboxRunFailure(
                "\(doing): \(error); \(cause), and from who has only a part of /proc the kernel keeps the rest: run it where /proc is "
                    + "whole (a container's is with systempaths=unconfined or unmask=ALL, as its engine has it)")
        }
    }

    private static let top = Array("/proc".utf8)

    /// The kernel gives a new /proc only to who keeps the times of access as the present one does.
    private static func accessTimes() throws(Errno) -> UInt64 {
        guard let proc = try MountInfo.ofThisProcess().last(where: { $0.path == top }) else { return 0 }
        let words = proc.options.split(separator: 0x2C)
        func has(_ word: String) -> Bool { words.contains { $0.elementsEqual(word.utf8) } }
        var flags = has("nodiratime") ? MountFlag.noDirectoryAccessTime : 0
        if has("noatime") { flags |= MountFlag.noAccessTime } else if !has("relatime") { flags |= MountFlag.strictAccessTime }
        return flags
    }

    /// Directories that the kernel made to be mounted on, behind which there is nothing.
    private static let empty = ["/proc/sys/fs/binfmt_misc", "/proc/fs/nfsd", "/proc/openprom"].map { Array($0.utf8) }

    /// What the kernel looks for: something mounted over a part of it, or a mount of it that only reads.
    private static func hidden() -> String? {
        guard let mounts = try? MountInfo.ofThisProcess() else { return nil }
        let covers = mounts.filter { $0.path.starts(with: top + [0x2F]) && !empty.contains($0.path) }
        if !covers.isEmpty {
            let named = covers.prefix(3).map { escapedName($0.path) }.joined(separator: ", ")
            return "/proc is partly covered, by what is mounted on \(named)" + (covers.count > 3 ? " and \(covers.count - 3) more" : "")
        }
        guard let proc = mounts.last(where: { $0.path == top }) else { return "/proc is not mounted here" }
        return proc.options.split(separator: 0x2C).contains { $0.elementsEqual("ro".utf8) } ? "/proc is mounted read-only" : nil
    }
}
