import ACLFormats
import ArgumentParser
import ControlProtocol
import LinuxSystem
import ProfileFiles
import SandboxPolicy
import SandboxProfiles
import ToolSupport

/// `aclfs sandbox list`: the installed profiles, and the mounts that one confines.
struct SandboxList: ParsedCommand {
    static let configuration = CommandConfiguration(
        commandName: "aclfs sandbox list", abstract: "The installed profiles, and the mounts that a profile confines.",
        usage: "aclfs sandbox list [--json]")

    @Flag(help: "JSON instead of text.") var json = false

    /// - Returns: the exit status: 0; 1 if a profile is not valid, or a mount did not answer.
    func perform() -> Int32 {
        var profiles: [JSON] = []
        var isGood = true
        for installed in ProfilePlace.installed() {
            var members: [JSON.Member] = [.init("name", .string(installed.name)), .init("path", .string(installed.path))]
            var remark = ""
            do {
                let warnings = try EntitlementsFile.read(installed.path).warnings
                if !warnings.isEmpty { remark = "  (\(warnings.count == 1 ? "1 warning" : "\(warnings.count) warnings"))" }
                members.append(.init("good", .bool(true)))
                members.append(.init("warnings", .array(warnings.map { .string($0.description) })))
            } catch {
                isGood = false
                members += [.init("good", .bool(false)), .init("error", .string(error.description))]
                printError("aclfs: \(error)")
                remark = "  (not valid)"
            }
            profiles.append(.object(members))
            if !json { printLine("\(escapedName(installed.name.utf8))  \(installed.path)\(remark)") }
        }
        let (views, isWhole) = Self.views()
        if json {
            let told = views.map { JSON.object([JSON.path($0.mountpoint.utf8, name: "mountpoint")] + $0.profile.members) }
            printJSON(.object([.init("profiles", .array(profiles)), .init("views", .array(told))]))
        } else {
            for view in views { printLine("\(escapedName(view.mountpoint.utf8)): \(Status.sandbox(view.profile))") }
        }
        return isGood && isWhole ? 0 : 1
    }

    /// - Returns: the confined mounts, and whether every mount answered that the caller may ask.
    private static func views() -> ([(mountpoint: String, profile: ProfileSummary)], isWhole: Bool) {
        var round = MountRound()
        var views: [(mountpoint: String, profile: ProfileSummary)] = []
        var isWhole = true
        for mount in MountRound.mounts() {
            do throws(ControlError) {
                let status = try round.ask(mount) { (daemon) throws(ControlError) in try daemon.ask(StatusMessage()) }
                guard let profile = status.sandbox else { continue }
                views.append((mount.path, profile))
            } catch {
                // The caller may not ask about most mounts of other users.
                if error.code == Errno.perm.name { continue }
                printError("aclfs: \(escapedName(mount.path.utf8)): \(error.message)")
                isWhole = false
            }
        }
        return (views, isWhole)
    }
}
