/// The commands with a summary of their arguments.
enum Usage {
    static let commands: [(name: String, summary: String)] = [
        ("mount", "[-f] [-d] [-o OPTIONS] SOURCE MOUNTPOINT   serve a directory"),
        ("chmod", "[-fhv] [-R [-H | -L | -P]] MODE|ENTRY-VERB … FILE …   change modes and ACL entries (+a -a =a# -N …)"),
        ("ls", "[-leO@dRan] FILE …   list with ACL entries, flags and attributes"),
        ("chflags", "[-fhvx] [-R [-H | -L | -P]] FLAGS FILE …   change BSD file flags"),
        ("backup", "exclude|include|status|list [--json] [-0] [--format=FORMAT] PATH …   exclude objects from backups"),
        ("sandbox", "check [--json] [--bundle ID] [--home PATH] [--layout macos|ios] PROFILE [PATH …]   what a profile allows at a path"),
        ("sandbox", "list [--json]   installed profiles, and the mounts that a profile confines"),
        (
            "sandbox",
            "run PROFILE [--bundle ID] [--home PATH] [--layout macos|ios] [--mount MOUNTPOINT] -- COMMAND …   run a confined command"
        ),
        ("sandbox", "grant add|list|remove …   further paths that an application may reach"),
        ("unmount", "[-f] MOUNTPOINT   end a mount, also a dead one; -f: even if its daemon hangs"),
        ("status", "[--json] [MOUNTPOINT]   options in force, features of the kernel in use, numbers of decisions"),
        ("doctor", "[--json] [SOURCE [MOUNTPOINT]]   what stands in the way of a mount, and what to do"),
        ("fstab-line", "[-o OPTIONS] [--automount] SOURCE MOUNTPOINT   the line of /etc/fstab for a mount"),
        ("explain", "[--json] [--as USER[:GROUP,…]] OPERATION PATH [PATH2]   whether an operation is allowed, and why"),
        ("explain", "[--json] --who-can OPERATION PATH   the users to whom it is allowed"),
        ("explain", "[--json] --last [N] [MOUNTPOINT]   the last denials"),
        ("effective", "[--json] [--as USER[:GROUP,…]] PATH   every right, granted or denied, and by which rule"),
    ]

    static var text: String {
        var lines = ["usage: aclfs COMMAND …", "       aclfs SOURCE MOUNTPOINT [-o OPTIONS]", ""]
        lines += commands.map { "  \($0.name) \($0.summary)" }
        lines += ["  help [COMMAND]   this list, or what one command takes", "  version   the version of aclfs"]
        return lines.joined(separator: "\n")
    }

    static func isCommand(_ word: String?) -> Bool { commands.contains { $0.name == word } }

    static func suggestion(for word: String) -> String {
        let near = commands.map(\.name).filter { $0.hasPrefix(word.prefix(2)) }
        return near.first.map { ", did you mean '\($0)'?" } ?? ""
    }
}
