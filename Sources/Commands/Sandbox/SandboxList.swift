import ACLFormats
import ControlProtocol
import LinuxSystem
import SandboxPolicy
import SandboxProfiles
import ToolSupport

/// `aclfs sandbox list`: the profiles that have a name, and the mounts that one confines. 1 if a profile is not good or a mount was not
/// heard.
package enum SandboxList {
    package static func perform(json: Bool) -> Int32 {
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
                remark = "  (not good)"
            }
            profiles.append(.object(members))
            if !json { line("\(escapedName(installed.name.utf8))  \(installed.path)\(remark)") }
        }
        let (views, isWhole) = views()
        if json {
            let told = views.map { JSON.object([JSON.path($0.mountpoint.utf8, name: "mountpoint")] + $0.profile.members) }
            printJSON(.object([.init("profiles", .array(profiles)), .init("views", .array(told))]))
        } else {
            for view in views { line("\(escapedName(view.mountpoint.utf8)): \(StatusReport.sandbox(view.profile))") }
        }
        return isGood && isWhole ? 0 : 1
    }

    /// - Returns: and whether every mount said what it is that the caller may ask.
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
                // Of somebody else's mount most may not ask.
                if error.code == Errno.perm.name { continue }
                printError("aclfs: \(escapedName(mount.path.utf8)): \(error.message)")
                isWhole = false
            }
        }
        return (views, isWhole)
    }

    private static func line(_ text: String) { printLine(text) }
}
