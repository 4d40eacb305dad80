import FuseSession
import ToolSupport

extension FuseMount.Flags {
    /// The flags in force on a mount of root.
    package init(_ entry: MountEntry) {
        self = [.allowOther]
        let words: [(String, FuseMount.Flags)] = [
            ("ro", .readOnly), ("nosuid", .noSetID), ("nodev", .noDevices), ("noexec", .noExecution),
            ("noatime", .noAccessTime), ("sync", .synchronous), ("dirsync", .synchronousDirectories),
            ("nodiratime", .noDirectoryAccessTime), ("nosymfollow", .noSymlinkFollow),
        ]
        for (word, flag) in words where entry.options.contains(word) || entry.superOptions.contains(word) { insert(flag) }
        if !entry.options.contains("noatime"), !entry.options.contains("relatime") { insert(.strictAccessTime) }
    }
}
