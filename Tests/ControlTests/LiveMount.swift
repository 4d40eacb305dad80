import ACLFormats
import Foundation
import LinuxSystem

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
    static let program = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" }
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
        // Never remove through a mount that would not go.
        if !mounts.contains(" \(share) ") { try? FileManager.default.removeItem(atPath: top) }
    }

    private var mounts: String { (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? "" }

    func file(_ name: String, mode: mode_t, acl: String? = nil, flags: String? = nil) throws {
        let path = "\(share)/\(name)"
        _ = FileManager.default.createFile(atPath: path, contents: Data("x\n".utf8))
        chmod(path, mode)
        for (attribute, value) in [("system.aclfs.acl", acl), ("system.aclfs.flags", flags)] {
            guard let value else { continue }
            try Array(value.utf8).withUnsafeBytes { bytes in
                try Syscall.setxattr(.path(path), attribute, bytes, flags: 0)
            }
        }
    }

    var socketPath: String {
        let lines = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        let line = lines.split(separator: "\n").last { $0.contains(" \(share) ") } ?? ""
        let device = line.split(separator: " ").dropFirst(2).first ?? ""
        return "/run/aclfs/\(device.replacingOccurrences(of: ":", with: "-")).sock"
    }

    func aclfs(_ arguments: String..., asNobody: Bool = false) -> Outcome {
        let prefix = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        return Self.run((asNobody ? prefix : []) + [Self.program] + arguments)
    }

    static func run(_ words: [String]) -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        // A file rather than a pipe: the daemon must not keep us waiting for its end.
        let path = "/tmp/aclfs-control-output.\(UUID().uuidString)"
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        defer { unlink(path) }
        guard let output = FileHandle(forWritingAtPath: path) else { return Outcome(status: -1, output: "no output") }
        process.standardOutput = output
        process.standardError = output
        do { try process.run() } catch { return Outcome(status: -1, output: "\(error)") }
        process.waitUntilExit()
        let text = (try? Data(contentsOf: URL(fileURLWithPath: path))).map { String(decoding: $0, as: UTF8.self) }
        return Outcome(status: process.terminationStatus, output: text ?? "")
    }
}
