import Glibc
import LinuxSystem

/// The settings of the system that forbid namespaces. Messages name each setting, so that an administrator can change it.
enum NamespaceSettings {
    private struct Setting: Sendable {
        var path: String
        /// Whether a value forbids what `aclfs sandbox run` needs, to a user other than root too.
        var forbids: @Sendable (Int, _ isRoot: Bool) -> Bool
        /// Whether the setting alone is proof that namespaces are refused.
        var isFinal: Bool
        var remedy: String
    }

    private static let settings: [Setting] =
        ["user", "mnt", "pid", "ipc"].map { kind in
            Setting(
                path: "user/max_\(kind)_namespaces", forbids: { value, _ in value == 0 }, isFinal: true,
                remedy: kind == "mnt" ? "it must not be 0; inside aclfs sandbox run it is 0" : "it must not be 0")
        } + [
            Setting(
                path: "kernel/unprivileged_userns_clone", forbids: { value, isRoot in value == 0 && !isRoot }, isFinal: true,
                remedy: "it must be 1 for users other than root"),
            Setting(
                path: "kernel/apparmor_restrict_unprivileged_userns", forbids: { value, isRoot in value != 0 && !isRoot },
                isFinal: false,
                remedy: "it must be 0 for users other than root, or an AppArmor profile must allow userns to aclfs"),
        ]

    private static func inForce() -> [(name: String, setting: Setting, value: Int)] {
        settings.compactMap { setting in
            guard let text = try? Syscall.readAll(path: "/proc/sys/\(setting.path)"),
                let value = Int(String(decoding: text.prefix { $0 != 0x0A }, as: UTF8.self)),
                setting.forbids(value, geteuid() == 0)
            else { return nil }
            return (String(setting.path.map { $0 == "/" ? "." : $0 }), setting, value)
        }
    }

    /// Fails early if a setting forbids the namespaces.
    /// - Throws: the setting and its remedy.
    static func check() throws(SandboxRunFailure) {
        guard isInOwnProcessNamespace else {
            throw SandboxRunFailure(
                "children of this process get another process namespace than its own, and the kernel then allows no further one: with "
                    + "unshare(1) add --fork to --pid")
        }
        guard let found = inForce().first(where: { $0.setting.isFinal }) else { return }
        throw SandboxRunFailure(
            "this system forbids the namespaces that a sandbox needs: \(found.name)=\(found.value) (\(found.setting.remedy))")
    }

    /// Whether children of this process share its process namespace: only then the kernel allows a new one. The link
    /// `pid_for_children` is unreadable before the first child, and differs afterwards, if they do not.
    private static var isInOwnProcessNamespace: Bool {
        func handle(_ name: String) -> [UInt8]? { try? Syscall.readlinkat(Syscall.workingDirectory, "/proc/self/ns/\(name)") }
        guard let own = handle("pid"), let directory = try? Syscall.open("/proc/self/ns", OpenFlag.readOnly | OpenFlag.directory),
            // Linux before 4.12 has no such link.
            let names = try? Syscall.names(directory.rawValue), names.contains(Array("pid_for_children".utf8))
        else { return true }
        return handle("pid_for_children") == own
    }

    /// - Parameters:
    ///   - doing: the step that failed.
    ///   - error: its errno.
    /// - Returns: the failure with the setting that explains it.
    static func failure(_ doing: String, _ error: Errno) -> SandboxRunFailure {
        let found = inForce().map { "\($0.name)=\($0.value) (\($0.setting.remedy))" }
        let reason: String
        if !found.isEmpty {
            reason = "this system forbids it: " + found.joined(separator: ", ")
        } else if error == .nospc {
            reason = "too many namespaces are in use (sysctl user.max_*_namespaces) or nested (32 levels at most)"
        } else {
            reason =
                "no setting that aclfs knows forbids it. It is not possible in a changed root directory (chroot); in a container the "
                + "seccomp filter and the AppArmor or SELinux profile must allow user namespaces, and mounts in them"
        }
        return SandboxRunFailure("\(doing): \(error); \(reason)")
    }
}
