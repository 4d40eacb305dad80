import ACLFormats
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// A mount of its own, made by the built program; gone when `end` was called.
final class LiveMount {
    static let unavailable: String? = {
        if geteuid() != 0 { return "needs root, to mount for several users" }
        if access("/dev/fuse", F_OK) != 0 { return "there is no /dev/fuse" }
        if !FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") { return "setpriv (util-linux) is missing" }
        return nil
    }()

    static let program = BuiltProgram.path("aclfs")

    let top: String
    let share: String
    private var mounts: TestMounts?

    init() throws {
        let mounts = try TestMounts("control") { Issue.record(Comment(rawValue: $0)) }
        top = mounts.directory.path
        _ = mounts.directory.directory("back", mode: 0o700)
        let backing = mounts.directory.directory("back/share")
        share = mounts.directory.directory("share")
        try mounts.mount(backing, at: share, "")
        self.mounts = mounts
    }

    func end() { mounts = nil }

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

    func aclfs(_ arguments: String..., asNobody: Bool = false) -> CommandResult {
        let prefix = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        return Self.run((asNobody ? prefix : []) + [Self.program] + arguments)
    }

    /// As `Spawn.run`, with the output to the byte.
    static func run(_ words: [String]) -> CommandResult {
        (try? Spawn.run(words, isTrimmed: false)) ?? CommandResult(status: -1, output: "\(words[0]) cannot be started")
    }
}
