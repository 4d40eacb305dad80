import ACLFormats
import Glibc
import LinuxSystem
import ToolSupport

/// `aclfs doctor [--json] [SOURCE [MOUNTPOINT]]`: what this system offers a mount, what stands in its way, and what to do. It changes
/// nothing.
package enum Doctor {
    /// - Parameters:
    ///   - source: a directory to be mounted; nil: only the system is looked at.
    ///   - mountpoint: where; nil: not over the source.
    /// - Returns: the exit status: 0, or 1 if there is a problem.
    package static func perform(source: String?, mountpoint: String?, json: Bool) -> Int32 {
        var findings = SystemChecks.all() + MountChecks.all()
        if let source { findings += SourceChecks.all(source, mountpoint) }
        if let mountpoint { findings += MountpointChecks.all(mountpoint) }
        if json {
            printJSON(.array(findings.map(\.json)))
        } else {
            for line in findings.flatMap(\.lines) { printLine(line) }
        }
        return findings.contains { $0.level == .problem } ? 1 : 0
    }
}
