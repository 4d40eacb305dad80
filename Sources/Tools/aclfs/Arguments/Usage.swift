/// The commands, each with a summary and an example.
enum Usage {
    static let commands: [(name: String, summary: String, example: String)] = [
        ("mount", "serve a directory", "mount /srv/back/share /srv/share"),
        ("unmount", "end a mount, also a dead one", "unmount /srv/share"),
        ("status", "options in force, kernel features, decisions", "status /srv/share"),
        ("doctor", "what stands in the way of a mount", "doctor /srv/back/share /srv/share"),
        ("fstab-line", "the line of /etc/fstab for a mount", "fstab-line /srv/back/share /srv/share"),
        ("conformance", "whether a mount behaves as documented", "conformance /srv/share"),
        ("chmod", "change modes and lists of entries", "chmod +a \"bob allow read\" plans"),
        ("ls", "list with entries, flags and attributes", "ls -le plans"),
        ("chflags", "change BSD file flags", "chflags uchg plans"),
        ("owner", "show and change owners; a group may own", "owner --group staff plans"),
        ("backup", "exclude objects from backups", "backup exclude build"),
        ("purge", "remove old files from caches of containers", "purge --older-than 3d /srv/share"),
        ("acl", "export, import, compare and copy metadata of trees", "acl export --json /srv/share"),
        ("propagate", "inheritable entries of a directory to all below", "propagate /srv/share/folder"),
        ("inherit", "inheritable entries of its directory to an object", "inherit folder/plans"),
        ("explicit", "make inherited entries explicit", "explicit -R folder"),
        ("strip", "remove entries of a tree", "strip -R --inherited folder"),
        ("copy-mode", "owner, group and mode to all below", "copy-mode --keep-execute folder"),
        ("preset", "ready-made folders", "preset show team-share"),
        ("volume", "settings of a backing directory for each mount", "volume /srv/back/share noacl"),
        ("restore", "undo a command that wrote an undo file", "restore /srv/back/import.undo"),
        ("explain", "whether an operation is allowed, and why", "explain --as bob open-write plans"),
        ("effective", "every right on an object, and its rule", "effective --as bob plans"),
        ("report", "a page: who may do what where", "report -o share.html /srv/share"),
        ("sandbox", "profiles, grants, confined commands", "sandbox list"),
    ]

    static var text: String {
        var lines = ["usage: aclfs COMMAND ...", "       aclfs SOURCE MOUNTPOINT [-o OPTIONS]", "", "Commands, each with an example:", ""]
        for command in commands {
            lines.append("  \(command.name)\(String(repeating: " ", count: 13 - command.name.count))\(command.summary)")
            lines.append("\(String(repeating: " ", count: 15))aclfs \(command.example)")
        }
        lines += [
            "  help         what one command takes, with its words and examples", "               aclfs help chmod",
            "  version      the version of aclfs", "", "The manual pages are aclfs(1) and mount.aclfs(8).",
        ]
        return lines.joined(separator: "\n")
    }

    static let mount = """
        usage: aclfs mount [-f] [-d] [-o OPTIONS] SOURCE MOUNTPOINT

          -f          stays in the foreground
          -d          shows requests
          -o OPTIONS  options with commas between; mount.aclfs(8) has all

        Examples:

          aclfs mount /srv/back/share /srv/share
          aclfs mount -o ro,audit=denied,audit_log=/var/log/share /srv/back/share /mnt
        """

    static func isCommand(_ word: String?) -> Bool { commands.contains { $0.name == word } }

    static func suggestion(for word: String) -> String {
        let near = commands.map(\.name).filter { $0.hasPrefix(word.prefix(2)) }
        return near.first.map { ", did you mean '\($0)'?" } ?? ""
    }
}
