import Commands

/// The commands, and what is said of all of them.
enum Usage {
    static var commands: [any ListedCommand.Type] { CommandList.all(Mount.self) }

    static var text: String {
        var lines = ["usage: aclfs COMMAND ...", "       aclfs SOURCE MOUNTPOINT [-o OPTIONS]", "", "Commands, each with an example:", ""]
        for command in commands {
            lines.append("  \(command.word)\(String(repeating: " ", count: 13 - command.word.count))\(command.summary)")
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

    static func command(_ word: String) -> (any ListedCommand.Type)? {
        let word = word == "umount" ? "unmount" : word
        return commands.first { $0.word == word }
    }

    static func suggestion(for word: String) -> String {
        let near = commands.map { $0.word }.filter { $0.hasPrefix(word.prefix(2)) }
        return near.first.map { ", did you mean '\($0)'?" } ?? ""
    }
}

private enum Mount: ListedCommand {
    static let name = "aclfs mount"
    static let summary = "serve a directory"
    static let example = "mount /srv/back/share /srv/share"
    static func run(_ words: [[UInt8]]) -> Int32 { MountCommand.run(words.map { String(decoding: $0, as: UTF8.self) }) }
}
