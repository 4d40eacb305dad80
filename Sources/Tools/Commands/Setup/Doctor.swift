import ACLFormats
import ArgumentParser
import ToolSupport

/// `aclfs doctor [--json] [SOURCE [MOUNTPOINT]]`: what this system offers a mount, what stands in its way, and what to do. It changes
/// nothing.
struct Doctor: ParsedCommand, ListedCommand {
    static let summary = "what stands in the way of a mount"
    static let example = "doctor /srv/back/share /srv/share"
    static let configuration = CommandConfiguration(
        commandName: "aclfs doctor", abstract: "Checks what a mount needs, and says what to do.",
        usage: "aclfs doctor [--json] [SOURCE [MOUNTPOINT]]")

    @Flag(help: "JSON instead of text.") var json = false
    @Argument(help: ArgumentHelp(valueName: "SOURCE")) var source: String?
    @Argument(help: ArgumentHelp(valueName: "MOUNTPOINT")) var mountpoint: String?

    /// - Returns: the exit status: 0, or 1 if there is a problem.
    func perform() -> Int32 {
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
