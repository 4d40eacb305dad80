import ACLFormats
import ArgumentParser
import LinuxSystem
import Mounting
import ToolSupport

/// `aclfs fstab-line [-o OPTIONS] [--automount] SOURCE MOUNTPOINT`: the line of fstab for a mount.
struct FstabLine: ParsedCommand, ListedCommand {
    static let summary = "the line of /etc/fstab for a mount"
    static let example = "fstab-line /srv/back/share /srv/share"
    static let configuration = CommandConfiguration(
        commandName: "aclfs fstab-line", abstract: "The line of /etc/fstab for a mount.",
        usage: "aclfs fstab-line [-o OPTIONS] [--automount] SOURCE MOUNTPOINT")

    @Option(name: [.customShort("o", allowingJoined: true), .customLong("options")], help: "As for aclfs mount.") var options: [String] = []
    @Flag(help: "systemd mounts it when a program enters it.") var automount = false
    @Argument(help: ArgumentHelp(valueName: "SOURCE")) var source: String
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: String

    /// - Returns: the exit status: 0, or 2 if `aclfs mount` would refuse the words.
    func perform() -> Int32 {
        do throws(MountFailure) {
            printLine(try line())
            return 0
        } catch {
            printError("aclfs: \(error.message)")
            return 2
        }
    }

    private func line() throws(MountFailure) -> String {
        let request = try MountRequest.command(options.flatMap { ["-o", $0] } + ["--", source, mountpoint])
        if let obstacle = request.obstacleInFstab { throw Self.refusal(obstacle) }
        for word in IgnoredRulesWarning.words(in: request.options) {
            printError("aclfs: warning: with \(word) \(IgnoredRulesWarning.meaning(of: word))")
        }
        let from = try Self.place(source, role: "source")
        let to = try Self.place(mountpoint, role: "mount point")
        var words = options.isEmpty ? [] : [options.joined(separator: ",")]
        if !options.contains(where: { $0.split(separator: ",").contains("nofail") }) { words.append("nofail") }
        // Of a source inside the mount point, the mount would wait for itself.
        if !MountPath.isInside(from, to), let word = Self.waiting(for: from) { words.append(word) }
        if automount { words += ["noauto", "x-systemd.automount"] }
        if SharedFileSystem.holds(from) { words.append("_netdev") }
        return [from, to, "aclfs", words.joined(separator: ",")].map(Self.escaped).joined(separator: "  ") + "  0 0"
    }

    /// The word by which systemd waits for the file system of a source. In quotes mount(8) takes commas and blanks for a part of it, and
    /// systemd blanks; for systemd a comma needs a backslash as well.
    /// - Returns: nil, with a warning, if the word cannot name the source.
    private static func waiting(for source: String) -> String? {
        if source.utf8.contains(where: { [0x22, 0x27, 0x5C, 0x0A].contains($0) }) {
            printError(
                "aclfs: warning: x-systemd.requires-mounts-for= cannot name \(escapedName(source.utf8)), so systemd does not wait for its "
                    + "file system; add x-systemd.requires-mounts-for= with the mount point of that file system")
            return nil
        }
        let path = source.split(separator: ",", omittingEmptySubsequences: false).joined(separator: "\\,")
        return "x-systemd.requires-mounts-for=" + (path.utf8.contains { [0x20, 0x09, 0x2C].contains($0) } ? "\"\(path)\"" : path)
    }

    private static func refusal(_ message: String) -> MountFailure { MountFailure(status: 2, message: message) }

    /// The real path; that of a directory which does not exist yet, as it is written.
    private static func place(_ path: String, role: String) throws(MountFailure) -> String {
        if let real = try? MountPath.resolved(path, role: role) { return real }
        guard path.hasPrefix("/") else {
            throw refusal("\(role) \(path): there is no such directory; name one, or its absolute path")
        }
        return path
    }

    /// A field as fstab(5) has it: blanks and backslashes as octal numbers.
    static func escaped(_ field: String) -> String {
        var text: [UInt8] = []
        for byte in field.utf8 {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x5C:
                text += Array("\\0".utf8) + [0x30 + (byte >> 3 & 7), 0x30 + (byte & 7)]
                if byte == 0x5C { text.replaceSubrange((text.count - 3)..., with: Array("134".utf8)) }
            default: text.append(byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
