import ACLFormats
import SandboxPolicy

/// The profile that `sandbox=` names. The command that mounts reads it: a later change of the file has no effect on the mount.
package enum MountProfile {
    /// - Returns: the warnings of a profile as messages.
    package static func warnings(of profile: SandboxProfile) -> [String] {
        profile.entitlements.warnings.map { warning in
            "profile \(escapedName(profile.name.utf8)): \(escapedName(warning.description.utf8))"
        }
    }

    /// - Parameters:
    ///   - home: of `home=` or `--home`.
    ///   - mountpoints: an absolute home below one of them is taken as a path through the mount.
    /// - Returns: names from the top of the mount.
    package static func home(_ home: String, _ mountpoints: [String]) -> [[UInt8]] {
        func names(_ path: String) -> [[UInt8]] { path.utf8.split(separator: 0x2F).map { Array($0) } }
        let path = names(home)
        guard home.hasPrefix("/") else { return path }
        for mountpoint in mountpoints where mountpoint.hasPrefix("/") {
            let top = names(mountpoint)
            if !top.isEmpty, path.starts(with: top) { return Array(path.dropFirst(top.count)) }
        }
        return path
    }
}
