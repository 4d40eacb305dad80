import ACLFormats
import Foundation
import LinuxSystem
import TestSupport

/// What a command said and how it ended.
struct Outcome {
    var status: Int32
    var output: String
}

/// A mount of its own, made by the built program; gone when `end` was called.
final class LiveMount {
    static let unavailable: String? = {
        if geteuid() != 0 { return "needs root, to mount for several users" }
        if access("/dev/fuse", F_OK) != 0 { return "there is no /dev/fuse" }
        if !FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") { return "setpriv (util-linux) is missing" }
        return nil
    }()

    /// Beside the test bundle.
    static let program =
        Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
        .map { $0.deletingLastPathComponent().appendingPathComponent("aclfs").path }
        ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("aclfs").path

    let top: String
    var share: String { "\(top)/share" }

    init() throws {
        var template = Array("/tmp/aclfs-control.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        top = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(top, 0o755)
        mkdir("\(top)/back", 0o700)
        mkdir("\(top)/back/share", 0o755)
        mkdir("\(top)/share", 0o755)
        let outcome = Self.run([Self.program, "mount", "\(top)/back/share", "\(top)/share"])
        guard outcome.status == 0 else {
            throw NSError(domain: "mount", code: Int(outcome.status), userInfo: [NSLocalizedDescriptionKey: outcome.output])
        }
    }

    func end() {
        _ = Self.run([Self.program, "unmount", share])
        // Somebody's look at all mounts may keep it busy for a moment.
        if mounts.contains(" \(share) ") { _ = Self.run(["/bin/umount", "-l", share]) }
        // Never remove through a mount that would not go.
        if !mounts.contains(" \(share) ") { try? FileManager.default.removeItem(atPath: top) }
    }

    private var mounts: String { ProcFile.text("/proc/self/mounts") }

    func file(_ name: String, mode: mode_t, acl: String? = nil, flags: String? = nil) throws {
        let path = "\(share)/\(name)"
        _ = FileManager.default.createFile(atPath: path, contents: Data("x\n".utf8))
        chmod(path, mode)
        for (attribute, value) in [("system.aclfs.acl", acl), ("system.aclfs.flags", flags)] {
            guard let value else { continue }
            try Array(value.utf8).withUnsafeBytes { bytes in
                try path.withCString { try Syscall.setxattr(.path($0), attribute, bytes, flags: 0) }
            }
        }
    }

    var socketPath: String {
        let lines = ProcFile.text("/proc/self/mountinfo")
        let line = lines.split(separator: "\n").last { $0.contains(" \(share) ") } ?? ""
        let device = line.split(separator: " ").dropFirst(2).first ?? ""
        return "/run/aclfs/\(device.replacingOccurrences(of: ":", with: "-")).sock"
    }

    func aclfs(_ arguments: String..., asNobody: Bool = false) -> Outcome {
        let prefix = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        return Self.run((asNobody ? prefix : []) + [Self.program] + arguments)
    }

    static func run(_ words: [String]) -> Outcome {
        // Not Foundation's Process: it waits for the daemon too, which inherits what it watches. A file rather
        // than a pipe for the same reason.
        let path = "/tmp/aclfs-control-output.\(UUID().uuidString)"
        defer { unlink(path) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for word in argv { free(word) } }
        var pid: pid_t = 0
        guard posix_spawn(&pid, words[0], &actions, nil, &argv, environ) == 0 else {
            return Outcome(status: -1, output: "\(words[0]) cannot be started")
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        let text = (try? Data(contentsOf: URL(fileURLWithPath: path))).map { String(decoding: $0, as: UTF8.self) }
        return Outcome(status: status & 0x7F == 0 ? status >> 8 & 0xFF : -1, output: text ?? "")
    }
}
