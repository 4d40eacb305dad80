/// Every command of the program, in the order of `aclfs --help`.
package enum CommandList {
    /// - Parameter mount: the command that serves a mount.
    package static func all(_ mount: any ListedCommand.Type) -> [any ListedCommand.Type] {
        [
            mount, Unmount.self, UpgradeMount.self, Status.self, Doctor.self, FstabLine.self, ConformanceCheck.self, Chmod.self, Ls.self,
            Chflags.self,
            Owner.self, Backup.self, Purge.self, Acl.self, Propagate.self, Inherit.self, Explicit.self, Strip.self, CopyMode.self,
            Presets.self, Volume.self, Restore.self, Explain.self, Effective.self, Report.self, Sandbox.self,
        ]
    }

    /// - Returns: the words that name a command, and the first of what follows where only that says which.
    package static func path(_ commands: [any Command.Type], _ words: [String]) -> ArraySlice<String> {
        guard let first = words.first, let command = commands.first(where: { $0.word == first }), command.takesWord else {
            return words.prefix(1)
        }
        let below = (command as? any CommandGroup.Type)?.commands ?? []
        return words.prefix(1 + path(below, Array(words.dropFirst())).count)
    }
}
