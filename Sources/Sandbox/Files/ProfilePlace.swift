import ACLFormats
import ControlProtocol
import LinuxSystem
import SandboxPolicy

/// The directories of installed profiles: the administrator's before those of the package.
public enum ProfilePlace {
    public static let directories = ["/etc/aclfs/sandbox", "/usr/local/share/aclfs/sandbox", "/usr/share/aclfs/sandbox"]
    static let ending = ".entitlements"

    /// An installed profile.
    public struct Installed: Sendable, Hashable {
        public var name: String
        public var path: String
    }

    /// Each name once, with its file.
    public static func installed(in directories: [String] = directories) -> [Installed] {
        var found: [String: String] = [:]
        for directory in directories {
            guard let handle = try? Syscall.open(directory, OpenFlag.readOnly | OpenFlag.directory),
                let names = try? Syscall.names(handle.rawValue)
            else { continue }
            for name in names {
                guard let text = String(validating: name, as: UTF8.self), text.hasSuffix(ending) else { continue }
                let word = String(text.dropLast(ending.utf8.count))
                if isName(word), found[word] == nil { found[word] = "\(directory)/\(text)" }
            }
        }
        return found.sorted { $0.key < $1.key }.map { Installed(name: $0.key, path: $0.value) }
    }

    static func isName(_ text: String) -> Bool {
        !text.isEmpty && !text.hasPrefix(".") && text.utf8.count < 200 && !text.utf8.contains { $0 == 0x2F || $0 < 0x20 }
    }

    /// The file of `sandbox=`: a path if it contains a slash, else an installed name.
    /// - Throws: `unknownName` if no profile of this name is installed.
    public static func path(
        of profile: String, in directories: [String] = directories
    ) throws(ProfileProblem) -> String {
        if profile.contains("/") { return profile }
        let installed = installed(in: directories)
        if let found = installed.first(where: { $0.name == profile }) { return found.path }
        let stem = profile.hasSuffix(ending) ? String(profile.dropLast(ending.utf8.count)) : profile
        let near = nearestWord(to: stem.utf8, in: installed.map { $0.name })
        let hint = near.map { "; did you mean '\($0)'?" } ?? ""
        throw ProfileProblem(
            .unknownName,
            "no profile '\(escapedName(profile.utf8))' in \(directories.joined(separator: " or "))\(hint) "
                + "(a file is named with a slash: ./\(escapedName(stem.utf8))\(ending))")
    }
}

extension SandboxProfile {
    /// The limit of its part in the control message, in bytes; the rest is the mount's.
    public static let longestMessage = 40 << 10

    /// Reads and compiles the profile of `sandbox=` and its companions.
    /// - Parameters:
    ///   - profile: a path or an installed name.
    ///   - bundle: nil for a profile without a container.
    ///   - home: names from the mount's root.
    ///   - layout: of the container.
    ///   - directories: of installed profiles.
    ///   - parse: reads the property list (`ProfileFile.entitlements`).
    public static func read(
        _ profile: String, bundle: String?, home: [[UInt8]], layout: ContainerLayout,
        in directories: [String] = ProfilePlace.directories, by parse: ProfileFile.Parser
    ) throws(ProfileProblem) -> SandboxProfile {
        let path = try ProfilePlace.path(of: profile, in: directories)
        var compiled = SandboxProfile(
            name: profile, entitlements: try ProfileFile.entitlements(path, by: parse), bundle: bundle, home: home, layout: layout)
        compiled.file = wholePath(of: path)
        // A profile must compile to a table.
        do { _ = try compiled.table() } catch {
            throw ProfileProblem(.malformed, "profile \(escapedName(path.utf8)): \(error)")
        }
        guard compiled.messageSize <= longestMessage else {
            throw ProfileProblem(
                .malformed, "profile \(escapedName(path.utf8)): its keys and values are longer than \(longestMessage / 1024) KiB")
        }
        return compiled
    }

    /// The absolute path of the file, which does not depend on the working directory.
    private static func wholePath(of path: String) -> String? {
        guard let file = try? Syscall.open(path, OpenFlag.path) else { return nil }
        let descriptor = file.rawValue
        guard let bytes = try? Syscall.readlinkat(descriptor, "/proc/self/fd/\(descriptor)") else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
