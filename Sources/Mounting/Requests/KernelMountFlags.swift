import LinuxSystem
import ToolSupport

/// The mount flags that the kernel keeps, as words of `-o` and as bits of mount(2).
package struct KernelMountFlags: Equatable {
    private(set) var bits: UInt64 = 0

    private static let words: [(set: String, clear: String, bit: UInt64)] = [
        ("ro", "rw", MountFlag.readOnly), ("nosuid", "suid", MountFlag.noSetID), ("nodev", "dev", MountFlag.noDevices),
        ("noexec", "exec", MountFlag.noExec), ("sync", "async", MountFlag.synchronous),
        ("dirsync", "", MountFlag.synchronousDirectories), ("noatime", "atime", MountFlag.noAccessTime),
        ("nodiratime", "diratime", MountFlag.noDirectoryAccessTime), ("nosymfollow", "symfollow", 256),
        ("strictatime", "nostrictatime", MountFlag.strictAccessTime), ("relatime", "norelatime", MountFlag.relativeAccessTime),
    ]

    /// The flags in force.
    package init(_ entry: MountEntry) {
        // The table has no word for it: it holds if no other does.
        apply("strictatime")
        for word in entry.options + entry.superOptions { apply(word) }
        // Either `ro`, of the mount or of the file system, makes it read-only.
        if entry.options.contains("ro") { bits |= MountFlag.readOnly }
    }

    static func knows(_ word: String) -> Bool { words.contains { $0.set == word || $0.clear == word } }

    mutating func apply(_ word: String) {
        // Of the words for access times the last one holds.
        if let times = Self.words.first(where: { $0.set == word && $0.bit & Self.accessTimes != 0 }) {
            bits = bits & ~Self.accessTimes | times.bit
            return
        }
        for entry in Self.words {
            if entry.set == word { bits |= entry.bit }
            if entry.clear == word { bits &= ~entry.bit }
        }
    }

    var isReadOnly: Bool { bits & MountFlag.readOnly != 0 }
    var forbidsDevices: Bool { bits & MountFlag.noDevices != 0 }
    var forbidsExecution: Bool { bits & MountFlag.noExec != 0 }

    /// For mount(2) at a remount. Without a flag for access times it would keep the old one.
    var forRemount: UInt64 {
        MountFlag.remount | bits | (bits & Self.accessTimes == 0 ? MountFlag.relativeAccessTime : 0)
    }

    private static let accessTimes = MountFlag.noAccessTime | MountFlag.strictAccessTime | MountFlag.relativeAccessTime

    /// For `aclfs status`. `ro` and `noexec` are among the daemon's own options, and `relatime` is the kernel's default.
    package var shown: [String] {
        Self.words.filter { $0.set != "ro" && $0.set != "noexec" && $0.set != "relatime" }.compactMap { entry in
            if bits & entry.bit != 0 { return entry.set }
            return entry.set == "nosuid" || entry.set == "nodev" ? entry.clear : nil
        }
    }
}
